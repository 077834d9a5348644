// The GPU as Section 6.1 has it: "8 NVIDIA A100 GPUs, each with 5 HBM2e of 80 GB capacity, are integrated,
// providing a total of 156 TFLOPs on FP16" is 19.5 each, which is an A100's FP32 peak and a sixteenth of its
// FP16 one. Figures 8 to 11 on it (the set paper_gpu), and on eight of 39, as if the total were four GPUs',
// which no sentence of the paper says. Reported, never judged: what the authors simulated is not known, and a
// reading chosen by a figure is no evidence for that figure.
#include "sim/studies/l3/study.h"

namespace weir::l3 {
namespace {

struct Compared {
  const char *id, *title;
  std::optional<double> published;
  SystemRun run, over;
};

SystemRun run_of(const System& system, const char* model, const char* trace) {
  return {.system = system, .model = model, .trace = trace};
}

const std::vector<Compared>& compared() {
  static const std::vector<Compared> all = {
      {"fig8_l3_over_gpu", "throughput, L3 over GPU: OPT-66B, Dolphin", 5.0,
       run_of(l3_system, "opt66b", "dolphin"), run_of(gpu_only, "opt66b", "dolphin")},
      {"fig8_l3_over_hbmpim", "throughput, L3 over HBM-PIM: OPT-66B, Dolphin", 6.1,
       run_of(l3_system, "opt66b", "dolphin"), run_of(hbm_pim, "opt66b", "dolphin")},
      {"fig8_hbmpim_over_gpu", "throughput, HBM-PIM over GPU: OPT-66B, Dolphin", .82,
       run_of(hbm_pim, "opt66b", "dolphin"), run_of(gpu_only, "opt66b", "dolphin")},
      {"fig8_l3_over_rpim", "throughput, L3 over R-PIM: GPT-175B, OpenR1", 9.2,
       run_of(l3_system, "gpt175b", "openr1"), run_of(rank_pim, "gpt175b", "openr1")},
      {"fig9_bw_x8", "8 times the ranksets: GPT-175B, OpenR1", 1.1, scaled_run("gpt175b", 8, 1),
       scaled_run("gpt175b", 1, 1)},
      {"fig9_cap_x8", "8 times the capacity: GPT-175B, OpenR1", 1.6, scaled_run("gpt175b", 1, 8),
       scaled_run("gpt175b", 1, 1)},
      {"fig9_both_x8", "8 times both: GPT-175B, OpenR1", 5.1, scaled_run("gpt175b", 8, 8),
       scaled_run("gpt175b", 1, 1)},
      {"fig10_scheduling", "scheduling over the naive one: GPT-175B, OpenR1", 1.3,
       ablated_run("gpt175b", true, false), ablated_run("gpt175b", false, false)},
      {"fig10_total", "both over the naive one: GPT-175B, OpenR1", 1.7, ablated_run("gpt175b", true, true),
       ablated_run("gpt175b", false, false)},
      {"fig11_rs16_batch16", "TBT of 16 ranksets over GPU, batch 16: GPT-89B", .53, with_ranksets(16, 16),
       gpus_alone(16)},
      {"fig11_rs16_batch64", "TBT of 16 ranksets over GPU, batch 64: GPT-89B", .29, with_ranksets(64, 16),
       gpus_alone(64)},
  };
  return all;
}

struct Reading {
  const char *id, *title;
  Json gpu;
};
const Reading readings[] = {{"19", "19.5 TFLOP/s a GPU", Json::object()},
                            {"39", "39 TFLOP/s a GPU", {{"fp16_tflops", 39}}}};

SystemRun on(const Reading& reading, SystemRun run) {
  run.profile = "paper_gpu";
  run.gpu = reading.gpu;
  run.paper_only = true;
  return run;
}

std::string id_of(const Reading& reading, const Compared& c) {
  return fmt::format("paper_gpu_{}_{}", reading.id, c.id);
}

}  // namespace

void want_paper_gpu(Runs& runs) {
  for (const Reading& reading : readings)
    for (const Compared& c : compared())
      if (runs.wants_row(id_of(reading, c)))
        for (const SystemRun& run : {c.run, c.over}) want_seeds(runs, on(reading, run));
}

void add_paper_gpu(const Runs& runs, const Folder&, Rows& rows) {
  for (const Reading& reading : readings)
    for (const Compared& c : compared())
      if (runs.wants_row(id_of(reading, c)))
        add_row(rows, id_of(reading, c), fmt::format("{}, {}", c.title, reading.title), c.published,
                ratio(runs, on(reading, c.run), on(reading, c.over),
                      c.run.batch > 0 ? &CaseResult::tpot_mean_ms : &CaseResult::output_throughput));
}

}  // namespace weir::l3
