#include "models/nn/sliding_window.h"

#include <fmt/format.h>

#include <stdexcept>

namespace weir {

std::int64_t output_extent(std::int64_t input, std::int64_t window, std::int64_t stride, Padding padding) {
  if (input <= 0 || window <= 0 || stride <= 0)
    throw std::invalid_argument(
        fmt::format("input {}, window {} and stride {} have to be positive", input, window, stride));
  if (padding == Padding::same) return (input - 1) / stride + 1;
  if (window > input)
    throw std::invalid_argument(
        fmt::format("a window of {} without padding is larger than its input of {}", window, input));
  return (input - window) / stride + 1;
}

}  // namespace weir
