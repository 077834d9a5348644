#include "devices/profile/profiled.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "devices/kernel_shapes.h"
#include "devices/profile/profile_bundle.h"
#include "devices/profile/profiled_attention.h"
#include "devices/profile/profiled_kernels.h"

namespace weir {
namespace {

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

// Measured over analytic times of GEMMs in these types, by n, k and m.
struct GemmFactors {
  GemmTypes types;
  LogGrid logs;
  double least_rows = 0;
};

class Profiled final : public Device {
 public:
  Profiled(std::shared_ptr<const Device> analytic, std::filesystem::path folder,
           std::shared_ptr<const ProfileBundle> bundle)
      : analytic_(std::move(analytic)),
        burst_(analytic_->in_bursts()),
        folder_(std::move(folder)),
        bundle_(std::move(bundle)),
        tables_(*bundle_),
        spec_(analytic_->spec()) {
    if (!burst_) burst_ = analytic_;
    spec_.notes.title += ", profiled";
    spec_.power.sustained = 0;  // measured times have what the limit made of the clocks
    // The tables are of the engine that they were measured on.
    spec_.notes.kernel_library = tables_.source ? tables_.source->engine : "";
    spec_.notes.profile = tables_.source;
    for (const AttentionTimes& times : tables_.attention) attention_.emplace_back(times, analytic_, *burst_);
    for (const GemmTimes& times : tables_.gemms) add_gemms(times);
    for (const ExpertTimes& times : tables_.expert_blocks) add_elementwise_of(times.block);
  }

  std::shared_ptr<const Device> with_library(const std::string& library) const override {
    std::shared_ptr<const Device> own = tables_.source ? analytic_->with_library(library) : nullptr;
    return own ? std::make_shared<Profiled>(std::move(own), folder_, bundle_) : nullptr;
  }

  bool measures_sampler() const override {
    return !tables_.analytic_where_missing || tables_.per_sequence.contains("sampler");
  }
  const DeviceSpec& spec() const override { return spec_; }

  KernelCost cost(const KernelWork& work, int unit) const override {
    KernelCost cost = analytic_->cost(work, unit);
    if (work.as<Attention>()) {
      if (const ProfiledAttention* measured = attention_of(work))
        cost.time = Seconds(measured->seconds(work, unit, cost.time));
    } else if (work.rows > 0) {
      cost.time = Seconds(layer_seconds(work, unit, cost.time));
    }
    return cost;
  }

  AffineKernelCost decode_attention(const KernelWork& work, int unit) const override {
    const ProfiledAttention* measured = attention_of(work);
    return measured ? measured->decodes(work, unit) : analytic_->decode_attention(work, unit);
  }

  bool widens_decodes() const override { return analytic_->widens_decodes(); }

  std::string cannot_run(std::span<const KernelWork> all) const override {
    int degree = 1;
    for (const KernelWork& work : all) {
      if (work.as<Prefetch>())
        return fmt::format(
            "{} has whole kernels' times, not what of them is memory traffic: nothing can be "
            "prefetched",
            folder_.string());
      if (const auto* group = work.as<Communication>(); group && group->among == Communication::Among::tensor)
        degree = std::max(degree, group->devices);
    }
    for (const KernelWork& work : all) {
      if (tables_.analytic_where_missing) break;
      const bool chunk = work.end - work.begin < 1;
      if (const std::string file = lacks(work); !file.empty())
        return fmt::format("{} has no layer {}{}", (folder_ / file).string(), work.name,
                           chunk ? ": whole ones were measured, which fused_all_reduce_chunks cuts" : "");
    }
    const int named = tables_.source ? tables_.source->tp : named_degree(folder_);
    if (named > 0 && named != degree)
      return fmt::format("{} was measured at tensor parallelism {}, not {}", folder_.string(), named, degree);
    return tables_.analytic_where_missing ? analytic_->cannot_run(all) : "";
  }

  std::string stand_ins(std::span<const KernelWork> all) const override {
    std::vector<KernelWork> analytic;
    for (const KernelWork& work : all)
      if (tables_.analytic_where_missing && !lacks(work).empty()) analytic.push_back(work);
    return analytic_->stand_ins(analytic);
  }

