#include "sim/studies/study_file/formula/formula_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <stdexcept>

#include "sim/core/catalog.h"
#include "sim/studies/study_file/cases/study_case.h"
#include "sim/studies/study_file/formula/brackets.h"
#include "sim/studies/study_file/formula/setting.h"

namespace weir::study {
namespace {

constexpr double most_reduced = 1e6;

[[noreturn]] void wrong(const std::string& what) {
  throw std::runtime_error(what);
}

bool begins_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool in_word(char c) {
  return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0;
}

// None where there is no list either.
template <class Named>
Named* find_named(const std::vector<std::unique_ptr<Named>>* all, const std::string& name) {
  if (!all) return nullptr;
  const auto found = std::ranges::find_if(*all, [&](const auto& one) { return one->name == name; });
  return found == all->end() ? nullptr : found->get();
}

class GivenTerm : public Term {
 public:
  explicit GivenTerm(const CaseSetting& setting) : setting_(setting) {}
  double at(const Place& place, Values&) const override { return setting_.number_at(place); }

 private:
  const CaseSetting& setting_;
};

class Reader {
 public:
  Reader(const std::string& text, const Names& names) : text_(text), names_(names) {
    if (text.size() > longest_formula)
      wrong(fmt::format("a formula of more than {} characters", longest_formula));
  }

  FormulaPtr formula() {
    if (trimmed(text_).empty()) wrong("expected a formula");
    while (at_ < text_.size()) step();
    check_free();
    return std::make_unique<Formula>(names_.axes, plain_, std::move(terms_), std::move(free_), of_cases_);
  }

  std::unique_ptr<ReductionTerm> place() {
    const std::string name = word();
    auto term = at_ < text_.size() && text_[at_] == '[' ? reduction(name) : nullptr;
    if (!term || at_ != text_.size() || !name.starts_with("arg"))
      wrong("expected argmax[AXES](FORMULA) or argmin[AXES](FORMULA)");
    check_free();
    return term;
  }

 private:
  void step() {
    const char c = text_[at_];
    if (begins_word(c)) return named();
    if (std::isdigit(static_cast<unsigned char>(c)) || c == '.') return number();
    if (c == '=') return equals();
    if (c == '{' || c == '[' || c == '"' || c == '}' || c == ']')
      wrong(fmt::format("{} stands behind a name alone", c));
    if (std::string_view("!<>").find(c) != std::string_view::npos && next() == '=') plain_ += text_[at_++];
    plain_ += text_[at_++];
  }

  char next() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  void equals() {
    if (next() != '=') wrong("= assigns nothing here; == compares");
    plain_ += "==";
    at_ += 2;
  }

  void number() {
    while (at_ < text_.size() && (in_word(text_[at_]) || text_[at_] == '.')) {
      const bool exponent = text_[at_] == 'e' || text_[at_] == 'E';
      plain_ += text_[at_++];
      if (exponent && at_ < text_.size() && (text_[at_] == '-' || text_[at_] == '+')) plain_ += text_[at_++];
    }
  }

