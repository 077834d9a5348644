#include "devices/hetero_pim/pair_banks.h"

#include <algorithm>

namespace weir {
namespace {

constexpr int weight_of(BankPlace place) {
  return place == BankPlace::corner ? 16 : place == BankPlace::edge ? 14 : 13;
}

}  // namespace

BankPlace BankGrid::place(int bank) const {
  const int row = bank / columns, column = bank % columns;
  const int borders = (row == 0 || row == rows - 1 ? 1 : 0) + (column == 0 || column == columns - 1 ? 1 : 0);
  return borders == 2 ? BankPlace::corner : borders == 1 ? BankPlace::edge : BankPlace::central;
}

std::vector<int> pairs_by_bank(int pairs, const BankGrid& grid) {
  int weights = 0;
  for (int bank = 0; bank < grid.banks(); ++bank) weights += weight_of(grid.place(bank));
  std::vector<int> placed;
  int left = pairs;
  for (int bank = 0; bank < grid.banks(); ++bank) {
    placed.push_back(static_cast<int>(static_cast<long>(pairs) * weight_of(grid.place(bank)) / weights));
    left -= placed.back();
  }
  for (const BankPlace place : {BankPlace::corner, BankPlace::edge, BankPlace::central})
    for (int bank = 0; bank < grid.banks() && left > 0; ++bank)
      if (grid.place(bank) == place) {
        ++placed[static_cast<std::size_t>(bank)];
        --left;
      }
  return placed;
}

}  // namespace weir