  std::vector<std::string> analytic_layers(std::span<const KernelWork> all) const override {
    std::vector<std::string> found;
    const auto add = [&](const std::string& layer) {
      if (std::ranges::find(found, layer) == found.end()) found.push_back(layer);
    };
    for (const KernelWork& work : all) {
      if (work.as<Communication>() || work.as<Copy>() || !tables_.analytic_where_missing) continue;
      const std::string name(work.name);
      const ProfiledAttention* attention = attention_of(work);
      if (!lacks(work).empty())
        add(name);
      else if (attention && !attention->has_prompts())
        add(name + " of prompts");
      else if (attention && !attention->has_decodes())
        add(name + " of decodes");
      else if (const GemmFactors* factors = by_shape(work); factors && factors->least_rows > 1)
        add(fmt::format("{} below {} rows", name, factors->least_rows));
    }
    return found;
  }

 private:
  void add_gemms(const GemmTimes& times) {
    GemmFactors& factors = gemms_.emplace_back();
    factors.types = times.types;
    factors.least_rows = std::numeric_limits<double>::infinity();
    const int unit = unit_running(burst_->spec().units, KernelKind::gemm);
    for (const MeasuredGemm& g : times.rows) {
      const Kernel kernel =
          gemm_of(times.types, static_cast<std::int64_t>(g.k), static_cast<std::int64_t>(g.n));
      const KernelWork work{.name = "gemm", .kernel = kernel, .rows = g.m};
      factors.logs.add(g.n, g.k, g.m, std::log(g.seconds / burst_->cost(work, unit).time.value()));
      factors.least_rows = std::min(factors.least_rows, g.m);
    }
    factors.logs.sort();
  }

  // A block's time includes the operators between and behind its matrices: known by the bytes that models/llm
  // gives them a token, with and without a shared expert beside the block.
  void add_elementwise_of(const ExpertBlock& block) {
    const double active = static_cast<double>(block.active) / static_cast<double>(block.ep);
    for (const double bytes : {2.0, 1.0, 4.0}) {
      in_block_.insert(bytes * active * 3 * static_cast<double>(block.inter));
      for (const double read : {1.0, 2.0})
        in_block_.insert(bytes * (active + read) * static_cast<double>(block.hidden));
    }
  }

  const ProfiledAttention* attention_of(const KernelWork& work) const {
    const auto* op = work.as<Attention>();
    if (!op) return nullptr;
    const bool comparable = whole_attention(work) && op->keys == Attention::Keys::cached;
    const MeasuredHeads heads{op->query_heads, op->kv_heads, op->head_dim, op->kv_cache, op->window};
    for (const ProfiledAttention& one : attention_)
      if (!one.of() || (comparable && *one.of() == heads)) return &one;
    return nullptr;
  }

  // Null where the operator is no GEMM of a type that gemm.csv has, or many small ones in a kernel, which its
  // single ones say nothing of.
  const GemmFactors* by_shape(const KernelWork& work) const {
    const auto* gemm = work.as<Gemm>();
    if (!gemm || gemm->matrices > 1) return nullptr;
    const auto of =
        std::ranges::find(gemms_, GemmTypes{gemm->weights.number, gemm->activations}, &GemmFactors::types);
    return of == gemms_.end() ? nullptr : &*of;
  }

  const ExpertTimes* block_with(const KernelWork& work) const {
    const auto* op = work.as<GroupedGemm>();
    if (!op) return nullptr;
    const auto of =
        std::ranges::find(tables_.expert_blocks, block_of(*op, whole_moe(work)), &ExpertTimes::block);
    return of == tables_.expert_blocks.end() ? nullptr : &*of;
  }

  bool in_block(const KernelWork& work) const {
    const auto* op = work.as<Elementwise>();
    return op && part_of_moe(work) && in_block_.contains(op->per_row.value());
  }

  const Curve* layer(const KernelWork& work) const {
    const LayerTimes& all = of_sequences(work) ? tables_.per_sequence : tables_.dense;
    const auto it = all.find(work.name);
    return it == all.end() ? nullptr : &it->second;
  }

