#include "devices/catalog_rows.h"

#include <algorithm>
#include <array>

#include "devices/gpu.h"
#include "devices/profiled.h"
#include "models/memory/memory_row.h"

namespace weir {

extern const EmbeddedFiles device_catalog;

namespace {

const DeviceClass* const classes[] = {&gpu_class, &npu_class, &l2_npu_class, &dimm_class};

// A row without a class is a GPU's.
bool is_of(const DeviceClass& wanted, const Json& row) {
  return row.value("class", gpu_class.name) == wanted.name;
}

const DeviceClass& class_of(const Json& row) {
  return **std::find_if(std::begin(classes), std::end(classes), [&](auto* one) { return is_of(*one, row); });
}

// The keys of a row that hold a row of another catalog.
struct OtherRow {
  Key key;
  const RowFamily& (*family)();
  Json (*schema)();
  std::vector<const DeviceClass*> of;
};
const std::vector<OtherRow>& other_row_keys() {
  static const std::vector<OtherRow> all = {
      {{"memory",
        "Of an NPU or of host memory: a name of `weir list memories`, the path of such a file, or keys over "
        "the device's own (or a base). What an NPU streams follows from it, and what its PIM takes unless "
        "assumptions: paper fix that."},
       memory_rows,
       memory_row_schema,
       {&npu_class, &dimm_class}},
      {{"kernels",
        "Of a GPU: how well kernels use it, a name (hopper), the path of a file like devices/kernels/*.json, "
        "or keys over a base."},
       kernel_rows,
       kernel_row_schema,
       {&gpu_class}},
      {{"pim_memory", "Of a GPU with HBM-PIM: the memory whose bank model says what PIM and reads reach."},
       memory_rows,
       memory_row_schema,
       {&gpu_class}},
  };
  return all;
}

// The rows that the entry gives, as names or whole; none where one of them is wrong.
std::optional<Json> other_rows(const Json& row, bool any, Params& params) {
  std::optional<Json> given = Json::object();
  for (const OtherRow& other : other_row_keys()) {
    const std::string key = other.key.name;
    const bool has = row.contains(key);
    if (!any && (!has || std::find(other.of.begin(), other.of.end(), &class_of(row)) == other.of.end()))
      continue;
    const Json* value = params.value(other.key, params.describing() ? other.schema() : Json(), Json(nullptr));
    if (!value || value->is_null()) {  // optional, without a default to resolve
      Json& resolved = params.reading().resolved[Json::json_pointer(params.pointer())];
      if (resolved.is_object()) resolved.erase(key);
      continue;
    }
    if (!row.is_object()) continue;  // of an unknown kind
    const CatalogRow found = find_row(other.family(), *value, params.reading(), params.pointer() + "/" + key,
                                      has ? row[key] : Json(nullptr));
    if (found.row.is_null())
      given.reset();
    else if (given)
      (*given)[key] = value->is_string() && !is_path(*value) ? *value : found.row;
  }
  return given;
}

// Sets what follows from the keys that were given.
void follow(Json& row, const std::function<bool(const char*)>& given) {
  if (!is_of(npu_class, row) || !given("memory") || given("memory_efficiency")) return;
  row["memory_efficiency"] = stream_efficiency(memory_of(row["memory"]));
}

std::function<FlopsPerSecond(DataType)> peaks(const std::map<std::string, double>& values) {
  std::array<FlopsPerSecond, 6> by_type{};  // as DataType counts
  for (const DataType type : {DataType::fp32, DataType::bf16, DataType::fp16, DataType::fp8, DataType::int8})
    if (const auto it = values.find(to_string(type) + "_tflops"); it != values.end())
      by_type[static_cast<std::size_t>(type)] = FlopsPerSecond(it->second * 1e12);
  return [by_type](DataType type) { return by_type[static_cast<std::size_t>(type)]; };
}

// A named set of constants, in the place of the row's own.
void assume(Json& row, const std::string& assumptions) {
  const Json sets = row.value("assumptions", Json::object());
  row["assumed"] = sets.contains(assumptions);
  if (const auto set = sets.find(assumptions); set != sets.end())
    for (const auto& [key, value] : set->items())
      if (key != "sources") row[key] = value;
  row.erase("assumptions");
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

bool known_class(Reading& reading, const Json& row) {
  std::vector<std::string> known;
  for (const DeviceClass* one : classes) known.emplace_back(one->name);
  const Json name = row.value("class", Json(gpu_class.name));
  if (std::find(known.begin(), known.end(), name) != known.end()) return true;
  reading.problem("/class", name.is_string() ? no_such("class", name.get<std::string>(), known)
                                             : "expected a class of devices");
  return false;
}

bool known_sets(Reading& reading, const Json& row) {
  const Json sets = row.value("assumptions", Json::object());
  if (sets.is_object() && std::all_of(sets.begin(), sets.end(), [](auto& set) { return set.is_object(); }))
    return true;
  reading.problem("/assumptions", "expected an object of objects, each a set's numbers");
  return false;
}

// A row of a user's file: the rows that it names, and then its own numbers under the scenario's assumptions.
void check_row(Reading& reading, Json& row, const Json& given, const std::string& name,
               const std::string& assumptions) {
  if (!known_class(reading, row) || !known_sets(reading, row)) return;
  for (const OtherRow& other : other_row_keys())
    if (const auto at = row.find(other.key.name); at != row.end()) {
      const CatalogRow found = find_row(other.family(), *at, reading, std::string("/") + other.key.name);
      if (!at->is_string() || is_path(*at)) *at = found.row;
    }
  if (reading.failed()) return;
  follow(row, [&](const char* key) { return given.contains(key); });
  gather(reading, "", [&] {
    Json assumed = row;
    assume(assumed, assumptions);
    class_of(row).read(name, assumed);
  });
}

RowFamily device_rows(const std::string& assumptions) {
  return {"device", device_catalog,
          [assumptions](Reading& reading, Json& row, const Json& given, const std::string& name) {
            check_row(reading, row, given, name, assumptions);
          }};
}

}  // namespace

Json device_kind_schema() {
  return name_or_path_schema(device_rows("physical"));
}

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
      {{"memory_capacity_gib", "Device memory as the driver reports it; more of it holds more KV cache."}},
      {{"memory_bandwidth_gb_per_s", "Of the device memory; decode steps follow it."}},
      {{"fp32_tflops", "Dense peak in 32-bit floating point."}, positive, true},
      {{"bf16_tflops", "Dense tensor-core peak in bfloat16; prefill follows it."}, positive, true},
      {{"fp16_tflops", "Dense tensor-core peak in 16-bit floating point."}, positive, true},
      {{"fp8_tflops", "Dense tensor-core peak in 8-bit floating point."}, positive, true},
      {{"int8_tflops", "Dense tensor-core peak in 8-bit integers."}, positive, true},
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

void override_numbers(Json& row, const CatalogNumbers& numbers, Params& params) {
  for (const CatalogNumber& n : numbers)
    give(row, n.key.name, params.number_if_given(n.key, n.range), params);
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
    if (!n.optional || row.has(n.key.name)) values[n.key.name] = row.number(n.key, n.range);
  return values;
}

DeviceSpec common_spec(const std::string& kind, Params& row) {
  const std::map<std::string, double> value = read_numbers(row, common_numbers());
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  DeviceSpec spec;
  spec.kind = kind;
  spec.title = row.text({"title", ""}, kind);
  spec.host_bandwidth = BytesPerSecond(si("host_bandwidth_gb_per_s"));
  spec.power = {.idle = Watts(si("idle_w")),
                .tdp = Watts(si("tdp_w")),
                .per_flop = JoulesPerFlop(si("compute_pj_per_flop")),
                .per_byte = JoulesPerByte(si("memory_pj_per_byte")),
                .per_link_byte = JoulesPerByte(si("link_pj_per_byte"))};
  spec.dollars_per_hour = value.at("price_per_hour");
  spec.assumed = row.flag({"assumed", ""}, false);
  return spec;
}

void read_memory_and_peaks(DeviceSpec& spec, Params& row) {
  const std::map<std::string, double> value = read_numbers(row, memory_and_peak_numbers());
  const auto si = [&](const char* key) { return Params::unit(key) * value.at(key); };
  spec.memory = Bytes(si("memory_capacity_gib"));
  spec.memory_bandwidth = BytesPerSecond(si("memory_bandwidth_gb_per_s"));
  spec.peak = peaks(value);
}

void close_row(Params& row) {
  row.value({"class", ""}, {}, Json(gpu_class.name));
  row.value({"sources", ""}, {}, Json::object());
  row.close();
}

std::vector<std::string> DeviceSpec::unit_names() const {
  std::vector<std::string> names;
  for (const DeviceUnit& unit : units) names.push_back(unit.name);
  return names;
}

std::vector<std::string> device_names() {
  return names_of(device_catalog);
}

std::string device_summary(const std::string& name) {
  return embedded_json(*text_of(device_catalog, name), name).value("title", "");
}

// A description, and an unknown kind, take the keys of every class.
std::shared_ptr<const Device> make_device(const std::string& kind, Params& params,
                                          const std::string& assumptions) {
  Reading& reading = params.reading();
  CatalogRow found = find_row(device_rows(assumptions), kind, reading, params.pointer() + "/kind");
  Json& row = found.row;
  const bool any = params.describing() || !row.is_object();
  const std::optional<Json> other = other_rows(row, any, params);
  if (row.is_object() && other) {
    row.update(*other);
    follow(row, [&](const char* key) { return params.has(key); });
    assume(row, assumptions);
    row.update(*other);  // which a set of assumptions does not change
  }
  for (const DeviceClass* one : classes)
    if (any || is_of(*one, row)) one->override(row, params);
  override_numbers(row, common_numbers(), params);
  std::optional<std::string> folder;
  if (any || is_of(gpu_class, row))
    folder = params.text_or_null(
        {"profile",
         "Of a GPU: folder of measured kernel times (dense.csv, per_sequence.csv, attention.csv) "
         "to use instead."});
  if (!row.is_object() || params.describing() || !other) return nullptr;
  if (row["idle_w"].get<double>() > row["tdp_w"].get<double>()) {
    params.fail("idle_w", "more than tdp_w");
    return nullptr;
  }
  std::shared_ptr<const Device> device;
  gather(reading, params.pointer(), [&] { device = class_of(row).read(found.name, row); });
  if (!device) return nullptr;
  if (folder) return make_profiled(std::move(device), reading.relative(*folder), params);
  if (!device->spec().foreign_kernels.empty()) params.note("kind", device->spec().foreign_kernels);
  return device;
}

}  // namespace weir
