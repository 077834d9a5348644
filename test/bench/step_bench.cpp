// CPU time of steps, first of a decode step that overlaps: `weir_bench_step`, called by `make bench`.
// GPT3-30B TP4 (48 layers, LM head) on NeuPIMs at batch 256, ShareGPT-like contexts that grow by a token a
// step; after warm-up. Issue: below 50 us; the authors' simulator needs minutes a layer
// (docs/performance.md).
#include <cstdio>
#include <functional>
#include <random>

#include "sim/plan/plan.h"
#include "sim/step/step_model.h"
#include "test/bench/cpu_seconds.h"
#include "test/models/llm/decode_shape.h"

using namespace weir;

namespace {

Plan neupims() {
  return read_plan(Json::parse(R"({
    "model": "gpt3-30b",
    "precision": {"weights": "fp16", "activations": "fp16", "kv_cache": "fp16"},
    "cluster": {"nodes": [{"devices": [{"kind": "neupims_npu", "count": 4, "memory_capacity_gib": 1024}],
                           "interconnect": "nvlink3_switch"}]},
    "serving": {"replicas": [{"parallelism": {"tensor": 4}, "batching": {"kind": "sub_batch_interleaving"},
                              "partitioning": {"kind": "npu_pim"}, "engine": {"kind": "ideal"}}]},
    "workload": {"requests": {"kind": "fixed", "count": 1, "input_tokens": 1, "output_tokens": 1},
                 "arrivals": {"kind": "all_at_once"}}})"),
                   "step_bench");
}

// The step of one net, operator by operator, and a hundred steps of another on 64 GPUs, planned and played.
void measure_training() {
  const auto line = [](const char* what, double milliseconds, const char* target) {
    std::printf("%-58s%9.2f%18s  %s\n", what, milliseconds, "", target);
  };
  const auto best_of = [](const std::function<void()>& action) {
    double least = 1e9;
    for (int trial = 0; trial < 5; ++trial) {  // the first plays the bank model
      const double start = cpu_seconds();
      action();
      least = std::min(least, cpu_seconds() - start);
    }
    return 1e3 * least;
  };
  const Json alone = Json::parse(R"({
    "kind": "training",
    "cluster": {"nodes": [{"devices": [{"kind": "xeon_e5_2630v3"}, {"kind": "hetero_pim"}]}]},
    "training": [{"model": "lstm", "steps": 21, "runtime": {"kind": "hetero_pim"}}]})");
  const Json copies = Json::parse(R"({
    "kind": "training",
    "cluster": {"nodes": [{"count": 8, "devices": [{"kind": "h100_sxm", "count": 8}],
                           "interconnect": "nvlink4_switch"}]},
    "training": [{"model": "resnet50", "steps": 100, "data_parallel": 64, "runtime": {"kind": "gpu_only"}}]})");
  std::printf("\n%-58s%9s%18s  %s\n", "CPU of training", "CPU ms", "", "target");
  const Plan plan = read_plan(alone, "step_bench");
  const TrainingStep step = plan.training.at(0).all_steps();
  line("a step of LSTM on heterogeneous PIM, 2,849 operators", best_of([&] { step.play(false); }) / 20,
       "50 ms");
  line("100 steps of ResNet-50 on 64 H100, read, planned, played",
       best_of([&] { read_plan(copies, "step_bench").training.at(0).all_steps().play(); }), "1000 ms");
}

}  // namespace

int main() {
  constexpr int batch = 256, channels = 32, steps = 300;
  const ReplicaPlan replica = neupims().replicas.at(0);
  const StepModel model(replica.rank, replica.stages[0], false);
  std::mt19937 random(1);
  std::vector<DecodeContext> whole, halves[2];
  for (int i = 0; i < batch; ++i) {
    const DecodeContext context{std::uniform_int_distribution<std::int64_t>(80, 500)(random), i % channels};
    whole.push_back(context);
    halves[i / channels % 2].push_back(context);
  }
  const auto measure = [&](const char* what, bool split, bool best, const char* target) {
    double least = 1;
    for (int trial = 0; trial < 6; ++trial) {  // the first plays the bank model
      const BatchShape shape = test::decode_shape(whole),
                       sub[] = {test::decode_shape(halves[0]), test::decode_shape(halves[1])};
      std::vector<StepRun> runs;
      const StepWork work{shape, split ? std::span(sub) : std::span<const BatchShape>(), best};
      const double start = cpu_seconds();
      std::int64_t done = 0;
      while (done < steps) done += model.decode_run(work, steps - done, runs);
      least = std::min(least, (cpu_seconds() - start) / static_cast<double>(done));
    }
    std::printf("%-58s%9.2f%18s  %s\n", what, 1e6 * least, "", target);
  };
  std::printf("%-58s%9s%18s  %s\n", "CPU of a decode step of GPT3-30B on NeuPIMs, batch 256", "CPU us", "",
              "target");
  measure("one batch", false, false, "50 us");
  measure("two sub-batches interleaved", true, false, "50 us");
  measure("the faster of both", true, true, "");
  measure_training();
}