  std::string word() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && in_word(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  void add_reduction(const std::string& name) {
    auto term = reduction(name);
    const auto& over = term->over();
    const StudyAxis& first = names_.axes[over.front()];
    if (name.starts_with("arg") && (over.size() > 1 || !first.has("") || !first.is_number("")))
      wrong(
          fmt::format("{} over {} is no number; \"at\" of a row takes it for the note", name, first.name()));
    add(std::move(term));
  }

  // Takes what is within the brackets that begin here, and goes behind them.
  std::string bracketed() {
    const std::size_t begin = at_, end = behind_bracket(text_, begin);
    if (end == std::string::npos) wrong(fmt::format("{} is not closed", text_[begin]));
    at_ = end;
    return text_.substr(begin + 1, end - begin - 2);
  }

  std::string member() {
    if (at_ >= text_.size() || text_[at_] != '.') return "";
    ++at_;
    return word();
  }

  void named() {
    const std::string name = word();
    const char behind = at_ < text_.size() ? text_[at_] : '\0';
    if (behind == '(') {
      plain_ += name;  // a function of muParser's, which knows whether there is one
      return;
    }
    if (behind == '[') return add_reduction(name);
    const std::string chosen = behind == '{' ? bracketed() : "";
    const std::string of = member();
    if (const auto axis = find_axis(names_.axes, name); axis && behind != '{') return add_axis(*axis, of);
    if (StudyCase* found = find_named(names_.cases, name)) return add_case(*found, of, chosen);
    if (const Let* let = find_named(names_.lets, name); let && of.empty()) return add_let(*let, chosen);
    if (names_.given && names_.given->contains(name) && behind != '{' && of.empty())
      return add_given(names_.given->at(name));
    wrong(no_such("name", name, known_names()));
  }

  void add(std::unique_ptr<Term> term) {
    plain_ += fmt::format("v{}", terms_.size());
    terms_.push_back(std::move(term));
  }

  void add_axis(std::size_t axis, const std::string& field) {
    const StudyAxis& a = names_.axes[axis];
    if (!a.has(field)) wrong(no_such("field of " + a.name(), field, a.fields()));
    if (!a.is_number(field))
      wrong(fmt::format("{}{}{} is text, and no number", a.name(), field.empty() ? "" : ".", field));
    free_.insert(axis);
    add(std::make_unique<AxisTerm>(names_.axes, axis, field));
  }

  void add_given(const CaseSetting& setting) {
    free_.insert(setting.free().begin(), setting.free().end());
    add(std::make_unique<GivenTerm>(setting));
  }

  void add_case(StudyCase& from, const std::string& metric, const std::string& chosen) {
    if (metric.empty()) wrong(fmt::format("expected a metric of {}: {}.NAME", from.name, from.name));
    const std::size_t place = from.asked(metric);
    Selections selections = read_selections(chosen, from.free, from.name);
    of_cases_ = true;
    add(std::make_unique<CaseTerm>(names_.axes, from, place, std::move(selections)));
  }

  void add_let(const Let& let, const std::string& chosen) {
    Selections selections = read_selections(chosen, let.formula->free(), let.name);
    of_cases_ = of_cases_ || let.formula->of_cases();
    add(std::make_unique<LetTerm>(names_.axes, let, std::move(selections)));
  }

  // Adds the axes that stay free of `target`, and those that the selections depend on.
  Selections read_selections(const std::string& text, const AxisSet& target, const std::string& name) {
    Selections selections;
    AxisSet left = target;
    if (!trimmed(text).empty())
      for (const std::string& one : split(text)) {
        const auto equals = one.find('=');
        if (equals == std::string::npos) wrong(fmt::format("expected AXIS=VALUE in {{{}}}", text));
        const std::string axis = trimmed(one.substr(0, equals)), value = trimmed(one.substr(equals + 1));
        const auto found = find_axis(names_.axes, axis);
        if (!found) wrong(no_such("axis", axis, names_of(names_.axes)));
        if (!target.contains(*found)) wrong(fmt::format("{} does not depend on {}", name, axis));
        if (left.erase(*found) == 0) wrong(fmt::format("{} is chosen twice", axis));
        selections.push_back(read_selection(*found, value));
      }
    free_.insert(left.begin(), left.end());
    return selections;
  }

  Selection read_selection(std::size_t axis, const std::string& value) {
    if (const auto index = names_.axes[axis].with_label(value)) return {axis, *index};
    const auto dot = value.find('.');
    const std::string field = dot == std::string::npos ? "" : value.substr(dot + 1);
    if (const auto other = find_axis(names_.axes, value.substr(0, dot));
        other && names_.axes[*other].has(field)) {
      free_.insert(*other);
      return {axis, std::pair(*other, field)};
    }
    std::shared_ptr<const Formula> formula;
    try {
      formula = read_formula(value, {.axes = names_.axes, .given = names_.given});
    } catch (const std::runtime_error&) {
    }
    if (!formula || formula->free().empty())  // no formula of axes, and no value
      wrong(no_such("value of " + names_.axes[axis].name(), value, names_.axes[axis].labels()));
    free_.insert(formula->free().begin(), formula->free().end());
    return {axis, std::move(formula)};
  }

  std::unique_ptr<ReductionTerm> reduction(const std::string& name) {
    const auto found = std::ranges::find(reductions(), name, &Reduction::name);
    if (found == reductions().end()) wrong(no_such("reduction", name, weir::names_of(reductions())));
    std::string over = bracketed(), condition;
    if (const auto where = over.find(" where "); where != std::string::npos) {
      condition = over.substr(where + std::string_view(" where ").size());
      over.resize(where);
    }
    if (at_ >= text_.size() || text_[at_] != '(') wrong(fmt::format("expected {}[{}](FORMULA)", name, over));
    const std::string body = bracketed();
    std::vector<std::size_t> axes;
    for (const std::string& axis : split(over)) {
      const auto known = find_axis(names_.axes, trimmed(axis));
      if (!known) wrong(no_such("axis", trimmed(axis), names_of(names_.axes)));
      if (std::ranges::count(axes, *known)) wrong(trimmed(axis) + " is reduced twice");
      axes.push_back(*known);
    }
    return reduction_of(*found, std::move(axes), condition, body);
  }

  std::unique_ptr<ReductionTerm> reduction_of(const Reduction& kind, std::vector<std::size_t> axes,
                                              const std::string& condition, const std::string& body) {
    Names within = names_;
    within.reduced *= static_cast<double>(combinations(names_.axes, axes));
    if (within.reduced > most_reduced)
      wrong(fmt::format("{} goes over more than {} points; give its inner part a name in \"let\"", kind.name,
                        most_reduced));
    if (within.usable) within.usable->insert(axes.begin(), axes.end());
    FormulaPtr of = read_formula(body, within);
    FormulaPtr where = condition.empty() ? nullptr : read_formula(condition, within);
    AxisSet free = of->free();
    of_cases_ = of_cases_ || of->of_cases() || (where && where->of_cases());
    if (where) free.insert(where->free().begin(), where->free().end());
    for (const std::size_t axis : axes) free.erase(axis);
    free_.insert(free.begin(), free.end());
    return std::make_unique<ReductionTerm>(names_.axes, kind, std::move(axes), std::move(where),
                                           std::move(of));
  }

  void check_free() const {
    if (!names_.usable) return;
    for (const std::size_t axis : free_)
      if (!names_.usable->contains(axis))
        wrong(fmt::format("depends on {0}: choose one with {{{0}=...}}, or reduce it: mean[{0}](...)",
                          names_.axes[axis].name()));
  }

  std::vector<std::string> known_names() const {
    std::vector<std::string> known = names_of(names_.axes);
    if (names_.given)
      for (const auto& [name, setting] : *names_.given) known.push_back(name);
    if (names_.cases)
      for (const auto& one : *names_.cases) known.push_back(one->name);
    if (names_.lets)
      for (const auto& let : *names_.lets) known.push_back(let->name);
    return known;
  }

  const std::string& text_;
  const Names& names_;
  std::size_t at_ = 0;
  std::string plain_;
  std::vector<std::unique_ptr<Term>> terms_;
  AxisSet free_;
  bool of_cases_ = false;
};

}  // namespace

FormulaPtr read_formula(const std::string& text, const Names& names) {
  return Reader(text, names).formula();
}

std::unique_ptr<ReductionTerm> read_place(const std::string& text, const Names& names) {
  return Reader(text, names).place();
}

}  // namespace weir::study
