// Figures 14 to 16: more DIMMs, other GPUs, more multipliers.
#include <algorithm>

#include "sim/app/output/output_file.h"
#include "sim/studies/hermes/prices.h"
#include "sim/studies/hermes/study.h"

namespace weir::hermes {
namespace {

constexpr int dimm_counts[] = {1, 2, 4, 8, 16};
const std::vector<const char*> gpus = {"t4", "rtx3090", "rtx4090"};
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

InSets least_dimms(const Runs& runs, const char* model) {
  for (const int dimms : dimm_counts)
    if (rate(runs, with_dimms(model, dimms)).paper) return {static_cast<double>(dimms), {}};
  return {{}, {}, rate(runs, with_dimms(model, dimm_counts[4])).error};
}

InSets more_dimms(const Runs& runs, const char* model, int many, int few) {
  return paper_alone(rate(runs, with_dimms(model, many)) / rate(runs, with_dimms(model, few)));
}

void add_dimms(const Runs& runs, const Folder& folder, Rows& rows) {
  add_row(rows, "fig14_falcon40b_min_dimms", "fewest DIMMs of 1, 2, 4, 8, 16 that hold Falcon-40B", 4,
          least_dimms(runs, "falcon40b"), {4, 4});
  add_row(rows, "fig14_llama2_70b_min_dimms", "the same: LLaMA2-70B", 8, least_dimms(runs, "llama2_70b"),
          {8, 8})
      .note = "its 138.0 GB do not fit the 137.4 of four";
  add_row(rows, "fig14_llama2_70b_16_over_8", "tokens/s with 16 DIMMs over 8: LLaMA2-70B", 1,
          more_dimms(runs, "llama2_70b", 16, 8), {1.1, 1.35})
      .note = "the offline mapping moves work to them";
  add_row(rows, "fig14_falcon40b_8_over_4", "the same with 8 over 4: Falcon-40B", {},
          more_dimms(runs, "falcon40b", 8, 4), {1.02, 1.25});
  add_row(rows, "fig14_falcon40b_16_over_8", "and with 16 over 8", {}, more_dimms(runs, "falcon40b", 16, 8),
          {1.0, 1.2});
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
  const auto over = [&](const char* gpu) {
    return mean_over(gpu_models, [&](const char* model) {
      return rate(runs, with_gpu(model, "rtx4090")) / rate(runs, with_gpu(model, gpu));
    });
  };
  add_row(rows, "fig15_over_t4", "RTX 4090 over T4, mean of OPT-13B and OPT-30B", 2.02, over("t4"),
          {1.8, 2.5}, {1.8, 2.5})
      .note = "the T4 has PCIe 3.0, and 4 GB less than its 16 for weights (physical 2)";
  add_row(rows, "fig15_over_3090", "RTX 4090 over RTX 3090, mean of OPT-13B and OPT-30B", 1.34,
          over("rtx3090"), {1.0, 1.15}, {1.0, 1.15})
      .note =
      "prompts wait for PCIe and hot neurons for the memory, and both GPUs have the same of either; "
      "1.34 would need them to wait for arithmetic";
  OutputFile file(folder / "gpus.csv");
  file.print("model,gpu,paper_set,physical,{}\n", price_columns);
  for (const char* model : gpu_models)
    for (const char* gpu : gpus) {
      const HermesRun run = with_gpu(model, gpu);
      const InSets here = rate(runs, run);
      file.print("{},{},{},{},{}\n", model_of(model).title, gpu, csv(here.paper), csv(here.physical),
                 prices_of(runs, run));
    }
  file.close();
}

void add_cores(const Runs& runs, const Folder& folder, Rows& rows) {
  const auto over = [&](const Core& core, int many, int few) {
    return paper_alone(rate(runs, with_multipliers(core, many)) / rate(runs, with_multipliers(core, few)));
  };
  add_row(rows, "fig16_opt13b_b1_64_over_512", "tokens/s with 64 multipliers over 512: OPT-13B, batch 1", 1,
          over(cores[0], 64, 512), {0.88, 1.0});
  add_row(rows, "fig16_llama2_70b_b16_256_over_32", "with 256 over 32: LLaMA2-70B, batch 16", {},
          over(cores[2], 256, 32), {4, {}});
  add_row(rows, "fig16_opt13b_b16_512_over_32", "with 512 over 32: OPT-13B, batch 16", 3.86,
          over(cores[1], 512, 32))
      .note = "no bounds: OPT-13B's neurons fit the GPU but for a fifth, so a DIMM's core has little to do";
  OutputFile file(folder / "multipliers.csv");
  file.text("run,multipliers,tokens_per_s,over_32\n");
  for (const Core& core : cores)
    for (const int count : core.multipliers)
      file.print("{} at {},{},{},{}\n", model_of(core.model).title, core.batch, count,
                 csv(rate(runs, with_multipliers(core, count)).paper), csv(over(core, count, 32).paper));
  file.close();
}

}  // namespace

void want_sensitivity(Runs& runs) {
  for (const char* model : large_models)
    for (const int dimms : dimm_counts) runs.want(with_dimms(model, dimms));
  for (const char* model : gpu_models)
    for (const char* gpu : gpus) runs.want(with_gpu(model, gpu));
  for (const Core& core : cores)
    for (const int count : core.multipliers) runs.want(with_multipliers(core, count));
}

void add_sensitivity(const Runs& runs, const Folder& folder, Rows& rows) {
  add_dimms(runs, folder, rows);
  add_gpus(runs, folder, rows);
  add_cores(runs, folder, rows);
}

}  // namespace weir::hermes
