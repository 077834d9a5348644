#include "models/nn/tensor_operation.h"

namespace weir {

Arithmetic& Arithmetic::operator+=(const Arithmetic& more) {
  multiplications += more.multiplications;
  additions += more.additions;
  other += more.other;
  return *this;
}

Arithmetic operator*(double times, const Arithmetic& each) {
  return {times * each.multiplications, times * each.additions, times * each.other};
}

TensorOperation operator*(double share, const TensorOperation& whole) {
  TensorOperation part = whole;
  part.work = share * whole.work;
  part.read = share * whole.read;
  part.written = share * whole.written;
  part.patches.elements *= share;
  part.product.rows *= share;
  return part;
}

// The tensors go with the products, whose operands they are. Of the rest only patches are bytes of their own:
// an element is read and written.
SplitOperation split(const TensorOperation& whole) {
  SplitOperation parts{whole, whole};
  parts.middle.work.other = 0;
  parts.middle.patches = {};
  parts.rest.work = {0, 0, whole.work.other};
  parts.rest.product = {};
  parts.rest.read = parts.rest.written = Bytes(whole.patches.elements * bytes_per_element(whole.type));
  return parts;
}

bool only_multiplies_and_adds(const TensorOperation& o) {
  return o.work.other == 0 && o.patches.elements == 0 && o.work.total() > 0;
}

KernelKind kind_of(const TensorOperation& operation) {
  return only_multiplies_and_adds(operation) ? multiply_add_kind : tensor_operation_kind;
}

std::vector<PlainKernel> plain_kernels(const TensorOperation& operation, const KernelWork&) {
  return {{.rows = operation.product.rows,
           .in = operation.product.in,
           .out = operation.product.out,
           .weights = operation.type,
           .activations = operation.type,
           .outputs = operation.type,
           .moved = operation.read + operation.written,
           .operations = Flops(operation.work.total())}};
}

}  // namespace weir