  bool by_activated_experts(const KernelWork& work) const {
    return part_of_moe(work) && !tables_.experts.knots.empty();
  }

  // The file without the operator's layer, or "".
  std::string lacks(const KernelWork& work) const {
    if (work.as<Communication>()) return "";
    if (work.as<Attention>()) return attention_of(work) ? "" : "attention.csv";
    if (by_activated_experts(work) || block_with(work) || in_block(work)) return "";
    if (layer(work) || by_shape(work)) return "";
    return part_of_moe(work) ? "moe.csv" : of_sequences(work) ? "per_sequence.csv" : "dense.csv";
  }

  double layer_seconds(const KernelWork& work, int unit, Seconds here) const {
    if (by_activated_experts(work)) return whole_moe(work) ? moe_seconds(work, unit, here) : 0;
    if (const ExpertTimes* block = block_with(work))
      return whole_moe(work) ? block_seconds(*block, work.rows, unit, here) : 0;
    if (in_block(work)) return 0;
    if (const Curve* curve = layer(work)) {
      // Outside its measured range a curve's end is scaled as the analytic model scales from there.
      const double end = std::clamp(work.rows, curve->x.front(), curve->x.back());
      return curve->at(end).value * (end == work.rows ? 1 : here / analytic_seconds(work, unit, end));
    }
    if (const GemmFactors* factors = by_shape(work)) {
      const auto& gemm = std::get<Gemm>(work.kernel);
      return here.value() * std::exp(factors->logs.at(static_cast<double>(gemm.out),
                                                      static_cast<double>(gemm.in), work.rows));
    }
    if (tables_.analytic_where_missing) return here.value();
    throw ConfigError((folder_ / lacks(work)).string(), "", fmt::format("no layer {}", work.name));
  }

  double moe_seconds(const KernelWork& work, int unit, Seconds here) const {
    const double end = std::clamp(work.rows, tables_.experts.knots.front(), tables_.experts.knots.back());
    const double active = rank_load(std::get<GroupedGemm>(work.kernel), end).hit;
    const double time = interpolate(tables_.experts, end, active, active).mean;
    return time * (end == work.rows ? 1 : here / analytic_seconds(work, unit, end));
  }

  // A block is as far from its burst's time as its first matrix.
  double block_seconds(const ExpertTimes& block, double tokens, int unit, Seconds here) const {
    const Curve& times = block.times;
    const double end = std::clamp(std::log(tokens), times.x.front(), times.x.back());
    const Kernel up = up_projection(block.block);
    const KernelWork work{.name = "moe_gate_up", .kernel = up, .rows = std::exp(end)};
    return std::exp(times.at(end).value) * (here / burst_->cost(work, unit).time);
  }

  Seconds analytic_seconds(KernelWork work, int unit, double rows) const {
    work.rows = static_cast<double>(static_cast<std::int64_t>(rows));
    return analytic_->cost(work, unit).time;
  }

  std::shared_ptr<const Device> analytic_, burst_;
  std::filesystem::path folder_;
  std::shared_ptr<const ProfileBundle> bundle_;
  const ProfileBundle& tables_;
  DeviceSpec spec_;
  std::vector<ProfiledAttention> attention_;
  std::vector<GemmFactors> gemms_;
  std::set<double> in_block_;  // bytes a token
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
  auto tables = std::make_shared<ProfileBundle>(read_bundle(folder, problems));
  for (const Problem& p : problems) params.fail("profile", p.what);
  if (!problems.empty()) return nullptr;
  const std::string& kind = analytic->spec().kind;
  if (tables->source && tables->source->gpu != kind)
    params.note("profile",
                fmt::format("was measured on {}, not on {}", shortened(tables->source->gpu, 40), kind));
  if (tables->latent_attention_rows > 0)
    params.note("profile",
                "mla.csv is not used: its rows are whole layers' attention with projections, which no single "
                "operator is");
  return std::make_shared<Profiled>(std::move(analytic), folder, std::move(tables));
}

}  // namespace weir
