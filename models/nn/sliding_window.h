#pragma once
// The window that a convolution or a pool slides over a feature map. Sizes are in elements; channels are not
// its business. Pure arithmetic.
#include <cstdint>

namespace weir {

enum class Padding {
  same,  // zeros around the map: with a stride of 1 it keeps its size
  valid  // none: the window stays inside
};

struct SlidingWindow {
  std::int64_t height = 1, width = 1;
  std::int64_t stride = 1;  // in both directions
  Padding padding = Padding::same;

  std::int64_t elements() const { return height * width; }
  bool operator==(const SlidingWindow&) const = default;
};

// The positions of a window along one side of a map, as TensorFlow counts them (tf.nn.convolution):
// ceil(input / stride) when padded, else ceil((input - window + 1) / stride). Throws std::invalid_argument
// where a number is not positive or an unpadded window is larger than the input.
std::int64_t output_extent(std::int64_t input, std::int64_t window, std::int64_t stride, Padding padding);

}  // namespace weir
