#include "sim/app/plan/deployments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/app/plan/pool_options.h"

namespace weir {
namespace {

// Where there are more than so many together, or apart, pools that other layouts beat in every bound go.
// A bound is no run, so that as many as this are kept of them, the best first.
constexpr std::size_t enough = 300;

struct Draft {  // of a deployment
  const PoolOption* first;
  std::int64_t first_count;
  const PoolOption* second = nullptr;  // of those that are apart: the decodes
  std::int64_t second_count = 0;
};

double rate_of(const PoolOption& pool, std::int64_t count, double ReplicaBounds::*rate) {
  return static_cast<double>(count) * (*pool.bounds).*rate;
}

// As many replicas as the load takes at best.
class LoadBound {
 public:
  explicit LoadBound(const PlanQuestion& question) : demand_(question.demand) {
    const SloTarget& slo = question.slo;
    if (!demand_.span_s || !slo.ttft_ms) return;
    on_time_ = static_cast<double>(slo.percentile) / 100;
    prompts_s_ = *demand_.span_s + *slo.ttft_ms / 1e3;
    if (slo.tpot_ms) decodes_s_ = prompts_s_ + demand_.mean_output() * *slo.tpot_ms / 1e3;
  }

  std::int64_t least_of(const PoolOption& pool, const std::string& role) const {
    double least = 1;
    if (!pool.bounds) return 1;
    const auto need = [&](double tokens, double rate, double seconds) {
      if (seconds > 0) least = std::max(least, std::ceil(on_time_ * tokens / (rate * seconds) - 1e-9));
    };
    if (role != "decode" && !demand_.shares_prefixes && !demand_.in_generation)
      need(demand_.input_tokens, pool.bounds->prompt_tokens_per_s, prompts_s_);
    if (role != "prefill") need(demand_.output_tokens, pool.bounds->decode_tokens_per_s, decodes_s_);
    return static_cast<std::int64_t>(std::min(least, 1e6));
  }

 private:
  const Demand& demand_;
  double on_time_ = 1, prompts_s_ = 0, decodes_s_ = 0;  // 0: nothing bounds it
};

// A pool of a role is judged by these, the less the better, whatever the number of replicas.
std::vector<double> measures_of(const PoolOption& pool) {
  const ReplicaBounds& bounds = *pool.bounds;
  const auto devices = static_cast<double>(pool.layout.devices());
  std::vector<double> all = {devices};
  if (pool.role->role != "decode")
    all.insert(all.end(), {bounds.first_token_s, -bounds.prompt_tokens_per_s / devices});
  if (pool.role->role != "prefill")
    all.insert(all.end(), {bounds.token_s, -bounds.decode_tokens_per_s / devices});
  return all;
}

// Is it at least as good in every bound, and no larger?
bool beats(const PoolOption& a, const PoolOption& b) {
  if (!a.bounds || !b.bounds || a.stock != b.stock || a.precision != b.precision || a.tiers != b.tiers)
    return false;
  const std::vector<double> of_a = measures_of(a), of_b = measures_of(b);
  return of_a != of_b && std::ranges::equal(of_a, of_b, std::ranges::less_equal());
}

using PoolOptions = std::vector<const PoolOption*>;

PoolOptions pointers(const std::vector<PoolOption>& options) {
  PoolOptions all;
  for (const PoolOption& option : options) all.push_back(&option);
  return all;
}

// The pools that no other one beats, then the pools that only these beat, and so on: so many times.
PoolOptions fronts(PoolOptions left, int times) {
  PoolOptions best;
  for (; times > 0 && !left.empty(); --times) {
    PoolOptions beaten;
    for (const PoolOption* option : left)
      (std::ranges::any_of(left, [&](const PoolOption* other) { return beats(*other, *option); }) ? beaten
                                                                                                  : best)
          .push_back(option);
    left = std::move(beaten);
  }
  return best;
}

class Composer {
 public:
  explicit Composer(const PlanQuestion& question) : question_(question), load_(question) {}

