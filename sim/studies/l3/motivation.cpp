// Figure 2: how far decodes fill a GPU, and how much of their time is attention; by Weir's kernels.
#include "sim/app/output/output_file.h"
#include "sim/plan/plan.h"
#include "sim/studies/l3/study.h"

namespace weir::l3 {
namespace {

constexpr int batched_tokens[] = {64, 128, 256, 512, 1024, 2048, 4096, 8192};
struct Context {
  int tokens;
  double published;  // % of the time
};
constexpr Context contexts[] = {{1024, 23.0}, {2048, 27.0}, {4096, 33.6}, {8192, 47.5}, {16384, 61.3}};
constexpr int batch = 4;

class OneGpu {
 public:
  explicit OneGpu(const char* assumptions)
      : plan_(read_plan(scenario(assumptions), "Figure 2")),
        rank_(plan_.replicas[0].rank),
        stage_(plan_.replicas[0].stages[0]) {}

  struct Shares {
    double arithmetic, bandwidth;
  };
  Shares feed_forward(int tokens) const {  // of the peaks
    BatchShape rows;
    rows.prefill_tokens = tokens;
    KernelCost sum;
    for_each_operator(stage_, [&](const Operator& op, double times) {
      if (op.name == "gate_up_proj" || op.name == "down_proj") add(sum, rank_.cost(op, rows), times);
    });
    const DeviceSpec& gpu = rank_.on->spec();
    return {sum.flops / gpu.peak(DataType::fp16) / sum.time,
            sum.moved[own_memory] / sum.time / gpu.own().bandwidth};
  }

  struct StepTime {
    Seconds attention, all;
  };
  StepTime decode(int context) const {
    BatchShape decodes;
    decodes.decodes = decodes.sequences = batch;
    decodes.decode_context_sum = static_cast<std::int64_t>(batch) * context;
    decodes.decode_context_max = context;
    KernelCost attention, all;
    for_each_operator(stage_, [&](const Operator& op, double times) {
      const KernelCost one = rank_.cost(op, decodes);
      add(all, one, times);
      if (op.as<Attention>()) add(attention, one, times);
    });
    return {attention.time, all.time};
  }

 private:
  static Json scenario(const char* assumptions) {
    return {
        {"model", "llama2-7b"},
        {"assumptions", assumptions},
        {"precision", {{"weights", "fp16"}, {"activations", "fp16"}, {"kv_cache", "fp16"}}},
        {"cluster",
         {{"nodes", Json::array({{{"devices", Json::array({{{"kind", "a100_sxm_80gb"}, {"count", 1}}})}}})}}},
        {"serving", {{"replicas", Json::array({{{"engine", {{"kind", "ideal"}}}}})}}},
        {"workload",
         {{"requests", {{"kind", "fixed"}, {"input_tokens", 1}, {"output_tokens", 1}, {"count", 1}}},
          {"arrivals", {{"kind", "all_at_once"}}}}}};
  }
  static void add(KernelCost& sum, const KernelCost& one, double times) {
    sum.time += times * one.time;
    sum.flops += times * one.flops;
    sum.moved[own_memory] += times * one.moved[own_memory];
  }

  Plan plan_;
  const Rank& rank_;
  const StageGraph& stage_;
};

}  // namespace

void add_motivation(const Runs&, const Folder& folder, Rows& rows) {
  const OneGpu ideal("ideal"), physical("physical");
  OutputFile gemms(folder / "utilisation.csv");
  gemms.text("tokens,arithmetic,bandwidth,ideal_arithmetic,ideal_bandwidth\n");
  for (const int tokens : batched_tokens) {
    const auto peaks = ideal.feed_forward(tokens), reached = physical.feed_forward(tokens);
    add_row(rows, fmt::format("fig2_flops_{}", tokens),
            fmt::format("% of an A100's FLOP/s in Llama2-7B's feed-forward GEMMs, {} tokens", tokens), {},
            100 * peaks.arithmetic, 100 * reached.arithmetic);
    add_row(rows, fmt::format("fig2_bandwidth_{}", tokens),
            fmt::format("% of its memory bandwidth, {} tokens", tokens), {}, 100 * peaks.bandwidth,
            100 * reached.bandwidth);
    gemms.print("{},{:.5g},{:.5g},{:.5g},{:.5g}\n", tokens, 100 * reached.arithmetic, 100 * reached.bandwidth,
                100 * peaks.arithmetic, 100 * peaks.bandwidth);
  }
  gemms.close();
  OutputFile steps(folder / "breakdown.csv");
  steps.text("context,attention_ms,rest_ms,ideal_attention_ms,ideal_rest_ms,published_attention_percent\n");
  for (const Context& context : contexts) {
    const auto peaks = ideal.decode(context.tokens), reached = physical.decode(context.tokens);
    add_row(rows, fmt::format("fig2_mha_{}k", context.tokens / 1024),
            fmt::format("% of a decode step in attention: Llama2-7B, batch {}, {}K tokens", batch,
                        context.tokens / 1024),
            context.published, 100 * (peaks.attention / peaks.all), 100 * (reached.attention / reached.all))
        .note = "kernels alone; the paper measured S-LoRA, whose step at 1K takes 27.7 ms";
    const auto ms = [](Seconds time) { return 1e3 * time.value(); };
    steps.print("{},{:.5g},{:.5g},{:.5g},{:.5g},{}\n", context.tokens, ms(reached.attention),
                ms(reached.all - reached.attention), ms(peaks.attention), ms(peaks.all - peaks.attention),
                context.published);
    if (context.tokens == contexts[0].tokens)
      add_row(rows, "fig2_step_1k_ms", "ms of that step at 1K tokens", 27.7, ms(peaks.all), ms(reached.all))
          .note =
          "S-LoRA's, which launches operators one by one from Python (ESTIMATE: the rest is the host's)";
  }
  steps.close();
}

}  // namespace weir::l3
