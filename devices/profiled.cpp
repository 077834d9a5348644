#include "devices/profiled.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "devices/kernel_shapes.h"
#include "devices/profile_bundle.h"

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

// The tensor-parallel degree a folder's name ends in, .../tp2 or ..._tp2; 0 if it says none.
int named_degree(const std::filesystem::path& folder) {
  std::string name = folder.filename().string();
  if (name.empty()) name = folder.parent_path().filename().string();
  const auto digits = name.find_last_not_of("0123456789") + 1;
  const bool named = digits < name.size() && digits >= 2 && name.compare(digits - 2, 2, "tp") == 0;
  int degree = 0;
  if (named) std::from_chars(name.data() + digits, name.data() + name.size(), degree);  // 0: it is no degree
  return degree;
}

// The block of a mixture of experts is measured whole: its first matrix stands for all of it.
bool whole_moe(const KernelWork& work) {
  return work.name == "moe_gate_up";
}
bool part_of_moe(const KernelWork& work) {
  return work.name.starts_with("moe_");
}

// Layers of per_sequence.csv; all others are of dense.csv.
bool of_sequences(const KernelWork& work) {
  return work.name == "lm_head" || work.name == "sampler";
}

class Profiled final : public Device {
 public:
  Profiled(std::shared_ptr<const Device> analytic, std::filesystem::path folder, ProfileBundle tables)
      : analytic_(std::move(analytic)),
        folder_(std::move(folder)),
        tables_(std::move(tables)),
        spec_(analytic_->spec()) {
    spec_.notes.title += ", profiled";
    spec_.power.sustained = 0;           // measured times have what the limit made of the clocks
    spec_.notes.kernel_library.clear();  // the tables are of the engine that they were measured on
  }

  bool measures_sampler() const override { return true; }
  const DeviceSpec& spec() const override { return spec_; }

  KernelCost cost(const KernelWork& work, int unit) const override {
    KernelCost cost = analytic_->cost(work, unit);
    if (work.as<Attention>())
      cost.time = Seconds(attention_seconds(work, unit, cost.time));
    else if (work.rows > 0)
      cost.time = Seconds(layer_seconds(work, unit, cost.time));
    return cost;
  }

