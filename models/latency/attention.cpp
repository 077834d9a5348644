#include "models/latency/attention.h"

#include <algorithm>
#include <cmath>

namespace weir {
namespace {

constexpr std::int64_t for_ever = std::int64_t{1} << 40;

// Time of a pair of a query and a key over that of its products: exponents, whatever the head's size, come on
// top.
double with_exponents(const PrefillEfficiency& p, const AttentionShape& s) {
  return 1 + p.softmax_elements / s.width();
}

// A tile's query rows and one key, on one of the multiprocessors at its peak.
double seconds_per_tile(const PrefillEfficiency& p, const Roof& roof, const AttentionShape& s) {
  return 4 * (s.width() + p.softmax_elements) * p.tile_rows * roof.multiprocessors / roof.peak.value();
}

// The part of decodes' contexts that lies in the window. Where some are shorter than it and others longer,
// they cost as if all were as long as their mean: more than they do.
BatchShape in_window(BatchShape batch, const AttentionShape& s) {
  if (s.window == 0) return batch;
  const auto window = static_cast<std::int64_t>(s.window);
  batch.decode_context_sum = std::min(batch.decode_context_sum, batch.decodes * window);
  batch.decode_context_max = std::min(batch.decode_context_max, window);
  return batch;
}

// Pairs of a chunk's queries with keys before it and with its own.
struct Pairs {
  double before, own;
  double itself;  // half of each query's pair with its own key, which the squares above leave out
};
// The first tokens of a chunk still see some of what is before it, the last ones not all of the chunk.
Pairs pairs_of(const AttentionShape& s, double chunk, double context) {
  if (s.window == 0 || chunk + context <= s.window) return {chunk * context, chunk * chunk / 2, chunk / 2};
  const double within = std::min(chunk, s.window), filling = std::clamp(s.window - context, 0., chunk);
  const double own = within * within / 2 + (chunk - within) * s.window;
  const double all = filling * context + filling * filling / 2 + (chunk - filling) * s.window;
  return {std::max(0., all - own), own, filling / 2};
}

// A batch of decodes as a straight line in the context they attend to.
struct DecodeLine {
  double context;      // that counts: between mean and longest
  double per_token;    // seconds for one token more in every context
  double fixed, idle;  // launch and combining; the tiles' own time, hidden or not by the traffic
  double hidden;
  double first, first_most;  // reads cost so many times more, until that is so much

  double busy() const {
    const double reads = context * per_token;
    return hidden + reads + std::min(first_most, first * reads);
  }
  double time() const { return fixed + std::max(idle, busy()); }
  // Time of a further token, and how many tokens it holds for.
  double slope() const { return per_token * (first_left() > 0 ? 1 + first : 1); }
  double first_left() const {
    return first > 0 ? std::max(0.0, first_most / (first * per_token) - context) : 0;
  }
};

double rows_of(const BatchShape& b) {
  return static_cast<double>(b.decode_rows);
}

double mean_context(const BatchShape& b) {
  return static_cast<double>(b.decode_context_sum) / static_cast<double>(b.decodes);
}

// Tiles that find no partner for their SM, or an SM to share, leave bandwidth unused.
double seconds_per_token(const DecodeEfficiency& d, const Roof& roof, double tiles, double bytes_per_tile) {
  const double rate = d.memory * roof.bandwidth.value();
  const bool split = tiles < d.split_waves * roof.multiprocessors;
  if (split || d.tile_alone <= BytesPerSecond(0)) return tiles * bytes_per_tile / rate;
  const double rest = std::fmod(tiles, 2 * roof.multiprocessors), full = tiles - rest;
  const BytesPerSecond draw = rest <= roof.multiprocessors ? d.tile_alone : d.tile_paired;
  const double last = rest > 0 ? std::max(rest / rate, 1 / draw.value()) : 0;
  return bytes_per_tile * (full / rate + last);
}

DecodeLine decode_line(const AttentionEfficiency& e, const Roof& roof, const AttentionShape& s,
                       const BatchShape& b) {
  const DecodeEfficiency& d = e.decode;
  const double tiles = static_cast<double>(b.decodes) * s.kv_heads, waves = tiles / roof.multiprocessors;
  const double mean = mean_context(b);
  DecodeLine line;
  line.context = mean + d.skew * (static_cast<double>(b.decode_context_max) - mean);
  const double arithmetic =
      with_exponents(e.prefill, s) * (static_cast<double>(b.decodes * b.decode_rows) * s.flops_per_pair() /
                                      (e.prefill.context * roof.peak.value()));
  line.per_token = std::max(arithmetic, seconds_per_token(d, roof, tiles, s.bytes_per_token() / s.kv_heads));
  const bool split = line.context > d.split_tokens && waves < d.split_waves;
  line.fixed = d.launch.value() + (split ? d.split.value() : 0);
  line.idle = d.wave.value() * waves;
  line.hidden = d.overlapped_wave.value() * waves;
  line.first = d.first_reads;
  line.first_most = d.first_reads_most.value();
  return line;
}

// Steps that leave `distance` uncrossed. A boundary that rounding blurs is left to the next call.
std::int64_t steps_within(double distance) {
  return distance < static_cast<double>(for_ever)
             ? std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(distance - 1e-6)) + 1)
             : for_ever;
}