  Deployments compose() {
    std::vector<PoolOption> together, prefill, decode;
    for (auto& [role, options] :
         {std::pair("both", &together), std::pair("prefill", &prefill), std::pair("decode", &decode)})
      if (const RoleTemplate* open = question_.role(role)) *options = options_of(question_, *open, made_);
    for (const std::vector<PoolOption>* options : {&together, &prefill, &decode}) require_prices(*options);
    const PoolOptions t = pointers(together), p = pointers(prefill), d = pointers(decode);
    std::vector<Draft> drafts = few_of(alone(t), [&](int n) { return alone(fronts(t, n)); });
    const std::vector<Draft> apart =
        few_of(pairs(p, d), [&](int n) { return pairs(fronts(p, n), fronts(d, n)); });
    drafts.insert(drafts.end(), apart.begin(), apart.end());
    made_.considered += too_few_;
    if (too_few_ > 0) made_.leave_out("deployments", "cannot carry the load", too_few_example_, too_few_);
    for (const Draft& draft : drafts) finish(draft);
    std::ranges::stable_sort(made_.all, {}, &Deployment::least);
    return std::move(made_);
  }

 private:
  void require_prices(const std::vector<PoolOption>& options) const {
    if (!question_.objective.name.starts_with("dollars")) return;
    for (const PoolOption& option : options)
      if (option.dollars_per_hour <= 0)
        throw ConfigError(question_.file, "--objective",
                          fmt::format("{} has no price: give it price_per_hour in the scenario's cluster, or "
                                      "choose another objective",
                                      option.stock->kind));
  }

  // All, or where they are many those of the fewest fronts that are enough.
  template <class OfFronts>
  std::vector<Draft> few_of(std::vector<Draft> drafts, OfFronts of_fronts) {
    made_.considered += std::ssize(drafts);
    if (drafts.size() <= enough) return drafts;
    const std::int64_t known = too_few_;
    std::vector<Draft> best;
    for (int n = 1; best.size() < enough; ++n) best = of_fronts(n);
    too_few_ = known;  // they were counted
    if (const std::size_t beaten = drafts.size() - best.size(); beaten > 0)
      made_.leave_out("deployments", "have a pool that other layouts beat in every bound", "",
                      static_cast<std::int64_t>(beaten));
    return best;
  }

  std::vector<Draft> alone(const PoolOptions& pools) {
    std::vector<Draft> drafts;
    for (const PoolOption* pool : pools) {
      const std::int64_t least = load_.least_of(*pool, "both"), most = pool->most();
      if (least > 1) too_few_ += std::min(least - 1, most);
      if (least > 1 && too_few_example_.empty())
        too_few_example_ = fmt::format("{} on {} needs at least {} replicas", pool->layout.words(),
                                       pool->stock->kind, least);
      for (std::int64_t n = least; n <= most; ++n) drafts.push_back({pool, n});
    }
    return drafts;
  }

  // Every ratio of the two pools that the devices allow.
  std::vector<Draft> pairs(const PoolOptions& prefill, const PoolOptions& decode) {
    std::vector<Draft> drafts;
    for (const PoolOption* p : prefill)
      for (const PoolOption* d : decode) {
        if (p->precision != d->precision) continue;
        const std::int64_t least_p = load_.least_of(*p, "prefill"), least_d = load_.least_of(*d, "decode");
        for (std::int64_t np = 1; np <= p->most(); ++np) {
          const std::int64_t taken = p->stock == d->stock ? np * p->layout.devices() : 0;
          const std::int64_t most = std::min(d->most(), (d->stock->count - taken) / d->layout.devices());
          for (std::int64_t nd = 1; nd <= most; ++nd)
            if (np < least_p || nd < least_d)
              ++too_few_;
            else
              drafts.push_back({p, np, d, nd});
        }
      }
    return drafts;
  }

  void finish(const Draft& draft) {
    Deployment made;
    made.pools.push_back(draft.first->pool(draft.first_count));
    made.replicas = Json::array({draft.first->replica(question_, draft.first_count)});
    if (draft.second) {
      made.pools.push_back(draft.second->pool(draft.second_count));
      made.replicas.push_back(draft.second->replica(question_, draft.second_count));
    }
    made.precision = question_.precisions[draft.first->precision];
    made.name = name_of(draft, made.pools);
    try {
      read_plan(without_workload(question_, made.precision, made.replicas), question_.file);
    } catch (const ConfigError& e) {
      return made_.leave_out("deployments", "find no place",
                             fmt::format("{}: {}", made.name, e.problems().front().what));
    }
    made.least = least_objective(draft);
    made_.all.push_back(std::move(made));
  }

