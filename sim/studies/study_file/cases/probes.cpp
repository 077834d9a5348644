// Numbers of the catalogs and of operator graphs.
#include "sim/studies/study_file/cases/probes.h"

#include <algorithm>
#include <boost/range/iterator_range.hpp>
#include <limits>

#include "devices/device.h"
#include "models/llm/operator_graph.h"
#include "sim/core/catalog.h"

namespace weir::study {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// Keys beside `kind` are the device's own, as in a scenario.
std::vector<double> device_numbers(const Json& parameters, Reading& reading) {
  Json own = parameters;
  const Json kind = own.contains("kind") ? own["kind"] : Json();
  own.erase("kind");
  if (!kind.is_string()) {
    reading.problem("/kind", "expected the name of a device");
    return {unknown, unknown};
  }
  Params params(reading, own);
  const std::shared_ptr<const Device> device = make_device(kind, params);
  params.close();
  if (!device) return {unknown, unknown};
  const DeviceSpec& spec = device->spec();
  return {spec.notes.die_mm2.value_or(unknown),
          spec.cache() ? 1e-6 * spec.cache()->capacity.value() : unknown};
}

std::int64_t count_of(Params& params, const char* key, const char* help) {
  return params.integer({key, help}, {1, 1'000'000});
}

// A device reads so much of half a layer for one step that decodes: weights, and K and V of all requests.
std::vector<double> layer_numbers(const Json& parameters, Reading& reading) {
  Params params(reading, parameters);
  const std::string name = params.text({"model", "Name in the catalog."});
  const std::string type = params.text({"type", "Data type of weights, activations, and K and V."});
  const auto tensor = count_of(params, "tensor", "Devices of the tensor parallel group.");
  const auto requests = count_of(params, "requests", "Requests that a step decodes.");
  const auto context = count_of(params, "context", "Tokens that each has.");
  const bool attention =
      params.choice({"half", "Attention, or the MLP behind it."}, {"attention", "MLP"}, {}) == "attention";
  params.close();
  const auto data = data_type_named(type);
  if (!data) reading.problem("/type", no_such("data type", type, {data_type_names()}));
  const Architecture model = find_architecture(name, reading, "/model");
  if (reading.failed()) return {unknown};
  const StageGraph stage = build_stage(model, {*data, *data, *data, *data},
                                       {.tensor = static_cast<int>(tensor), .pad_heads = true}, 0);
  const OperatorGraph& block = part_named(stage, "block").operators;
  BatchShape batch;
  batch.decodes = batch.sequences = requests;
  batch.decode_context_max = context;
  batch.decode_context_sum = requests * context;
  double megabytes = 0;
  bool in_attention = true;
  for (const auto v : boost::make_iterator_range(boost::vertices(block))) {
    if (in_attention == attention) megabytes += 1e-6 * stored_bytes(lowered(block[v], batch)).value();
    if (block[v].name == "o_proj") in_attention = false;
  }
  return {megabytes};
}

}  // namespace

const std::vector<Probe>& probes() {
  static const std::vector<Probe> table = {
      {"device",
       "a device of the catalog with these keys: its die, and the cache that prefetches fill",
       {"die_mm2", "cache_mb"},
       device_numbers},
      {"layer_reads",
       "what a device reads for half a layer of a step that decodes",
       {"megabytes"},
       layer_numbers},
  };
  return table;
}

}  // namespace weir::study