// Keys and values of so many tokens are read once, for all rows of their sequence.
KernelCost decode_counts(const AttentionEfficiency& e, const Roof& roof, const AttentionShape& s,
                         double tokens, double rows) {
  KernelCost cost;
  cost.flops = Flops(rows * s.flops_per_pair() * tokens);
  cost.moved[own_memory] = Bytes(s.bytes_per_token() * tokens);
  cost.compute = with_exponents(e.prefill, s) * (cost.flops / (e.prefill.context * roof.peak));
  cost.traffic = cost.moved[own_memory] / (e.decode.memory * roof.bandwidth);
  return cost;
}

// Equal tiles dealt out in waves: the last wave lasts as long as a full one.
double in_whole_waves(double seconds, double tiles, const Roof& roof) {
  const double waves = tiles / roof.multiprocessors;
  return seconds * std::max(1.0, std::ceil(waves) / waves);
}

struct PrefillWork {
  double seconds = 0;  // with every SM busy
  double longest = 0;  // of one tile on one SM
  double waved = 0;    // of one chunk alone, in whole waves
  double tiles = 0;
  double query_rows = 0;         // of all heads
  double flops = 0, tokens = 0;  // arithmetic that counts; keys read
};

PrefillWork prefill_work(const PrefillEfficiency& p, const Roof& roof, const AttentionShape& s,
                         std::span<const PrefillChunk> chunks) {
  const double group = s.query_heads / s.kv_heads, pack = p.packed_heads ? group : 1;
  const double heads = p.packed_heads ? s.kv_heads : s.query_heads;
  const double pair = with_exponents(p, s) * (s.flops_per_pair() / roof.peak.value());
  const double tile = seconds_per_tile(p, roof, s);
  PrefillWork work;
  for (const PrefillChunk& chunk : chunks) {
    const double c = static_cast<double>(chunk.tokens), k = static_cast<double>(chunk.context);
    const double tiles = std::ceil(c * pack / p.tile_rows);
    const double rows = tiles * p.tile_rows / pack + p.padding_tokens;
    const auto [before, own, itself] = pairs_of(s, c, k);
    const double most = s.window > 0 ? s.window : k + c, seen = std::min(k, most),
                 longest = std::min(c, most);
    const double seconds = pair * (rows * (before / c) / p.context + (own + p.tile_tokens * rows) / p.causal);
    work.seconds += seconds;
    work.waved = std::max(work.waved, in_whole_waves(seconds, tiles * heads, roof));
    work.longest = std::max(work.longest, tile * (seen / p.context + (longest + p.tile_tokens) / p.causal));
    work.tiles += tiles * heads;
    work.query_rows += c * s.query_heads;
    work.flops += s.flops_per_pair() * (before + own + itself);
    work.tokens += c + seen;
  }
  return work;
}

KernelCost prefill_counts(const AttentionEfficiency& e, const Roof& roof, const AttentionShape& s,
                          const PrefillWork& work) {
  KernelCost cost;
  cost.flops = Flops(work.flops);
  cost.moved[own_memory] = Bytes(s.bytes_per_token() * work.tokens);
  cost.compute = Seconds(work.seconds);
  cost.traffic = cost.moved[own_memory] / (e.decode.memory * roof.bandwidth);
  return cost;
}

void add_counts(KernelCost& to, const KernelCost& more) {
  to.flops += more.flops;
  to.moved[own_memory] += more.moved[own_memory];
  to.compute += more.compute;
  to.traffic += more.traffic;
}

// FlashAttention 2's tiles are 128 query rows of a head. Measured on A100, 0.3 waves of them cost nothing
// more (the context is split) and 0.6 waves do.
double idle_in_last_wave(double seconds, double query_rows, const Roof& roof) {
  const double tiles = query_rows / 128;
  return tiles < 0.5 * roof.multiprocessors ? 0 : in_whole_waves(seconds, tiles, roof) - seconds;
}

KernelCost prefills(const AttentionEfficiency& e, const Roof& roof, const AttentionShape& s,
                    const BatchShape& b) {
  const PrefillWork work = prefill_work(e.prefill, roof, s, b.prefill);
  KernelCost cost = prefill_counts(e, roof, s, work);
  double time = work.seconds;
  if (e.grid == AttentionGrid::waves) time = std::max(work.waved, in_whole_waves(time, work.tiles, roof));
  if (e.grid == AttentionGrid::separate)
    time += e.prefill.wave_share * idle_in_last_wave(time, work.query_rows, roof);
  else
    time = std::max(time, work.longest);
  cost.time = e.prefill.launch + std::max(Seconds(time), cost.traffic);
  return cost;
}

