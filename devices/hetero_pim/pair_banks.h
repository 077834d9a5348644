#pragma once
// How the pairs of a multiplier and an adder on the logic die of a memory stack are dealt out to its banks
// (vertical slices, a grid of `rows` x `columns`): more where heat leaves sooner, in edges and corners (Liu
// et al., MICRO 2018, section IV-D). How many each bank has there is not published.
#include <vector>

namespace weir {

enum class BankPlace { central, edge, corner };

struct BankGrid {
  int rows = 4, columns = 8;

  int banks() const { return rows * columns; }
  BankPlace place(int bank) const;
};

// Pairs of each bank, row by row. ESTIMATE: central : edge : corner as 13 : 14 : 16, what is left over by
// rounding to corners first, then edges, then the centre. Their sum is `pairs` (>= 0).
std::vector<int> pairs_by_bank(int pairs, const BankGrid& grid);

}  // namespace weir
