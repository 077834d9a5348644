#include "models/neurons/neurons.h"

namespace weir {

Bytes bytes_per_neuron(const Neurons& n) {
  return Bytes(static_cast<double>(n.width * (n.before + n.behind)) * bytes_per_element(n.weights));
}

std::vector<PlainKernel> plain_kernels(const Neurons& neurons, const KernelWork& work) {
  std::vector<PlainKernel> products;
  if (work.side.empty()) return products;
  const SideLoad& active = work.side[0];
  const auto width = static_cast<double>(neurons.width);
  const auto add = [&](double in, double out) {
    const PlainKernel product{.rows = work.rows,
                              .in = in,
                              .out = out,
                              .weights = neurons.weights,
                              .activations = neurons.activations,
                              .outputs = neurons.outputs};
    if (product.is_product()) products.push_back(product);
  };
  add(width, static_cast<double>(neurons.before) * active.read);
  add(active.computed, static_cast<double>(neurons.behind) * width);
  return products;
}

}  // namespace weir
