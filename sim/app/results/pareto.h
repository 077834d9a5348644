#pragma once
#include <cstddef>
#include <vector>

namespace weir {

// Which rows no other row dominates: none is at least as good in every objective and better in one. More is
// better (negate what should be small); a row with a NaN is dominated. In the rows' order; equal rows stay
// together.
std::vector<std::size_t> non_dominated(const std::vector<std::vector<double>>& rows);

}  // namespace weir
