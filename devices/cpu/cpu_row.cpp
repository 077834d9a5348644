// The row of devices/catalog of a host's CPU that runs training operators by itself (TensorFlow's kernels).
// Matrix products have a rate of arithmetic, everything else one of memory; a row may give types of operators
// rates of their own, where a paper's profile shows them.
#include <algorithm>
#include <map>

#include "devices/catalog_rows.h"
#include "devices/hetero_pim/only_trains.h"
#include "devices/kernel_shapes.h"
#include "models/nn/operator_type.h"

namespace weir {
namespace {

// By the name of an operator's type (Conv2DBackpropFilter).
using RatesByType = std::map<std::string, double, std::less<>>;

struct RatesKey {
  Key key;
  bool products;  // it is of matrix products, or of all else: of others it would have no effect
};

constexpr RatesKey product_rates{
    {"product_gflops_by_type", "Of a CPU: rates of single types of matrix products, by TensorFlow's names."},
    true};
constexpr RatesKey input_rates{
    {"input_gb_per_s_by_type",
     "Of a CPU: bytes of its inputs that a type of operator works off a second, by TensorFlow's names."},
    false};

std::vector<std::string> types_of(const RatesKey& rates) {
  std::vector<std::string> names;
  for (int t = 0; t < operator_types; ++t)
    if (const auto type = static_cast<OperatorType>(t); is_matrix_product(type) == rates.products)
      names.emplace_back(to_string(type));
  return names;
}

Json rates_schema() {
  return {{"type", "object"}, {"additionalProperties", {{"type", "number"}, {"exclusiveMinimum", 0}}}};
}

RatesByType read_rates(Params& row, const RatesKey& of) {
  const Key& key = of.key;
  const std::vector<std::string> known = types_of(of);
  RatesByType rates;
  const Json* given = row.value(key, rates_schema(), Json::object());
  if (!given) return rates;
  if (!given->is_object()) {
    row.fail(key.name, "expected an object of numbers by type of operator");
    return rates;
  }
  for (const auto& [type, rate] : given->items()) {
    const std::string wrong =
        std::ranges::find(known, type) == known.end()
            ? no_such(of.products ? "type of matrix product" : "type of other operator", type, known)
        : rate.is_number() ? missed(rate.get<double>(), positive)
                           : "expected a number, got " + rate.dump();
    if (!wrong.empty()) row.fail(std::string(key.name) + "/" + type, wrong);
    rates[type] = wrong.empty() ? 1e9 * rate.get<double>() : 1;
  }
  return rates;
}

void bind_rates(RowKeys& keys, const RatesKey& of, RatesByType& rates) {
  Params& params = keys.params();
  rates = read_rates(params, of);
  Json* row = keys.overridden();
  if (!row || !row->is_object() || !params.has(of.key.name)) return;  // a description has nothing to ask for
  (*row)[of.key.name] = Json::object();
  for (const auto& [type, rate] : rates) (*row)[of.key.name][type] = rate / 1e9;
}

class Cpu final : public Device {
 public:
  Cpu(DeviceSpec spec, FlopsPerSecond products, RatesByType of_products, RatesByType of_inputs)
      : spec_(std::move(spec)),
        products_(products),
        product_rates_(std::move(of_products)),
        input_rates_(std::move(of_inputs)) {}

  const DeviceSpec& spec() const override { return spec_; }

  KernelCost cost(const KernelWork& work, int) const override {
    const auto* operation = work.as<TensorOperation>();
    if (!operation) no_kernel(work, spec_);
    const Bytes moved = operation->read + operation->written;
    KernelCost cost;
    cost.flops = Flops(operation->work.total());
    cost.moved[own_memory] = moved;
    cost.traffic = moved / spec_.own().reached();
    const bool product = operation->is_product();
    cost.compute = cost.flops / (product ? product_rate(work.name) : spec_.peak(operation->type));
    if (const auto slow = input_rates_.find(work.name); !product && slow != input_rates_.end())
      cost.compute = std::max(cost.compute, operation->read / BytesPerSecond(slow->second));
    cost.time = std::max(cost.compute, cost.traffic);
    cost.energy = spec_.power.dynamic(cost.flops, moved, Bytes(0));
    return cost;
  }

  std::string cannot_run(std::span<const KernelWork> all) const override { return only_trains(spec_, all); }

 private:
  FlopsPerSecond product_rate(std::string_view type) const {
    const auto own = product_rates_.find(type);
    return own == product_rates_.end() ? products_ : FlopsPerSecond(own->second);
  }

  DeviceSpec spec_;
  FlopsPerSecond products_;
  RatesByType product_rates_, input_rates_;
};

struct CpuRow final : DeviceRow {
  void bind(RowKeys& keys) override {
    bind_memory_and_peaks(keys, spec);
    keys.quantity({"product_gflops", "Of a CPU: the rate of matrix products and convolutions."}, products);
    keys.quantity(
        {"stream_gb_per_s", "Of a CPU: what operators that only stream their tensors reach of its memory."},
        streamed);
    bind_rates(keys, product_rates, of_products);
    bind_rates(keys, input_rates, of_inputs);
  }

  std::shared_ptr<const Device> make() override {
    spec.own().sustained = streamed;
    spec.units = {{"cpu", {tensor_operation_kind, multiply_add_kind}}};
    return std::make_shared<Cpu>(std::move(spec), products, std::move(of_products), std::move(of_inputs));
  }

  FlopsPerSecond products;
  BytesPerSecond streamed;
  RatesByType of_products, of_inputs;
};

}  // namespace

const DeviceClass& cpu_class() {
  static const DeviceClass made = {.name = "cpu", .row = empty_row<CpuRow>};
  return made;
}

}  // namespace weir
