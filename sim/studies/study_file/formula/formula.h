#pragma once
// An expression over a study's points: arithmetic by muParser, whose variables are terms. A term is an axis'
// value, a metric of a case, a named formula, or one of them reduced over axes. A term without a value leaves
// the formula without one (NaN).
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "sim/studies/study_file/formula/axis.h"
#include "sim/studies/study_file/formula/reductions.h"

namespace weir::study {

struct StudyCase;
struct Let;

// Where the numbers of cases come from.
class Values {
 public:
  virtual ~Values() = default;
  virtual double of(const StudyCase& from, const Place& place, std::size_t metric) = 0;
  // True: it looks for what may be asked, so that conditions are not decided by it.
  virtual bool looks_for_all() const { return false; }
  double of(const Let& let, const Place& place);  // computed once

 private:
  std::unordered_map<const Let*, std::unordered_map<std::size_t, double>> known_;
};

class Term {
 public:
  virtual ~Term() = default;
  virtual double at(const Place& place, Values& values) const = 0;
};

class Formula {
 public:
  // `text` has the terms as v0, v1, ... Throws std::runtime_error with what is wrong.
  Formula(const Axes& axes, const std::string& text, std::vector<std::unique_ptr<Term>> terms, AxisSet free,
          bool of_cases);
  ~Formula();
  double at(const Place& place, Values& values) const;
  const Axes& axes() const { return axes_; }
  const AxisSet& free() const { return free_; }  // axes that the place has to choose
  bool of_cases() const { return of_cases_; }    // needs runs or probes

 private:
  struct Arithmetic;  // keeps muParser out of everybody's sight
  const Axes& axes_;
  std::unique_ptr<Arithmetic> arithmetic_;
  std::vector<std::unique_ptr<Term>> terms_;
  AxisSet free_;
  bool of_cases_;
};
using FormulaPtr = std::unique_ptr<Formula>;

struct Let {
  std::string name;
  FormulaPtr formula;
};

// {axis=...} of a case or a named formula.
struct Selection {
  std::size_t axis;
  // A value's index; the axis whose label is meant; or the number that is meant.
  std::variant<std::size_t, std::pair<std::size_t, std::string>, std::shared_ptr<const Formula>> chosen;
};
using Selections = std::vector<Selection>;

class AxisTerm : public Term {
 public:
  AxisTerm(const Axes& axes, std::size_t axis, std::string field)
      : axes_(axes), axis_(axis), field_(std::move(field)) {}
  double at(const Place& place, Values&) const override;

 private:
  const Axes& axes_;
  std::size_t axis_;
  std::string field_;
};

class LetTerm : public Term {
 public:
  LetTerm(const Axes& axes, const Let& let, Selections selections)
      : axes_(axes), let_(let), selections_(std::move(selections)) {}
  double at(const Place& place, Values& values) const override;

 private:
  const Axes& axes_;
  const Let& let_;
  Selections selections_;
};

class CaseTerm : public Term {
 public:
  CaseTerm(const Axes& axes, const StudyCase& from, std::size_t metric, Selections selections)
      : axes_(axes), from_(from), metric_(metric), selections_(std::move(selections)) {}
  double at(const Place& place, Values& values) const override;

 private:
  const Axes& axes_;
  const StudyCase& from_;
  std::size_t metric_;
  Selections selections_;
};

class ReductionTerm : public Term {
 public:
  ReductionTerm(const Axes& axes, const Reduction& reduction, std::vector<std::size_t> over, FormulaPtr where,
                FormulaPtr body)
      : axes_(axes),
        reduction_(reduction),
        over_(std::move(over)),
        where_(std::move(where)),
        body_(std::move(body)) {}
  double at(const Place& place, Values& values) const override;
  // argmin and argmax give the place with their axes chosen; unchosen where there is no value.
  Place place_at(const Place& place, Values& values) const;
  const std::vector<std::size_t>& over() const { return over_; }

 private:
  struct Found {
    std::vector<double> values;
    std::vector<Place> places;  // argmin and argmax alone have any
  };
  Found found(const Place& place, Values& values) const;
  const Axes& axes_;
  const Reduction& reduction_;
  std::vector<std::size_t> over_;
  FormulaPtr where_, body_;
};

}  // namespace weir::study
