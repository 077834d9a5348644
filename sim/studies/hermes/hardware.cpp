// The numbers that all runs stand on: a DIMM's bandwidth by the bank model, the GPU's room for weights, the
// predictor's tables.
#include "models/memory/memory_spec.h"
#include "models/memory/ndp_dimm/ndp_dimm_costs.h"
#include "policies/placement/neurons/online/predictor.h"
#include "sim/plan/plan.h"
#include "sim/studies/hermes/study.h"

namespace weir::hermes {
namespace {

constexpr std::int64_t neuron_bytes = 48 * 1024;  // of LLaMA2-70B's MLP: gate, up and down

double dimm_gb_per_s(const char* memory) {
  const NdpDimmCosts dimm{find_memory(memory)};
  return dimm.neuron_bandwidth(neuron_bytes / hermes_ranks_per_dimm).value() / 1e9;
}

void add_bandwidths(Rows& rows) {
  const struct {
    const char *id, *metric, *memory;
    Bounds bounds;
  } ways[] = {{"dimm_gb_per_s",
               "GB/s at which a DIMM's core reads random neurons of LLaMA2-70B",
               "ddr4_3200_hermes",
               {90, 98}},
              {"dimm_gb_per_s_one_group",
               "the same where addresses do not alternate bank groups",
               "ddr4_3200_hermes_colmaj",
               {60, 70}}};
  for (const auto& way : ways) {
    const double reached = dimm_gb_per_s(way.memory);
    add_row(rows, way.id, way.metric, {}, {reached, reached}, way.bounds).note =
        "four ranks at once, a piece of 12 KB in each, refresh included; their buses have 102.4 GB/s, and "
        "the "
        "paper no figure";
  }
}

Bytes weights_of(const char* model) {
  return read_plan(scenario_of(run_of(base_system, model), "paper"), model).replicas[0].stages[0].weights.all;
}

void add_rooms(Rows& rows) {
  const struct {
    const char *id, *model;
    double published;
  } models[] = {{"gpu_fits_opt13b", "opt13b", 0.80}, {"gpu_fits_opt66b", "opt66b", 0.15}};
  for (const auto& m : models) {
    const double gb = weights_of(m.model).value() / 1e9;
    add_row(rows, m.id, fmt::format("room for weights on the GPU over those of {}", model_of(m.model).title),
            m.published, {gpu_room_gb("rtx4090", "paper") / gb, gpu_room_gb("rtx4090", "physical") / gb})
        .note = "no bounds: an input, 20 GB by these two numbers; physical 22 of 24";
  }
}

void add_tables(Rows& rows) {
  const auto kib = [](double mlp) {
    return state_table_bytes(static_cast<std::int64_t>(32 * (4096 + mlp))).value() / 1024;
  };
  const double real = kib(11008), paper = kib(10.5 * 1024);
  add_row(rows, "state_table_llama7b_kib", "KiB of 4 bits a neuron of LLaMA-7B: 32 x (4096 + 11008)", 232,
          {real, real}, {236, 236})
      .note = "the paper's 232 takes 10.5 K for the 11,008 of the MLP";
  add_row(rows, "state_table_llama7b_paper_kib", "the same with the paper's 10.5 K", 232, {paper, paper},
          {232, 232});
}

}  // namespace

void add_hardware(const Runs&, const Folder&, Rows& rows) {
  add_bandwidths(rows);
  add_rooms(rows);
  add_tables(rows);
}

}  // namespace weir::hermes
