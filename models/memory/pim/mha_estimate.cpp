#include "models/memory/pim/mha_estimate.h"

#include <cmath>

namespace weir {

MhaEstimate estimate_mha(const MhaParameters& p, std::int64_t length, Division division) {
  const auto divide = [division](std::int64_t a, std::int64_t b) {
    const double quotient = static_cast<double>(a) / static_cast<double>(b);
    return division == Division::ceilings ? std::ceil(quotient) : quotient;
  };
  const double pages = divide(p.embedding, p.page);
  const double logit = p.gwrite * pages + p.tile * divide(length, p.banks) * pages;
  const double head_pages = divide(length, p.page) * static_cast<double>(p.heads);
  const double head_dim = static_cast<double>(p.embedding) / static_cast<double>(p.heads);
  double head_tiles = head_dim / static_cast<double>(p.banks);
  if (division == Division::ceilings) head_tiles = std::ceil(head_tiles);
  return {logit, p.gwrite * head_pages + p.tile * head_tiles * head_pages};
}

}  // namespace weir
