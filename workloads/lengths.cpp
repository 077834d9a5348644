#include "workloads/lengths.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/gamma_distribution.hpp>
#include <boost/random/normal_distribution.hpp>
#include <boost/random/uniform_01.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <cmath>

#include "sim/core/catalog.h"
#include "workloads/traces/trace.h"

namespace weir {
namespace {

class Fixed : public LengthLaw {
 public:
  explicit Fixed(double tokens) : LengthLaw(tokens) {}

 protected:
  double sample(Rng&) const override { return max_; }
};

class Uniform : public LengthLaw {
 public:
  Uniform(std::int64_t min, std::int64_t max) : LengthLaw(static_cast<double>(max)), tokens_(min, max) {}

 protected:
  double sample(Rng& rng) const override {
    boost::random::uniform_int_distribution<std::int64_t> tokens = tokens_;
    return static_cast<double>(tokens(rng));
  }

 private:
  boost::random::uniform_int_distribution<std::int64_t> tokens_;
};

struct Moments {
  double mean, std, max;

  static std::optional<Moments> from(Params& params) {
    Moments m{};
    m.mean = params.number({"mean", "tokens, before lengths beyond max are drawn again"}, {1, max_tokens});
    m.std = params.number({"std", "standard deviation in tokens, before lengths beyond max are drawn again"},
                          {0, 10.0 * max_tokens, true});
    const auto max =
        params.integer_or_null({"max", "longer ones are drawn again; null: no limit"}, {1, max_tokens});
    m.max = static_cast<double>(max.value_or(max_tokens));
    // Both laws have their median below their mean, so that at most every second draw is repeated.
    if (m.mean <= m.max) return m;
    params.fail("max", fmt::format("expected at least the mean, {}, got {}", m.mean, m.max));
    return {};
  }
  double variation() const { return std / mean; }
};

class Lognormal : public LengthLaw {
 public:
  explicit Lognormal(Moments m)
      : LengthLaw(m.max),
        sigma_(std::sqrt(std::log1p(m.variation() * m.variation()))),
        mu_(std::log(m.mean) - sigma_ * sigma_ / 2) {}

 protected:
  double sample(Rng& rng) const override {
    return std::exp(boost::random::normal_distribution<double>(mu_, sigma_)(rng));
  }

 private:
  double sigma_, mu_;
};

class Gamma : public LengthLaw {
 public:
  explicit Gamma(Moments m)
      : LengthLaw(m.max), shape_(1 / (m.variation() * m.variation())), scale_(m.mean / shape_) {}

 protected:
  double sample(Rng& rng) const override {
    return boost::random::gamma_distribution<double>(shape_, scale_)(rng);
  }

 private:
  double shape_, scale_;
};

// 101 quantiles, linear in between but for the last hundredth: a generalised Pareto excess over the 99th
// percentile, cut at the largest value, which gives the source's mean and deviation back where a line to that
// value would not.
class Quantiles : public LengthLaw {
 public:
  Quantiles(std::vector<double> quantiles, double tail_shape, double tail_scale)
      : LengthLaw(quantiles.back()),
        quantiles_(std::move(quantiles)),
        shape_(tail_shape),
        scale_(tail_scale) {
    const double longest = 1 + shape_ / scale_ * (quantiles_[100] - quantiles_[99]);
    within_max_ = longest > 0 ? 1 - std::pow(longest, -1 / shape_) : 1;
  }

 protected:
  double sample(Rng& rng) const override {
    const double place = 100 * boost::random::uniform_01<double>()(rng);
    const std::size_t below = std::min<std::size_t>(static_cast<std::size_t>(place), 99);
    const double share = place - static_cast<double>(below);
    if (below < 99) return std::lerp(quantiles_[below], quantiles_[below + 1], share);
    return quantiles_[99] + scale_ / shape_ * std::expm1(-shape_ * std::log1p(-share * within_max_));
  }