  AffineKernelCost decode_attention(const KernelWork& work, int unit) const override {
    AffineKernelCost affine = analytic_->decode_attention(work, unit);
    const Decodes d = decodes(work.batch);
    if (d.number > tables_.decode.knots.back() || d.longest > tables_.longest_decode) {
      affine.first.time = Seconds(attention_seconds(work, unit, affine.first.time));
      affine.slope.time = Seconds(0);
      affine.steps = 1;
      return affine;
    }
    const auto [low, high, share] = bracket(tables_.decode.knots, d.number);
    double first = 0, slope = 0, next = std::numeric_limits<double>::infinity();
    for (const auto& [knot, weight] : {std::pair{low, 1 - share}, std::pair{high, share}}) {
      if (weight == 0) continue;
      const Curve& curve = tables_.decode.below[knot];
      const Curve::Point mean = curve.at(d.mean), longest = curve.at(d.longest);
      first += weight * (mean.value + skew_alone * (longest.value - mean.value));
      slope += weight * (mean.slope + skew_alone * (longest.slope - mean.slope));
      next = std::min({next, mean.next - d.mean, longest.next - d.longest});
    }
    affine.first.time = Seconds(first);
    affine.slope.time = Seconds(slope);
    // A knot that rounding blurs is left to the next call.
    next = std::min({next, tables_.longest_decode - d.longest, 1e12});
    affine.steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::floor(next - 1e-6)) + 1);
    return affine;
  }

  std::string cannot_run(std::span<const KernelWork> all) const override {
    int degree = 1;
    for (const KernelWork& work : all) {
      if (work.as<Prefetch>())
        return fmt::format(
            "{} has whole kernels' times, not what of them is memory traffic: nothing can be "
            "prefetched",
            folder_.string());
      if (const auto* group = work.as<Communication>()) degree = std::max(degree, group->devices);
    }
    for (const KernelWork& work : all) {
      const bool chunk = work.end - work.begin < 1;
      if (const std::string file = lacks(work); !file.empty())
        return fmt::format("{} has no layer {}{}", (folder_ / file).string(), work.name,
                           chunk ? ": whole ones were measured, which fused_all_reduce_chunks cuts" : "");
    }
    if (const int named = named_degree(folder_); named > 0 && named != degree)
      return fmt::format("{} was measured at tensor parallelism {}, not {}", folder_.string(), named, degree);
    return "";
  }

 private:
  struct Decodes {
    double number, mean, longest;  // KV lengths before the step's own token, as the profiler counts them
  };
  static Decodes decodes(const BatchShape& b) {
    if (b.decodes == 0) return {0, 0, 0};
    const auto n = static_cast<double>(b.decodes);
    return {n, static_cast<double>(b.decode_context_sum) / n - 1,
            static_cast<double>(b.decode_context_max) - 1};
  }

  // The file without the operator's layer, or "".
  std::string lacks(const KernelWork& work) const {
    if (work.as<Communication>() || work.as<Attention>()) return "";
    if (part_of_moe(work)) return tables_.experts.knots.empty() ? "moe.csv" : "";
    const bool found = layers_with(work).contains(std::string(work.name));
    return found ? "" : of_sequences(work) ? "per_sequence.csv" : "dense.csv";
  }

  const LayerTimes& layers_with(const KernelWork& work) const {
    return of_sequences(work) ? tables_.per_sequence : tables_.dense;
  }

  // Outside its measured range a curve's end is scaled as the analytic model scales from there.
  double layer_seconds(const KernelWork& work, int unit, Seconds here) const {
    if (part_of_moe(work)) return whole_moe(work) ? moe_seconds(work, unit, here) : 0;
    const auto it = layers_with(work).find(std::string(work.name));
    if (it == layers_with(work).end())
      throw ConfigError((folder_ / lacks(work)).string(), "", fmt::format("no layer {}", work.name));
    const Curve& curve = it->second;
    const double end = std::clamp(work.rows, curve.x.front(), curve.x.back());
    return curve.at(end).value * (end == work.rows ? 1 : here / analytic_seconds(work, unit, end));
  }

  double moe_seconds(const KernelWork& work, int unit, Seconds here) const {
    const double end = std::clamp(work.rows, tables_.experts.knots.front(), tables_.experts.knots.back());
    const double active = expected_active_experts(expert_shape(std::get<GroupedGemm>(work.kernel)), end);
    const double time = interpolate(tables_.experts, end, active, active).mean;
    return time * (end == work.rows ? 1 : here / analytic_seconds(work, unit, end));
  }

  Seconds analytic_seconds(KernelWork work, int unit, double rows) const {
    work.rows = static_cast<double>(static_cast<std::int64_t>(rows));
    return analytic_->cost(work, unit).time;
  }

  // The table knows one prompt beside equal decodes. Several prompts are looked up as one of as many tokens
  // that attends to as many keys; what lies outside the tables (or has fewer keys than one prompt of that
  // length) is scaled from the nearest point inside as the analytic model scales. A chunk shorter than the
  // shortest measured one costs as much: kernels calculate whole tiles.
  double attention_seconds(const KernelWork& work, int unit, Seconds here) const {
    const Decodes d = decodes(work.batch);
    double chunk = 0, pairs = 0;
    for (const PrefillChunk& p : work.batch.prefill) {
      const auto c = static_cast<double>(p.tokens);
      chunk += c;
      pairs += c * (static_cast<double>(p.context) + c / 2);
    }
    if (chunk == 0 && d.number == 0) return 0;
    const double longest = std::min(d.longest, tables_.longest_decode),
                 mean = std::min(d.mean, tables_.longest_decode);
    if (chunk == 0) {
      const double n = std::min(d.number, tables_.decode.knots.back());
      const TimePair t = interpolate(tables_.decode, n, mean, longest);
      return (t.mean + skew_alone * (t.longest - t.mean)) *
             scale(work, unit, here, {}, {n, mean, longest}, n != d.number || longest != d.longest);
    }
    const double context = pairs / chunk - chunk / 2;
    const double c = std::clamp(chunk, tables_.mixed.knots.front(), tables_.mixed.knots.back());
    const double k = std::clamp(context, 0.0, tables_.longest_context);
    const double n = std::min(d.number, tables_.mixed.below.back().below.back().knots.back());
    const TimePair t = interpolate(tables_.mixed, c, k, n, mean, longest);
    const double skew = n > 0 ? skew_beside_prefill(n) : 0;
    const PrefillChunk one{static_cast<std::int64_t>(c), static_cast<std::int64_t>(std::llround(k))};
    const bool outside = c < chunk || std::abs(k - context) > 0.5 || n != d.number || longest != d.longest;
    return (t.mean + skew * (t.longest - t.mean)) *
           scale(work, unit, here, std::span(&one, 1), {n, mean, longest}, outside);
  }

  double scale(KernelWork work, int unit, Seconds here, std::span<const PrefillChunk> prefill,
               const Decodes& d, bool outside) const {
    if (!outside) return 1;
    BatchShape& inside = work.batch;
    inside = {};
    inside.prefill = prefill;
    for (const PrefillChunk& p : prefill) inside.prefill_tokens += p.tokens;
    inside.decodes = static_cast<std::int64_t>(d.number);
    inside.decode_context_sum = static_cast<std::int64_t>(std::llround(d.number * (d.mean + 1)));
    inside.decode_context_max = static_cast<std::int64_t>(std::llround(d.longest + 1));
    return here / analytic_->cost(work, unit).time;
  }

  std::shared_ptr<const Device> analytic_;
  std::filesystem::path folder_;
  ProfileBundle tables_;
  DeviceSpec spec_;
};

}  // namespace

std::shared_ptr<const Device> make_profiled(std::shared_ptr<const Device> analytic,
                                            const std::filesystem::path& folder, Params& params) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    params.fail("profile", fmt::format("no such folder: {}", shortened(folder.string())));
    return nullptr;
  }
  std::vector<Problem> problems;
  ProfileBundle tables = read_bundle(folder, problems);
  for (const Problem& p : problems) params.fail("profile", p.what);
  if (!problems.empty()) return nullptr;
  return std::make_shared<Profiled>(std::move(analytic), folder, std::move(tables));
}

}  // namespace weir
