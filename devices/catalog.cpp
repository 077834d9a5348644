#include "devices/catalog_rows.h"

#include <algorithm>

#include "devices/gpu.h"
#include "devices/profiled.h"
#include "models/memory/memory_row.h"

namespace weir {

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

// A named set of constants, in the place of the row's own.
void assume(Json& row, const std::string& assumptions) {
  const Json sets = row.value("assumptions", Json::object());
  row["assumed"] = sets.contains(assumptions);
  if (const auto set = sets.find(assumptions); set != sets.end())
    for (const auto& [key, value] : set->items())
      if (key != "sources") row[key] = value;
  row.erase("assumptions");
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

std::vector<Resource> DeviceSpec::resources(BytesPerSecond interconnect_bandwidth) const {
  std::vector<Resource> all = {{"memory", own().reached()}, {"link", interconnect_bandwidth}};
  all.insert(all.end(), more_resources.begin(), more_resources.end());
  return all;
}

const Memory* DeviceSpec::cache() const {
  const auto found = std::ranges::find_if(memories, &Memory::is_cache);
  return found == memories.end() ? nullptr : &*found;
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
  const std::string& foreign = device->spec().notes.foreign_kernels;
  if (!foreign.empty()) params.note("kind", foreign);
  return device;
}

}  // namespace weir
