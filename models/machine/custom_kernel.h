#pragma once
// A kernel that few machines have: the active neurons of a sparse layer, a whole operator of a training step.
// Machines that are made for it price its own type (KernelWork::as); all others run the plain kernels that it
// comes to. For a type K there are, in namespace weir:
//   KernelKind kind_of(const K&), of custom_kind()
//   DataType calculates_in(const K&)
//   std::vector<PlainKernel> plain_kernels(const K&, const KernelWork&)
// and operator==.
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "models/machine/data_type.h"
#include "sim/core/units.h"

namespace weir {

struct KernelWork;
enum class KernelKind : std::uint32_t;  // kernel.h

// Any machine can run this: a product of matrices, rows x in by in x out, or else elements that move.
struct PlainKernel {
  double rows = 0, in = 0, out = 0;  // all 0: no product
  StoredType weights = DataType::bf16;
  DataType activations = DataType::bf16, outputs = DataType::bf16;
  // A product moves its matrices, unless it is said what it does move: an implicit one (a convolution's).
  std::optional<Bytes> moved = {};
  Flops operations = {};  // on elements that move, where it is no product

  bool is_product() const { return rows > 0 && in > 0 && out > 0; }
};

class CustomKernel {
 public:
  template <class K>
  requires requires(const K& kernel, const KernelWork& work) { plain_kernels(kernel, work); }
  CustomKernel(K kernel) : held_(std::make_shared<Holder<K>>(std::move(kernel))) {}

  template <class K>
  const K* as() const {
    const auto* holder = dynamic_cast<const Holder<K>*>(held_.get());
    return holder ? &holder->kernel : nullptr;
  }
  KernelKind kind() const { return held_->kind(); }
  DataType type() const { return held_->type(); }
  // In their order. None where there is nothing to do.
  std::vector<PlainKernel> plain(const KernelWork& work) const { return held_->plain(work); }
  bool operator==(const CustomKernel& other) const { return held_->equals(*other.held_); }

 private:
  struct Held {
    virtual ~Held() = default;
    virtual KernelKind kind() const = 0;
    virtual DataType type() const = 0;
    virtual std::vector<PlainKernel> plain(const KernelWork& work) const = 0;
    virtual bool equals(const Held& other) const = 0;
  };
  template <class K>
  struct Holder : Held {
    explicit Holder(K value) : kernel(std::move(value)) {}
    KernelKind kind() const override { return kind_of(kernel); }
    DataType type() const override { return calculates_in(kernel); }
    std::vector<PlainKernel> plain(const KernelWork& work) const override {
      return plain_kernels(kernel, work);
    }
    bool equals(const Held& other) const override {
      const auto* same = dynamic_cast<const Holder*>(&other);
      return same && same->kernel == kernel;
    }
    K kernel;
  };

  std::shared_ptr<const Held> held_;
};

}  // namespace weir
