// The numbers that rows of devices have in common, and how a scenario's take their place.
#include <algorithm>
#include <array>
#include <cmath>

#include "devices/catalog_rows.h"
#include "models/memory/memory_row.h"

namespace weir {

namespace {

std::function<FlopsPerSecond(DataType)> peaks(const std::map<std::string, double>& values) {
  static constexpr std::array<std::pair<DataType, const char*>, 8> keys = {{
      {DataType::fp32, "fp32_tflops"},
      {DataType::bf16, "bf16_tflops"},
      {DataType::fp16, "fp16_tflops"},
      {DataType::fp8, "fp8_tflops"},
      {DataType::fp8_block, "fp8_tflops"},
      {DataType::int8, "int8_tflops"},
      {DataType::fp4, "fp4_tflops"},
      {DataType::mxfp4, "fp4_tflops"},
  }};
  std::array<FlopsPerSecond, data_types> by_type{};  // as DataType counts
  for (const auto& [type, key] : keys)
    if (const auto it = values.find(key); it != values.end())
      by_type[static_cast<std::size_t>(type)] = FlopsPerSecond(it->second * 1e12);
  return [by_type](DataType type) { return by_type[static_cast<std::size_t>(type)]; };
}

double largest_of_catalog(const char* key) {
  double largest = 0;
  for (const std::string& kind : device_names()) {
    const Json& row = embedded_json(*text_of(device_catalog, kind), kind);
    if (const auto number = row.find(key); number != row.end() && number->is_number())
      largest = std::max(largest, number->get<double>());
  }
  return largest;
}

// Puts the scenario's number in the place of the row's.
template <class Number>
void give(Json& row, const char* key, std::optional<Number> given, Params& params) {
  if (!given || !row.is_object()) return;
  row[key] = *given;
  params.note_if_beyond(key, static_cast<double>(*given), largest_of_catalog(key));
}

}  // namespace

const CatalogNumbers& common_numbers() {
  static const CatalogNumbers all = {
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

const CatalogNumbers& memory_and_peak_numbers() {
  static const CatalogNumbers all = {
      {{"memory_capacity_gib", "Device memory as nvidia-smi reports it; more of it holds more KV cache."}},
      {{"usable_memory_gib",
        "What of it programs see, as CUDA reports it: an engine divides this. By default, and beside a "
        "memory_capacity_gib that is given alone, all of it."},
       positive,
       true},
      {{"memory_bandwidth_gb_per_s", "Of the device memory; decode steps follow it."}},
      {{"fp32_tflops", "Dense peak in 32-bit floating point."}, positive, true},
      {{"bf16_tflops", "Dense tensor-core peak in bfloat16; prefill follows it."}, positive, true},
      {{"fp16_tflops", "Dense tensor-core peak in 16-bit floating point."}, positive, true},
      {{"fp8_tflops", "Dense tensor-core peak in 8-bit floating point."}, positive, true},
      {{"int8_tflops", "Dense tensor-core peak in 8-bit integers."}, positive, true},
      {{"fp4_tflops", "Dense tensor-core peak in 4-bit floating point (NVFP4, MXFP4)."}, positive, true},
  };
  return all;
}

const CatalogNumbers& cache_numbers() {
  static const CatalogNumbers all = {
      {{"l2_mb",
        "Second-level cache of a GPU or an L2 NPU, in 10^6 bytes; more of it holds more of what is "
        "prefetched."},
       not_negative},
      {{"l2_bandwidth_gb_per_s", "Reads that hit the second-level cache. A GPU without it cannot prefetch."},
       positive,
       true},
  };
  return all;
}

static void check_whole(const CatalogNumber& number, double value, Params& params) {
  if (number.whole && value != std::floor(value))
    params.fail(number.key.name, fmt::format("expected a whole number, got {}", value));
}

void override_numbers(Json& row, const CatalogNumbers& numbers, Params& params) {
  for (const CatalogNumber& n : numbers) {
    const std::optional<double> given = params.number_if_given(n.key, n.range);
    if (given) check_whole(n, *given, params);
    give(row, n.key.name, given, params);
  }
}

void override_counts(Json& row, std::span<const CatalogCount> counts, Params& params) {
  for (const CatalogCount& count : counts)
    give(row, count.key.name, params.integer_or_null(count.key, {1, count.most}), params);
}

void override_choices(Json& row, std::span<const CatalogChoice> choices, Params& params) {
  for (const auto& [key, known] : choices) {
    Json allowed = Json::array({nullptr});
    for (const std::string& name : known) allowed.push_back(name);
    const Json* given = params.value(key, {{"enum", allowed}}, Json(nullptr));
    if (!given || given->is_null()) continue;
    if (std::find(allowed.begin(), allowed.end(), *given) == allowed.end())
      params.fail(key.name,
                  no_such(key.name, given->is_string() ? given->get<std::string>() : given->dump(), known));
    else if (row.is_object())
      row[key.name] = *given;
  }
}

std::map<std::string, std::int64_t> read_counts(Params& row, std::span<const CatalogCount> counts) {
  std::map<std::string, std::int64_t> values;
  for (const CatalogCount& c : counts) values[c.key.name] = row.integer(c.key, {1, c.most});
  return values;
}

std::map<std::string, std::string> read_choices(Params& row, std::span<const CatalogChoice> choices) {
  std::map<std::string, std::string> values;
  for (const CatalogChoice& c : choices) values[c.key.name] = row.choice(c.key, c.known);
  return values;
}

std::map<std::string, double> read_numbers(Params& row, const CatalogNumbers& numbers) {
  std::map<std::string, double> values;
  for (const CatalogNumber& n : numbers)
    if (!n.optional || row.has(n.key.name))
      check_whole(n, values[n.key.name] = row.number(n.key, n.range), row);
  return values;
}

DeviceSpec common_spec(const std::string& kind, Params& row) {
  const std::map<std::string, double> value = read_numbers(row, common_numbers());
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  DeviceSpec spec;
  spec.kind = spec.own().name = kind;
  spec.notes.title = row.text({"title", ""}, kind);
  spec.host_bandwidth = BytesPerSecond(si("host_bandwidth_gb_per_s"));
  spec.power = {.idle = Watts(si("idle_w")),
                .tdp = Watts(si("tdp_w")),
                .per_flop = JoulesPerFlop(si("compute_pj_per_flop")),
                .per_byte = JoulesPerByte(si("memory_pj_per_byte")),
                .per_link_byte = JoulesPerByte(si("link_pj_per_byte"))};
  spec.dollars_per_hour = value.at("price_per_hour");
  spec.notes.assumed = row.flag({"assumed", ""}, false);
  return spec;
}

void read_memory_and_peaks(DeviceSpec& spec, Params& row) {
  const std::map<std::string, double> value = read_numbers(row, memory_and_peak_numbers());
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  const auto usable = value.find("usable_memory_gib");
  const double gib = usable == value.end() ? value.at("memory_capacity_gib") : usable->second;
  if (gib > value.at("memory_capacity_gib")) row.fail("usable_memory_gib", "more than memory_capacity_gib");
  spec.own().capacity = Bytes(Params::unit("usable_memory_gib") * gib);
  spec.own().bandwidth = BytesPerSecond(si("memory_bandwidth_gb_per_s"));
  spec.peak = peaks(value);
}

void close_row(Params& row) {
  row.value({"class", ""}, {}, Json(usual_class));
  row.value({"sources", ""}, {}, Json::object());
  row.close();
}

}  // namespace weir