 private:
  std::vector<double> quantiles_;
  double shape_, scale_;
  double within_max_;  // what the excess has below the largest value
};

class Mixture : public LengthLaw {
 public:
  struct Component {
    double weight;  // cumulative after the constructor
    std::shared_ptr<const LengthLaw> law;
  };
  explicit Mixture(std::vector<Component> components)
      : LengthLaw(max_tokens), components_(std::move(components)) {
    for (std::size_t i = 1; i < components_.size(); ++i) components_[i].weight += components_[i - 1].weight;
  }

 protected:
  double sample(Rng& rng) const override {
    const double place = components_.back().weight * boost::random::uniform_01<double>()(rng);
    const auto chosen = std::find_if(components_.begin(), components_.end() - 1,
                                     [place](const Component& c) { return place < c.weight; });
    return static_cast<double>(chosen->law->draw(rng));
  }

 private:
  std::vector<Component> components_;
};

std::shared_ptr<const LengthLaw> read_quantiles(Params& params) {
  const auto quantiles = params.numbers({"quantiles", "at 0, 0.01, ... 1"}, 101, {1, max_tokens});
  const double shape = params.number(
      {"tail_shape", "of the generalised Pareto excess over the 99th percentile: below 0 it is bounded"},
      {-1, 2});
  const double scale = params.number({"tail_scale", "its scale in tokens"}, positive);
  if (shape == 0 || quantiles.size() != 101 || !std::is_sorted(quantiles.begin(), quantiles.end())) {
    params.fail("", "expected 101 quantiles in ascending order and a tail_shape other than 0");
    return nullptr;
  }
  return std::make_shared<Quantiles>(quantiles, shape, scale);
}

std::shared_ptr<const LengthLaw> read_mixture(Params& params) {
  std::vector<Mixture::Component> components;
  for (Params& each : params.list({"components", "laws, each with its share"}, 1)) {
    Mixture::Component component;
    component.weight = each.number({"weight", "share of the requests"}, positive);
    component.law = read_length_law(each.object({"law", "the law"}, Params::Presence::required));
    each.close();
    if (component.law) components.push_back(component);
  }
  return components.empty() ? nullptr : std::make_shared<Mixture>(std::move(components));
}

}  // namespace

std::int64_t LengthLaw::draw(Rng& rng) const {
  double tokens = sample(rng);
  while (!(tokens < max_ + 0.5)) tokens = sample(rng);
  return std::max<std::int64_t>(1, std::llround(tokens));
}

std::shared_ptr<const LengthLaw> fixed_length(std::int64_t tokens) {
  return std::make_shared<Fixed>(static_cast<double>(tokens));
}

std::shared_ptr<const LengthLaw> read_uniform(Params& params) {
  const Range<std::int64_t> tokens{1, max_tokens};
  const std::int64_t min = params.integer({"min", "tokens of the shortest"}, tokens);
  const std::int64_t max = params.integer({"max", "tokens of the longest"}, tokens);
  if (min <= max) return std::make_shared<Uniform>(min, max);
  params.fail("max", fmt::format("expected at least min, {}, got {}", min, max));
  return nullptr;
}

std::shared_ptr<const LengthLaw> read_lognormal(Params& params) {
  const auto moments = Moments::from(params);
  return moments ? std::make_shared<Lognormal>(*moments) : nullptr;
}

std::shared_ptr<const LengthLaw> read_gamma(Params& params) {
  const auto moments = Moments::from(params);
  return moments ? std::make_shared<Gamma>(*moments) : nullptr;
}

std::shared_ptr<const LengthLaw> read_length_law(Params params) {
  static const Catalog<LengthLaw> table = {
      {"lognormal", "mean and standard deviation", read_lognormal},
      {"gamma", "mean and standard deviation", read_gamma},
      {"quantiles", "101 quantiles and a tail", read_quantiles},
      {"mixture", "several laws by weight", read_mixture},
  };
  return make_from(table, params, {"kind", "the law"});
}

}  // namespace weir
