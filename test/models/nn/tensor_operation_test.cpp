// An operator in two: what multipliers and adders do, and the rest; and in kernels.
#include "models/nn/tensor_operation.h"

#include <catch2/catch.hpp>

#include "models/machine/kernel.h"
#include "test/devices/tensor_operations.h"

namespace weir::test {

TEST_CASE("tensor operation: the two parts of a split have the arithmetic and the patches of the whole") {
  Dice dice(51);
  for (int i = 0; i < 500; ++i) {
    const TensorOperation whole = random_tensor_operation(dice);
    const auto [middle, rest] = split(whole);
    Arithmetic both = middle.work;
    both += rest.work;
    CHECK(both == whole.work);
    CHECK((middle.work.other == 0 && rest.work.multiplications == 0 && rest.work.additions == 0));
    CHECK(middle.patches == TensorOperation::Patches{});
    CHECK(rest.patches == whole.patches);
    CHECK((middle.product == whole.product && !rest.is_product()));
    CHECK((middle.read == whole.read && middle.written == whole.written));
    CHECK(rest.read == Bytes(4 * whole.patches.elements));
    CHECK(rest.written == rest.read);
    CHECK(middle.window == whole.window);
    if (middle.work.total() > 0) CHECK(kind_of(middle) == multiply_add_kind);
    CHECK(kind_of(rest) == tensor_operation_kind);
  }
}

TEST_CASE("tensor operation: it only multiplies and adds where nothing is left of it") {
  TensorOperation operation{.work = {2, 1, 0}};
  CHECK(only_multiplies_and_adds(operation));
  CHECK(only_multiplies_and_adds(split(operation).middle));
  operation.work.other = 1;
  CHECK_FALSE(only_multiplies_and_adds(operation));
  operation.work.other = 0;
  operation.patches.elements = 1;
  CHECK_FALSE(only_multiplies_and_adds(operation));
  CHECK_FALSE(only_multiplies_and_adds({}));  // it does nothing at all
}

TEST_CASE("tensor operation: shares of a batch sum to the whole, and keep what an image has") {
  Dice dice(52);
  for (int i = 0; i < 200; ++i) {
    const TensorOperation whole = random_tensor_operation(dice);
    const double images = static_cast<double>(dice(1, 128));
    const TensorOperation image = (1 / images) * whole;
    CHECK(images * image.work.total() == Approx(whole.work.total()));
    CHECK(images * image.read.value() == Approx(whole.read.value()));
    CHECK(images * image.written.value() == Approx(whole.written.value()));
    CHECK(images * image.patches.elements == Approx(whole.patches.elements));
    CHECK(images * image.product.rows == Approx(whole.product.rows));
    CHECK((image.product.in == whole.product.in && image.product.out == whole.product.out));
    CHECK((image.window == whole.window && image.patches.channels == whole.patches.channels));
    CHECK((1. * whole) == whole);
  }
}

}  // namespace weir::test