KernelCost decodes(const AttentionEfficiency& e, const Roof& roof, const AttentionShape& s,
                   const BatchShape& b) {
  KernelCost cost = decode_counts(e, roof, s, static_cast<double>(b.decode_context_sum), rows_of(b));
  cost.time = Seconds(decode_line(e, roof, s, b).time());
  return cost;
}

// FlashAttention 2: each decode is a tile of query rows in every query head, however few these are.
KernelCost in_waves(const AttentionEfficiency& e, const Roof& roof, Bytes l2, const AttentionShape& s,
                    const BatchShape& b) {
  const PrefillEfficiency& p = e.prefill;
  PrefillWork work = prefill_work(p, roof, s, b.prefill);
  KernelCost cost = prefill_counts(e, roof, s, work);
  const double n = static_cast<double>(b.decodes), keys = static_cast<double>(b.decode_context_sum);
  const double pair = with_exponents(p, s) * (s.flops_per_pair() / roof.peak.value());
  const double group = s.query_heads / s.kv_heads;
  work.seconds += pair * p.tile_rows * (keys / p.context + n * p.tile_tokens / p.causal);
  work.tiles += n * s.query_heads;
  const double longest = seconds_per_tile(p, roof, s) *
                         (static_cast<double>(b.decode_context_max) / p.context + p.tile_tokens / p.causal);

  KernelCost more = decode_counts(e, roof, s, keys, rows_of(b));
  const bool lost =
      keys * s.bytes_per_token() / s.kv_heads > l2.value() && n * group > 2 * roof.multiprocessors;
  if (lost) {
    more.moved[own_memory] = group * more.moved[own_memory];
    more.traffic = group * more.traffic;
  }
  add_counts(cost, more);
  cost.compute = Seconds(work.seconds);
  const double time = std::max(work.waved, in_whole_waves(work.seconds, work.tiles, roof));
  cost.time = p.launch + std::max({Seconds(time), Seconds(work.longest), Seconds(longest), cost.traffic});
  return cost;
}

}  // namespace

KernelCost attention_cost(const AttentionEfficiency& e, const Roof& roof, Bytes l2,
                          const AttentionShape& shape, const BatchShape& batch) {
  const BatchShape seen = in_window(batch, shape);
  if (batch.prefill.empty()) return batch.decodes > 0 ? decodes(e, roof, shape, seen) : KernelCost{};
  if (batch.decodes == 0) return prefills(e, roof, shape, batch);
  if (e.grid == AttentionGrid::waves) return in_waves(e, roof, l2, shape, seen);
  KernelCost cost = prefills(e, roof, shape, batch);
  const KernelCost more = decodes(e, roof, shape, seen);
  cost.time += more.time;
  if (e.grid == AttentionGrid::persistent) cost.time -= std::min(e.prefill.launch, e.decode.launch);
  add_counts(cost, more);
  return cost;
}

namespace {

AffineKernelCost growing_decodes(const AttentionEfficiency& e, const Roof& roof, const AttentionShape& s,
                                 const BatchShape& batch) {
  const DecodeLine line = decode_line(e, roof, s, batch);
  AffineKernelCost affine;
  affine.first = decodes(e, roof, s, batch);
  affine.slope = decode_counts(e, roof, s, static_cast<double>(batch.decodes), rows_of(batch));
  affine.steps = for_ever;
  if (line.context <= e.decode.split_tokens)
    affine.steps = steps_within(e.decode.split_tokens - line.context);
  if (const double left = line.first_left(); left > 0)
    affine.steps = std::min(affine.steps, steps_within(left));
  const double above_traffic = line.idle - line.busy();
  if (above_traffic > 0)
    affine.steps = std::min(affine.steps, steps_within(above_traffic / line.slope()));
  else
    affine.slope.time = Seconds(line.slope());
  return affine;
}

}  // namespace

AffineKernelCost decode_attention_cost(const AttentionEfficiency& e, const Roof& roof,
                                       const AttentionShape& s, const BatchShape& batch) {
  AffineKernelCost affine = growing_decodes(e, roof, s, in_window(batch, s));
  if (s.window == 0) return affine;
  const double mean_left = s.window - mean_context(batch);
  const double longest_left = s.window - static_cast<double>(batch.decode_context_max);
  if (mean_left <= 0) return {affine.first, {}, for_ever};
  // Once the longest has reached the window, the mean alone grows.
  if (longest_left <= 0) affine.slope.time = (1 - e.decode.skew) * affine.slope.time;
  affine.steps = std::min(affine.steps, steps_within(longest_left > 0 ? longest_left : mean_left));
  return affine;
}

}  // namespace weir
