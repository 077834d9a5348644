#include "sim/studies/study_file/formula/formula.h"

#include <fmt/format.h>
#include <muParser.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "sim/app/interruption.h"

namespace weir::study {
namespace {

constexpr double missing = std::numeric_limits<double>::quiet_NaN();

double whole_below(double x) {
  return std::floor(x);
}

double whole_above(double x) {
  return std::ceil(x);
}

double nearest_whole(double x) {
  return std::round(x);
}

Place selected(const Axes& axes, const Selections& selections, const Place& place, Values& values) {
  Place other = place;
  for (const auto& [axis, chosen] : selections) {
    if (const auto* index = std::get_if<std::size_t>(&chosen)) {
      other[axis] = *index;
      continue;
    }
    const auto* labelled = std::get_if<std::pair<std::size_t, std::string>>(&chosen);
    const std::string label =
        labelled ? axes[labelled->first].label(place.at(labelled->first), labelled->second)
                 : fmt::format("{}", std::get<std::shared_ptr<const Formula>>(chosen)->at(place, values));
    const auto found = axes[axis].with_label(label);
    if (!found) throw std::runtime_error(fmt::format("{} has no value {}", axes[axis].name(), label));
    other[axis] = *found;
  }
  return other;
}

}  // namespace

double Values::of(const Let& let, const Place& place) {
  auto& known = known_[&let];
  const std::size_t index = index_of(let.formula->axes(), let.formula->free(), place);
  const auto found = known.find(index);
  if (found != known.end()) return found->second;
  const double value = let.formula->at(place, *this);
  known_[&let].emplace(index, value);
  return value;
}

struct Formula::Arithmetic {
  mu::Parser parser;
  std::vector<double> variables;  // of the terms; muParser keeps pointers to them
};

Formula::Formula(const Axes& axes, const std::string& text, std::vector<std::unique_ptr<Term>> terms,
                 AxisSet free, bool of_cases)
    : axes_(axes),
      arithmetic_(std::make_unique<Arithmetic>()),
      terms_(std::move(terms)),
      free_(std::move(free)),
      of_cases_(of_cases) {
  auto& [parser, variables] = *arithmetic_;
  variables.assign(terms_.size(), 1);
  try {
    parser.EnableOptimizer(false);  // it turns x * a / b into x * (a / b), which is another number
    parser.DefineFun("floor", whole_below);
    parser.DefineFun("ceil", whole_above);
    parser.DefineFun("round", nearest_whole);
    for (std::size_t i = 0; i < terms_.size(); ++i) parser.DefineVar(fmt::format("v{}", i), &variables[i]);
    parser.SetExpr(text);
    int results = 0;
    parser.Eval(results);
    if (results != 1) throw std::runtime_error("expected one number, not several behind commas");
  } catch (const mu::Parser::exception_type& e) {
    throw std::runtime_error(e.GetMsg());
  }
}

Formula::~Formula() = default;

double Formula::at(const Place& place, Values& values) const {
  bool whole = true;
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const double value = terms_[i]->at(place, values);
    arithmetic_->variables[i] = value;
    whole = whole && !std::isnan(value);
  }
  return whole ? arithmetic_->parser.Eval() : missing;
}

double AxisTerm::at(const Place& place, Values&) const {
  return axes_[axis_].value(place.at(axis_), field_).get<double>();
}

double LetTerm::at(const Place& place, Values& values) const {
  return values.of(let_, selected(axes_, selections_, place, values));
}

double CaseTerm::at(const Place& place, Values& values) const {
  return values.of(from_, selected(axes_, selections_, place, values), metric_);
}

ReductionTerm::Found ReductionTerm::found(const Place& place, Values& values) const {
  Found found;
  each_place(axes_, over_, place, [&](const Place& here) {
    Interruption::check();
    const double passes = where_ ? where_->at(here, values) : 1;
    if ((std::isnan(passes) || passes == 0) && !values.looks_for_all()) return;
    const double value = body_->at(here, values);
    if (std::isnan(value)) return;
    found.values.push_back(value);
    if (reduction_.gives_place) found.places.push_back(here);
  });
  return found;
}

Place ReductionTerm::place_at(const Place& place, Values& values) const {
  const Found all = found(place, values);
  if (!all.values.empty()) return all.places[static_cast<std::size_t>(reduction_.of(all.values))];
  Place none = place;
  for (const std::size_t axis : over_) none[axis] = unchosen;
  return none;
}

double ReductionTerm::at(const Place& place, Values& values) const {
  if (reduction_.gives_place) {
    const std::size_t at = place_at(place, values)[over_.front()];
    return at == unchosen ? missing : axes_[over_.front()].value(at, "").get<double>();
  }
  const Found all = found(place, values);
  if (all.values.empty()) return reduction_.of_none ? 0 : missing;
  return reduction_.of(all.values);
}

}  // namespace weir::study
