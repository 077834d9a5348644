#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "devices/gpu.h"
#include "devices/profiled.h"
#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles device_catalog;

namespace {

// The numbers of a catalog file; a scenario may give any of them instead.
struct Number {
  Key key;
  Range<double> range = positive;
  bool optional = false;
};

const std::vector<Number>& numbers() {
  static const std::vector<Number> all = {
      {{"memory_capacity_gib", "Device memory as the driver reports it; more of it holds more KV cache."}},
      {{"memory_bandwidth_gb_per_s", "Of the device memory; decode steps follow it."}},
      {{"l2_mib", "Second-level cache."}},
      {{"streaming_multiprocessors", "SMs; attention's tiles are dealt out over them."}},
      {{"fp32_tflops", "Dense peak in 32-bit floating point."}, positive, true},
      {{"bf16_tflops", "Dense tensor-core peak in bfloat16; prefill follows it."}, positive, true},
      {{"fp16_tflops", "Dense tensor-core peak in 16-bit floating point."}, positive, true},
      {{"fp8_tflops", "Dense tensor-core peak in 8-bit floating point."}, positive, true},
      {{"int8_tflops", "Dense tensor-core peak in 8-bit integers."}, positive, true},
      {{"sustained_compute",
        "Share of the tensor-core rate of short benchmarks that a server sustains under its power limit."},
       {0.01, 1}},
      {{"host_bandwidth_gb_per_s", "PCIe to the host, per direction."}},
      {{"tdp_w", "Thermal design power."}},
      {{"idle_w", "Power of a device that does nothing."}, not_negative},
      {{"compute_pj_per_flop", "Energy of a 16-bit flop above idle."}, not_negative},
      {{"memory_pj_per_byte", "Energy of a byte of device memory moved."}, not_negative},
      {{"link_pj_per_byte", "Energy of a byte sent to another device."}, not_negative},
      {{"price_per_hour", "Dollars an hour of one device."}, not_negative},
  };
  return all;
}

Json catalog_file(const std::string& kind) {
  const std::optional<std::string> text = text_of(device_catalog, kind);
  return text ? parse_json(*text, "devices/catalog/" + kind + ".json") : Json();
}

std::function<FlopsPerSecond(DataType)> peaks(const std::map<std::string, double>& values) {
  std::array<FlopsPerSecond, 6> by_type{};  // as DataType counts
  for (const DataType type : {DataType::fp32, DataType::bf16, DataType::fp16, DataType::fp8, DataType::int8})
    if (const auto it = values.find(to_string(type) + "_tflops"); it != values.end())
      by_type[static_cast<std::size_t>(type)] = FlopsPerSecond(it->second * 1e12);
  return [by_type](DataType type) { return by_type[static_cast<std::size_t>(type)]; };
}

// From a catalog file, its overrides filled in.
std::shared_ptr<const Device> read_gpu(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params params(reading, json);
  std::map<std::string, double> value;
  for (const Number& n : numbers())
    if (!n.optional || params.has(n.key.name)) value[n.key.name] = params.number(n.key, n.range);
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  DeviceSpec spec;
  spec.kind = kind;
  spec.title = params.text({"title", ""});
  const std::string kernels = params.choice({"kernels", ""}, kernel_names());
  params.close_ignoring_rest();  // sources, for people; a test holds them
  reading.finish();
  spec.memory = Bytes(si("memory_capacity_gib"));
  spec.memory_bandwidth = BytesPerSecond(si("memory_bandwidth_gb_per_s"));
  spec.peak = peaks(value);
  spec.host_bandwidth = BytesPerSecond(si("host_bandwidth_gb_per_s"));
  spec.power = {.idle = Watts(si("idle_w")),
                .tdp = Watts(si("tdp_w")),
                .per_flop = JoulesPerFlop(si("compute_pj_per_flop")),
                .per_byte = JoulesPerByte(si("memory_pj_per_byte")),
                .per_link_byte = JoulesPerByte(si("link_pj_per_byte"))};
  spec.dollars_per_hour = value.at("price_per_hour");
  spec.units = {{"gpu"}, {"link"}};
  const GpuShape shape{value.at("streaming_multiprocessors"), Bytes(si("l2_mib")),
                       value.at("sustained_compute")};
  return make_gpu(std::move(spec), shape, find_kernels(kernels, shape));
}

}  // namespace

std::vector<std::string> DeviceSpec::unit_names() const {
  std::vector<std::string> names;
  for (const DeviceUnit& unit : units) names.push_back(unit.name);
  return names;
}

std::vector<std::string> device_names() {
  return names_of(device_catalog);
}

std::string device_summary(const std::string& name) {
  return catalog_file(name).value("title", "");
}

std::shared_ptr<const Device> make_device(const std::string& kind, Params& params, const std::string&) {
  Json json = catalog_file(kind);
  for (const Number& n : numbers())
    if (const auto given = params.number_if_given(n.key, n.range); given && json.is_object())
      json[n.key.name] = *given;
  const auto folder = params.text_or_null(
      {"profile",
       "Folder of measured kernel times (dense.csv, per_sequence.csv, attention.csv) to use instead."});
  if (!json.is_object()) {
    params.fail("kind", no_such("device", kind, device_names()));
    return nullptr;
  }
  if (json["idle_w"].get<double>() > json["tdp_w"].get<double>()) {
    params.fail("idle_w", "more than tdp_w");
    return nullptr;
  }
  auto device = read_gpu(kind, json);
  if (!folder || params.describing()) return device;
  return make_profiled(std::move(device), params.reading().relative(*folder), params);
}

}  // namespace weir
