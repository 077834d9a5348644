#include "devices/profile/profiled_attention.h"

#include <cmath>

namespace weir {
namespace {

// Decodes of unequal length cost their mean plus a share of the way to the longest. LLMServingSim measured
// that share (github.com/casys-kaist/LLMServingSim, skew_fit.csv in
// profiler/perf/{RTX4090,RTXPRO6000}/meta-llama/Llama-3.1-8B/bf16/tp1): alone mostly 0.01-0.06 (median
// 0.025) at any number of decodes; beside a prefill, where a long request is one long tile of the last wave,
// 0.7-1 of 2 decodes, 0.3-0.5 of 8, 0.1-0.2 of 16, 0.05-0.1 of 32, 0.02-0.05 of 64 and 128.
constexpr double skew_alone = 0.025;
double skew_beside_prefill(double decodes) {
  return std::min(1.0, 2.6 / decodes);
}

struct Decodes {
  double number, mean, longest;  // KV lengths before the step's own token, as the profiler counts them
};
Decodes decodes_of(const BatchShape& b) {
  if (b.decodes == 0) return {0, 0, 0};
  const auto n = static_cast<double>(b.decodes);
  return {n, static_cast<double>(b.decode_context_sum) / n - 1,
          static_cast<double>(b.decode_context_max) - 1};
}

BatchShape prompts_alone(BatchShape batch) {
  batch.decodes = batch.decode_context_sum = batch.decode_context_max = 0;
  batch.contexts = {};
  return batch;
}

BatchShape decodes_alone(BatchShape batch) {
  batch.prefill = {};
  batch.prefill_tokens = 0;
  return batch;
}

// How much longer the analytic device takes `here` than for a batch inside of the tables.
double scale(const Device& analytic, KernelWork work, int unit, Seconds here,
             std::span<const PrefillChunk> prefill, const Decodes& d, bool outside) {
  if (!outside) return 1;
  BatchShape& inside = work.batch;
  inside = {};
  inside.prefill = prefill;
  for (const PrefillChunk& p : prefill) inside.prefill_tokens += p.tokens;
  inside.decodes = static_cast<std::int64_t>(d.number);
  inside.decode_context_sum = static_cast<std::int64_t>(std::llround(d.number * (d.mean + 1)));
  inside.decode_context_max = static_cast<std::int64_t>(std::llround(d.longest + 1));
  return here / analytic.cost(work, unit).time;
}

}  // namespace

ProfiledAttention::ProfiledAttention(const AttentionTimes& times, std::shared_ptr<const Device> analytic,
                                     const Device& burst)
    : times_(times), analytic_(std::move(analytic)) {
  if (times.prompts.empty()) return;
  const MeasuredHeads heads = times.of.value_or(MeasuredHeads{});
  const Kernel kernel = Attention{.query_heads = heads.query,
                                  .kv_heads = heads.kv,
                                  .head_dim = heads.dim,
                                  .kv_cache = heads.kv_cache,
                                  .window = heads.window};
  const int unit = unit_running(burst.spec().units, KernelKind::attention);
  for (const MeasuredPrompts& p : times.prompts) {
    const std::vector<PrefillChunk> chunks(static_cast<std::size_t>(p.prompts),
                                           {static_cast<std::int64_t>(p.tokens), 0});
    KernelWork work{"attention", kernel};
    work.batch.prefill = chunks;
    work.batch.prefill_tokens = static_cast<std::int64_t>(p.prompts * p.tokens);
    work.rows = p.prompts * p.tokens;
    prompts_.add(p.prompts, p.tokens, 1, std::log(p.seconds / burst.cost(work, unit).time.value()));
  }
  prompts_.sort();
}

double ProfiledAttention::seconds(const KernelWork& work, int unit, Seconds here) const {
  if (work.batch.decode_rows > 1) return of_wide_decodes(work, unit, here);
  if (work.batch.prefill.empty()) return work.batch.decodes > 0 ? of_decodes(work, unit, here) : 0;
  return times_.mixed.knots.empty() ? of_engine(work, unit, here) : beside_a_prompt(work, unit, here);
}

// Tables have decodes of one row: those of more take as much longer as on the analytic device.
double ProfiledAttention::of_wide_decodes(KernelWork work, int unit, Seconds here) const {
  work.batch.decode_rows = 1;
  const Seconds narrow = analytic_->cost(work, unit).time;
  return narrow > Seconds(0) ? seconds(work, unit, narrow) * (here / narrow) : here.value();
}

double ProfiledAttention::of_decodes(const KernelWork& work, int unit, Seconds here) const {
  if (!has_decodes()) return here.value();
  const Decodes d = decodes_of(work.batch);
  const double longest = std::min(d.longest, times_.longest_decode),
               mean = std::min(d.mean, times_.longest_decode);
  const double n = std::min(d.number, times_.decode.knots.back());
  const TimePair t = interpolate(times_.decode, n, mean, longest);
  return (t.mean + skew_alone * (t.longest - t.mean)) *
         scale(*analytic_, work, unit, here, {}, {n, mean, longest}, n != d.number || longest != d.longest);
}

// The table knows one prompt beside equal decodes. Several prompts are looked up as one of as many tokens
// that attends to as many keys; what lies outside the tables (or has fewer keys than one prompt of that
// length) is scaled from the nearest point inside as the analytic model scales. A chunk shorter than the
// shortest measured one costs as much: kernels calculate whole tiles.
double ProfiledAttention::beside_a_prompt(const KernelWork& work, int unit, Seconds here) const {
  const Decodes d = decodes_of(work.batch);
  double chunk = 0, pairs = 0;
  for (const PrefillChunk& p : work.batch.prefill) {
    const auto c = static_cast<double>(p.tokens);
    chunk += c;
    pairs += c * (static_cast<double>(p.context) + c / 2);
  }
  const double longest = std::min(d.longest, times_.longest_decode),
               mean = std::min(d.mean, times_.longest_decode);
  const double context = pairs / chunk - chunk / 2;
  const double c = std::clamp(chunk, times_.mixed.knots.front(), times_.mixed.knots.back());
  const double k = std::clamp(context, 0.0, times_.longest_context);
  const double n = std::min(d.number, times_.mixed.below.back().below.back().knots.back());
  const TimePair t = interpolate(times_.mixed, c, k, n, mean, longest);
  const double skew = n > 0 ? skew_beside_prefill(n) : 0;
  const PrefillChunk one{static_cast<std::int64_t>(c), static_cast<std::int64_t>(std::llround(k))};
  const bool outside = c < chunk || std::abs(k - context) > 0.5 || n != d.number || longest != d.longest;
  return (t.mean + skew * (t.longest - t.mean)) *
         scale(*analytic_, work, unit, here, std::span(&one, 1), {n, mean, longest}, outside);
}

// Engines' tables have alike prompts without tokens in the KV cache, and decodes. Prompts are looked up as so
// many alike ones that as many tokens attend to as many of the batch's own; what they read of the KV cache,
// and how well prompts and decodes share the machine, is the analytic device's.
double ProfiledAttention::of_engine(const KernelWork& work, int unit, Seconds here) const {
  double tokens = 0, squares = 0;
  for (const PrefillChunk& p : work.batch.prefill) {
    const auto c = static_cast<double>(p.tokens);
    tokens += c;
    squares += c * c;
  }
  const double length = squares / tokens;
  const double factor = prompts_.empty() ? 1 : std::exp(prompts_.at(tokens / length, length, 1));
  if (work.batch.decodes == 0) return here.value() * factor;
  KernelWork one = work, other = work;
  one.batch = prompts_alone(work.batch);
  other.batch = decodes_alone(work.batch);
  const Seconds prompts = analytic_->cost(one, unit).time, decodes = analytic_->cost(other, unit).time;
  return (prompts.value() * factor + of_decodes(other, unit, decodes)) * (here / (prompts + decodes));
}

AffineKernelCost ProfiledAttention::decodes(const KernelWork& work, int unit) const {
  AffineKernelCost affine = analytic_->decode_attention(work, unit);
  if (!has_decodes()) return affine;
  const Decodes d = decodes_of(work.batch);
  if (work.batch.decode_rows > 1 || d.number > times_.decode.knots.back() ||
      d.longest > times_.longest_decode) {
    affine.first.time = Seconds(seconds(work, unit, affine.first.time));
    affine.slope.time = Seconds(0);
    affine.steps = 1;
    return affine;
  }
  const auto [low, high, share] = bracket(times_.decode.knots, d.number);
  double first = 0, slope = 0, next = std::numeric_limits<double>::infinity();
  for (const auto& [knot, weight] : {std::pair{low, 1 - share}, std::pair{high, share}}) {
    if (weight == 0) continue;
    const Curve& curve = times_.decode.below[knot];
    const Curve::Point mean = curve.at(d.mean), longest = curve.at(d.longest);
    first += weight * (mean.value + skew_alone * (longest.value - mean.value));
    slope += weight * (mean.slope + skew_alone * (longest.slope - mean.slope));
    next = std::min({next, mean.next - d.mean, longest.next - d.longest});
  }
  affine.first.time = Seconds(first);
  affine.slope.time = Seconds(slope);
  // A knot that rounding blurs is left to the next call.
  next = std::min({next, times_.longest_decode - d.longest, 1e12});
  affine.steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(next - 1e-6)) + 1);
  return affine;
}

}  // namespace weir
