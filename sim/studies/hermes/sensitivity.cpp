// Figures 14 to 16: more DIMMs, other GPUs, more multipliers.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/studies/hermes/prices.h"
#include "sim/studies/hermes/study.h"

namespace weir::hermes {
namespace {

constexpr const char* falcon_16_over_8 = "fig14_falcon40b_16_over_8";
constexpr int dimm_counts[] = {1, 2, 4, 8, 16};
const std::vector<std::pair<const char*, const char*>> gpus = {
    {"t4", "T4"}, {"rtx3090", "RTX 3090"}, {"rtx4090", "RTX 4090"}};
const std::vector<const char*> gpu_models = {"opt13b", "opt30b"};

// That of Table II is the run of the other figures, too.
HermesRun with_host(HermesRun run, const char* key, int count, int of_table) {
  if (count == of_table) return run;
  run.host = {{key, count}};
  run.paper_only = true;
  return run;
}

HermesRun with_dimms(const char* model, int dimms) {
  return with_host(run_of(hermes_system, model), "dimms", dimms, 8);
}

// Why more DIMMs may be slower: swaps bring whatever is hot into a GPU that has its fill of work.
HermesRun without_swaps(int dimms) {
  HermesRun run = with_dimms("falcon40b", dimms);
  run.policy = {{"adjust", false}, {"remap", false}};
  run.paper_only = true;
  return run;
}

HermesRun with_gpu(const char* model, const char* gpu) {
  HermesRun run = run_of(hermes_system, model);
  run.gpu = gpu;
  return run;
}

struct Core {
  const char* model;
  int batch;
  std::vector<int> multipliers;
};
const Core cores[] = {{"opt13b", 1, {32, 64, 128, 256, 512}},
                      {"opt13b", 16, {32, 64, 128, 256, 512}},
                      {"llama2_70b", 16, {32, 256}}};

HermesRun with_multipliers(const Core& core, int multipliers) {
  return with_host(run_of(hermes_system, core.model, core.batch), "multipliers", multipliers, 256);
}

struct LeastDimms {
  const char *id, *metric, *model;
  double published;
  const char* note;
};
const LeastDimms least_dimms[] = {
    {"fig14_falcon40b_min_dimms", "fewest DIMMs of 1, 2, 4, 8, 16 that hold Falcon-40B", "falcon40b", 4, ""},
    {"fig14_llama2_70b_min_dimms", "the same: LLaMA2-70B", "llama2_70b", 8,
     "its 138.0 GB do not fit the 137.4 of four"}};

InSets least_of(const Runs& runs, const char* model) {
  for (const int dimms : dimm_counts)
    if (rate(runs, with_dimms(model, dimms)).paper) return {static_cast<double>(dimms), {}};
  return {{}, {}, rate(runs, with_dimms(model, dimm_counts[4])).error};
}

const std::vector<RatioRow>& dimm_rows() {
  const auto over = [](const char* model, int many, int few) {
    return std::vector{std::pair{with_dimms(model, many), with_dimms(model, few)}};
  };
  static const std::vector<RatioRow> all = {
      {"fig14_llama2_70b_16_over_8",
       "tokens/s with 16 DIMMs over 8: LLaMA2-70B",
       1,
       over("llama2_70b", 16, 8),
       {1.1, 1.35},
       {},
       "the offline mapping moves work to them"},
      {"fig14_falcon40b_8_over_4",
       "the same with 8 over 4: Falcon-40B",
       {},
       over("falcon40b", 8, 4),
       {1.02, 1.25}},
      {falcon_16_over_8, "and with 16 over 8", {}, over("falcon40b", 16, 8), {1.0, 1.2}}};
  return all;
}

const std::vector<RatioRow>& gpu_rows() {
  const auto over = [](const char* gpu) {
    std::vector<std::pair<HermesRun, HermesRun>> all;
    for (const char* model : gpu_models) all.emplace_back(with_gpu(model, "rtx4090"), with_gpu(model, gpu));
    return all;
  };
  static const std::vector<RatioRow> all = {
      {"fig15_over_t4",
       "RTX 4090 over T4, mean of OPT-13B and OPT-30B",
       2.02,
       over("t4"),
       {1.8, 2.5},
       {1.8, 2.5},
       "the T4 has PCIe 3.0, and 4 GB less than its 16 for weights (physical 2)"},
      {"fig15_over_3090",
       "RTX 4090 over RTX 3090, mean of OPT-13B and OPT-30B",
       1.34,
       over("rtx3090"),
       {1.0, 1.15},
       {1.0, 1.15},
       "prompts wait for PCIe and hot neurons for the memory, and both GPUs have the same of either; 1.34 "
       "would need them to wait for arithmetic"}};
  return all;
}

const std::vector<RatioRow>& core_rows() {
  const auto over = [](const Core& core, int many, int few) {
    return std::vector{std::pair{with_multipliers(core, many), with_multipliers(core, few)}};
  };
  static const std::vector<RatioRow> all = {
      {"fig16_opt13b_b1_64_over_512",
       "tokens/s with 64 multipliers over 512: OPT-13B, batch 1",
       1,
       over(cores[0], 64, 512),
       {0.88, 1.0}},
      {"fig16_llama2_70b_b16_256_over_32",
       "with 256 over 32: LLaMA2-70B, batch 16",
       {},
       over(cores[2], 256, 32),
       {4, {}}},
      {"fig16_opt13b_b16_512_over_32",
       "with 512 over 32: OPT-13B, batch 16",
       3.86,
       over(cores[1], 512, 32),
       {},
       {},
       "no bounds: hangs on the fifth of OPT-13B that is not on the GPU, of which 16 sequences together "
       "activate most"}};
  return all;
}

bool wants_dimms(const Runs& runs) {
  return wants_each(runs, dimm_rows()) &&
         std::ranges::all_of(least_dimms, [&](const LeastDimms& row) { return runs.wants_row(row.id); });
}

void add_dimms(const Runs& runs, const Folder& folder, Rows& rows) {
  for (const LeastDimms& row : least_dimms)
    if (runs.wants_row(row.id))
      add_row(rows, row.id, row.metric, row.published, least_of(runs, row.model),
              {row.published, row.published})
          .note = row.note;
  add_ratios(runs, dimm_rows(), rows);
  if (runs.wants_row(falcon_16_over_8))
    add_note(
        rows.back(),
        fmt::format("without swaps {}: swaps go by what is hot, not by which side is the slower one, and "
                    "beside 16 DIMMs that is the GPU",
                    csv((rate(runs, without_swaps(16)) / rate(runs, without_swaps(8))).paper)));
  if (!wants_dimms(runs)) return;
  OutputFile file(folder / "dimms.csv");
  file.print("model,dimms,tokens_per_s,{}\n", price_columns);
  for (const char* model : large_models)
    for (const int dimms : dimm_counts) {
      const HermesRun run = with_dimms(model, dimms);
      file.print("{},{},{},{}\n", model_of(model).title, dimms, csv(rate(runs, run).paper),
                 prices_of(runs, run));
    }
  file.close();
}

void add_gpus(const Runs& runs, const Folder& folder, Rows& rows) {
  add_ratios(runs, gpu_rows(), rows);
  if (!wants_each(runs, gpu_rows())) return;
  OutputFile file(folder / "gpus.csv");
  file.print("model,gpu,paper_set,physical,{}\n", price_columns);
  for (const char* model : gpu_models)
    for (const auto& [gpu, title] : gpus) {
      const HermesRun run = with_gpu(model, gpu);
      const InSets here = rate(runs, run);
      file.print("{},{},{},{},{}\n", model_of(model).title, title, csv(here.paper), csv(here.physical),
                 prices_of(runs, run));
    }
  file.close();
}

void add_cores(const Runs& runs, const Folder& folder, Rows& rows) {
  add_ratios(runs, core_rows(), rows);
  if (!wants_each(runs, core_rows())) return;
  OutputFile file(folder / "multipliers.csv");
  file.text("run,multipliers,tokens_per_s,over_32\n");
  for (const Core& core : cores)
    for (const int count : core.multipliers) {
      const InSets here = rate(runs, with_multipliers(core, count));
      file.print("{} at {},{},{},{}\n", model_of(core.model).title, core.batch, count, csv(here.paper),
                 csv((here / rate(runs, with_multipliers(core, 32))).paper));
    }
  file.close();
}

}  // namespace

void want_sensitivity(Runs& runs) {
  for (const auto* rows : {&dimm_rows(), &gpu_rows(), &core_rows()}) want_ratios(runs, *rows);
  for (const LeastDimms& row : least_dimms)
    for (const int dimms : dimm_counts)
      if (runs.wants_row(row.id)) runs.want(with_dimms(row.model, dimms));
  if (runs.wants_row(falcon_16_over_8))
    for (const int dimms : {8, 16}) runs.want(without_swaps(dimms));
  if (wants_dimms(runs))
    for (const char* model : large_models)
      for (const int dimms : dimm_counts) runs.want(with_dimms(model, dimms));
  if (wants_each(runs, core_rows()))
    for (const Core& core : cores)
      for (const int count : core.multipliers) runs.want(with_multipliers(core, count));
}

void add_sensitivity(const Runs& runs, const Folder& folder, Rows& rows) {
  add_dimms(runs, folder, rows);
  add_gpus(runs, folder, rows);
  add_cores(runs, folder, rows);
}

}  // namespace weir::hermes