  // The precision by its difference from the others that are allowed: ", fp8 weights+activations".
  std::string words_of_precision(const Json& precision) const {
    std::map<std::string, std::string> keys;  // by format
    for (const auto& item : precision.items()) {
      const Json& value = item.value();
      if (std::ranges::any_of(question_.precisions,
                              [&](const Json& other) { return other.value(item.key(), Json()) != value; })) {
        std::string& of = keys[value.is_string() ? value.get<std::string>() : value.dump()];
        of += (of.empty() ? "" : "+") + item.key();
      }
    }
    std::string text;
    for (const auto& [format, of] : keys) text += fmt::format(", {} {}", format, of);
    return text;
  }

  // These were read: each has a kind and a capacity.
  static std::string words_of_tiers(const Json& tiers) {
    std::string text;
    for (const Json& tier : tiers)
      text += fmt::format("{}{:g} GB of {}", text.empty() ? ", " : " + ",
                          tier.at("capacity_gb").get<double>(), tier.at("kind").get<std::string>());
    return text.empty() ? ", no tier" : text;
  }

  std::string name_of(const Draft& draft, const std::vector<ReplicaPool>& pools) const {
    std::string text;
    for (const ReplicaPool& pool : pools) {
      text += fmt::format("{}{} x {}", text.empty() ? "" : " + ", pool.count, pool.layout.words());
      if (pools.size() > 1) text += " " + pool.role;
      if (question_.stock.size() > 1) text += " on " + pool.kind;
    }
    text += words_of_precision(question_.precisions[draft.first->precision]);
    if (question_.tiers.size() > 1) text += words_of_tiers(question_.tiers[draft.first->tiers]);
    return text;
  }

  double least_objective(const Draft& draft) const {
    double dollars_per_hour = 0, devices = 0, tokens_per_s = 0;
    bool bounded = true;
    for (const auto& [pool, count] :
         {std::pair(draft.first, draft.first_count), std::pair(draft.second, draft.second_count)}) {
      if (!pool) continue;
      const auto of_pool = static_cast<double>(count * pool->layout.devices());
      devices += of_pool;
      dollars_per_hour += of_pool * pool->dollars_per_hour;
      bounded = bounded && pool->bounds.has_value();
      if (bounded && pool->role->role != "prefill")
        tokens_per_s += rate_of(*pool, count, &ReplicaBounds::decode_tokens_per_s);
    }
    const std::string& metric = question_.objective.name;
    if (metric == "devices") return devices;
    if (metric == "dollars_per_hour") return dollars_per_hour;
    if (metric != "dollars_per_mtok") return 0;
    const Demand& demand = question_.demand;
    const double seconds = demand.span_s ? *demand.span_s : bounded ? demand.output_tokens / tokens_per_s : 0;
    return dollars_per_hour / 3600 * seconds / demand.output_tokens * 1e6;
  }

  const PlanQuestion& question_;
  const LoadBound load_;
  std::int64_t too_few_ = 0;
  std::string too_few_example_;
  Deployments made_;
};

}  // namespace

std::int64_t Deployment::devices() const {
  std::int64_t all = 0;
  for (const ReplicaPool& pool : pools) all += pool.count * pool.layout.devices();
  return all;
}

void Deployments::leave_out(const std::string& what, const std::string& why, const std::string& example,
                            std::int64_t count) {
  auto known =
      std::ranges::find_if(left_out, [&](const LeftOutOfPlan& l) { return l.what == what && l.why == why; });
  if (known == left_out.end()) known = left_out.insert(left_out.end(), {what, why, 0, example});
  known->count += count;
}

Deployments deployments_of(const PlanQuestion& question) {
  return Composer(question).compose();
}

Json scenario_of(const PlanQuestion& question, const Deployment& deployment) {
  Json scenario = question.scenario;
  scenario["precision"] = deployment.precision;
  scenario["serving"]["replicas"] = deployment.replicas;
  return scenario;
}

}  // namespace weir
