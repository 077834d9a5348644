#pragma once
// A mixed-integer linear program, minimised by CBC (COIN-OR branch and cut). ilp.cpp states one and asks;
// nobody else includes CBC. One thread, a fixed seed and no limit by the clock: it ends by the gap or by the
// number of nodes, so that the answer is the same on every machine and under every load.
//
// CBC's tolerances are absolute (1e-7 of a row, 1e-5 by which a solution must beat the last one): costs and
// coefficients are wanted in units that make sums of 1 to 1e5, never in seconds or bytes.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

class OsiSolverInterface;

namespace weir {

class IntegerProgram {
 public:
  struct Term {
    int column;
    double coefficient;
  };
  struct Solution {
    std::vector<double> values;  // of the columns; whole ones are rounded
    double cost, bound;          // of this one; of any
    std::int64_t nodes;
  };
  static constexpr double unbounded = 1e30;  // either way; COIN takes 1e30 and more so

  // Returns the column's number; they count from 0.
  int add_real(double cost, double low, double high) { return add({cost, low, high}); }
  // The solver starts from the relaxed solution with fractions rounded: down, or up, whichever leaves every
  // row satisfied for some values of the real columns; where neither does, it has to find a start by itself.
  enum class Rounded { down, up };
  int add_whole(double cost, double low, double high, Rounded rounded = Rounded::down) {
    return add({cost, low, high, true, rounded});
  }
  void add_row(std::span<const Term> terms, double low, double high);  // low <= their sum <= high

  // Nothing where there is no solution, or none was found within so many nodes.
  std::optional<Solution> minimised(double relative_gap, int most_nodes) const;

 private:
  struct Column {
    double cost, low, high;
    bool whole = false;
    Rounded rounded = Rounded::down;
  };
  int add(const Column& column);
  void load_into(OsiSolverInterface& solver) const;
  std::vector<double> rounded(const OsiSolverInterface& relaxed) const;  // empty where rows are not satisfied

  std::vector<Column> columns_;
  std::vector<int> row_starts_{0}, term_columns_;
  std::vector<double> term_coefficients_, row_low_, row_high_;
};

}  // namespace weir
