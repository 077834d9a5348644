#include "policies/placement/neurons/integer_program.h"

#include <CbcModel.hpp>
#include <CoinPackedMatrix.hpp>
#include <OsiClpSolverInterface.hpp>
#include <algorithm>
#include <cmath>
#include <memory>

namespace weir {

int IntegerProgram::add(const Column& column) {
  columns_.push_back(column);
  return static_cast<int>(columns_.size()) - 1;
}

void IntegerProgram::add_row(std::span<const Term> terms, double low, double high) {
  for (const Term& term : terms) {
    term_columns_.push_back(term.column);
    term_coefficients_.push_back(term.coefficient);
  }
  row_starts_.push_back(static_cast<int>(term_columns_.size()));
  row_low_.push_back(low);
  row_high_.push_back(high);
}

void IntegerProgram::load_into(OsiSolverInterface& solver) const {
  std::vector<double> cost, low, high;
  for (const Column& column : columns_) {
    cost.push_back(column.cost);
    low.push_back(column.low);
    high.push_back(column.high);
  }
  const CoinPackedMatrix matrix(false, static_cast<int>(columns_.size()), static_cast<int>(row_low_.size()),
                                row_starts_.back(), term_coefficients_.data(), term_columns_.data(),
                                row_starts_.data(), nullptr);
  solver.messageHandler()->setLogLevel(0);
  solver.setHintParam(OsiDoReducePrint, true, OsiHintTry);
  solver.loadProblem(matrix, low.data(), high.data(), cost.data(), row_low_.data(), row_high_.data());
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].whole) solver.setInteger(static_cast<int>(c));
}

std::vector<double> IntegerProgram::rounded(const OsiSolverInterface& relaxed) const {
  constexpr double whole_already = 1e-6;  // CBC's own tolerance
  const std::unique_ptr<OsiSolverInterface> fixed(relaxed.clone());
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (!columns_[c].whole) continue;
    const double value = relaxed.getColSolution()[c];
    const double whole = columns_[c].rounded == Rounded::up ? std::ceil(value - whole_already)
                                                            : std::floor(value + whole_already);
    fixed->setColBounds(static_cast<int>(c), whole, whole);
  }
  fixed->resolve();
  if (!fixed->isProvenOptimal()) return {};
  return {fixed->getColSolution(), fixed->getColSolution() + columns_.size()};
}

std::optional<IntegerProgram::Solution> IntegerProgram::minimised(double relative_gap, int most_nodes) const {
  OsiClpSolverInterface solver;
  load_into(solver);
  CbcModel model(solver);
  model.setLogLevel(0);
  model.setRandomSeed(1);
  model.setAllowableFractionGap(relative_gap);
  model.setMaximumNodes(most_nodes);
  model.initialSolve();
  if (!model.solver()->isProvenOptimal()) return {};
  if (const std::vector<double> start = rounded(*model.solver()); !start.empty()) {
    double cost = 0;
    for (std::size_t c = 0; c < columns_.size(); ++c) cost += columns_[c].cost * start[c];
    model.setBestSolution(start.data(), static_cast<int>(start.size()), cost, true);
  }
  model.branchAndBound();
  if (!model.bestSolution()) return {};

  const double cost = model.getObjValue();
  double bound = model.getBestPossibleObjValue();
  if (model.isProvenOptimal())  // to the gap; CBC leaves the bound of an earlier node then
    bound = std::max(bound, cost - relative_gap * std::abs(cost));
  Solution solution{
      {model.bestSolution(), model.bestSolution() + columns_.size()}, cost, bound, model.getNodeCount()};
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (columns_[c].whole) solution.values[c] = std::round(solution.values[c]);
  return solution;
}

}  // namespace weir
