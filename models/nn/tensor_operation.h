#pragma once
// A whole operator of a training step, for its whole batch, as machines price it (models/nn makes them; rows
// of a KernelWork are 1). Pure values.
#include <cstdint>
#include <vector>

#include "models/machine/kernel.h"
#include "sim/core/units.h"

namespace weir {

// Operations on elements, each counted once; a multiply-add is one multiplication and one addition. `other`
// are comparisons, divisions, roots, exponentials, random numbers, and elements that are only moved.
struct Arithmetic {
  double multiplications = 0, additions = 0, other = 0;

  double total() const { return multiplications + additions + other; }
  Arithmetic& operator+=(const Arithmetic& more);
  friend Arithmetic operator*(double times, const Arithmetic& each);
  bool operator==(const Arithmetic&) const = default;
};

struct TensorOperation {
  // Rows x in by in x out, of a matrix product, and of the implicit one of a convolution and its gradients.
  struct Product {
    double rows = 0, in = 0, out = 0;  // all 0: it is none
    bool operator==(const Product&) const = default;
  };

  // The matrix of patches (im2col) that is gathered before its products, or scattered behind them, between a
  // map (channels innermost) and rows of it in order.
  struct Patches {
    double elements = 0;                             // of the matrix; 0: there is none
    std::int64_t height = 0, width = 0, stride = 0;  // of the window that slides over the map
    std::int64_t map_width = 0, channels = 0;        // of the map; 0: its shape is not known
    bool operator==(const Patches&) const = default;
  };

  Arithmetic work;
  Bytes read = {}, written = {};  // every tensor once
  std::int64_t window = 0;  // elements of a convolution's or pool's window, height x width; 0: it has none
  Patches patches = {};
  Product product = {};
  DataType type = DataType::fp32;

  bool is_product() const { return product.rows > 0; }
  // The operation for that share of its batch.
  friend TensorOperation operator*(double share, const TensorOperation& whole);
  bool operator==(const TensorOperation&) const = default;
};

// A machine that can only multiply and add does `middle`; the rest, and moving patches, is for another.
struct SplitOperation {
  TensorOperation middle, rest;
};
SplitOperation split(const TensorOperation& whole);
// `middle` is all of it.
bool only_multiplies_and_adds(const TensorOperation& operation);

inline constexpr KernelKind tensor_operation_kind = custom_kind("tensor operation");
inline constexpr KernelKind multiply_add_kind = custom_kind("multiply-add");  // it does nothing else
KernelKind kind_of(const TensorOperation& operation);
inline DataType calculates_in(const TensorOperation& operation) {
  return operation.type;
}
// An implicit product, or else every tensor moved beside the arithmetic.
std::vector<PlainKernel> plain_kernels(const TensorOperation& operation, const KernelWork& work);

}  // namespace weir
