#include "devices/catalog_rows.h"

#include <algorithm>

namespace weir {

// One class a folder; add yours here and in the table, nowhere else in C++.
const DeviceClass& gpu_class();
const DeviceClass& npu_class();
const DeviceClass& l2_npu_class();
const DeviceClass& dimm_class();
const DeviceClass& ndp_dimm_class();
const DeviceClass& host_neurons_class();
const DeviceClass& cpu_class();
const DeviceClass& hetero_pim_class();

namespace {

const std::vector<DeviceClass>& classes() {
  static const std::vector<DeviceClass> table = {
      gpu_class(),      npu_class(),          l2_npu_class(), dimm_class(),
      ndp_dimm_class(), host_neurons_class(), cpu_class(),    hetero_pim_class(),
  };
  return table;
}

bool is_of(const DeviceClass& wanted, const Json& row) {
  return row.value("class", usual_class) == wanted.name;
}

// All of them where the kind is unknown, so that none of its keys is.
std::vector<const DeviceClass*> classes_of(const Json& row) {
  std::vector<const DeviceClass*> found;
  for (const DeviceClass& one : classes())
    if (!row.is_object() || is_of(one, row)) found.push_back(&one);
  return found;
}

const DeviceClass& class_of(const Json& row) {
  return *classes_of(row).front();
}

void override_row(const DeviceClass& of, Json& row, Params& scenario) {
  const std::unique_ptr<DeviceRow> unread = of.row();
  RowKeys keys(row, scenario);
  unread->bind(keys);
  if (row.is_object() && !scenario.describing()) unread->overridden(row, scenario);
}

// Makes the device of a row whose overrides are filled in.
std::shared_ptr<const Device> read_row(const std::string& kind, const Json& json) {
  Reading reading("devices/catalog/" + kind + ".json");
  Params params(reading, json);
  RowKeys keys(params);
  const std::unique_ptr<DeviceRow> row = class_of(json).row();
  row->spec.kind = row->spec.own().name = kind;
  row->bind(keys);
  bind_every_device(keys, row->spec);
  params.value({"class", ""}, {}, Json(usual_class));
  params.value({"sources", ""}, {}, Json::object());
  params.close();  // what is left is unknown
  reading.finish();
  return row->make();
}

// The rows that the entry gives, as names or whole; none where one of them is wrong.
std::optional<Json> other_rows(const DeviceClass& of, const Json& row, Params& params) {
  std::optional<Json> given = Json::object();
  for (const OtherRow& other : of.other_rows) {
    const std::string key = other.key.name;
    const bool has = row.contains(key);
    if (row.is_object() && !params.describing() && !has) continue;
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
  if (given("memory_capacity_gib") && !given("usable_memory_gib")) row.erase("usable_memory_gib");
  if (class_of(row).follow) class_of(row).follow(row, given);
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
  for (const DeviceClass& one : classes()) known.emplace_back(one.name);
  const Json name = row.value("class", Json(usual_class));
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
  for (const OtherRow& other : class_of(row).other_rows)
    if (const auto at = row.find(other.key.name); at != row.end()) {
      const CatalogRow found = find_row(other.family(), *at, reading, std::string("/") + other.key.name);
      if (!at->is_string() || is_path(*at)) *at = found.row;
    }
  if (reading.failed()) return;
  follow(row, [&](const char* key) { return given.contains(key); });
  gather(reading, "", [&] {
    Json assumed = row;
    assume(assumed, assumptions);
    read_row(name, assumed);
  });
}

RowFamily device_rows(const std::string& assumptions) {
  return {"device", device_catalog,
          [assumptions](Reading& reading, Json& row, const Json& given, const std::string& name) {
            check_row(reading, row, given, name, assumptions);
          }};
}

}  // namespace

std::vector<DeviceAlternative> device_alternatives() {
  std::vector<DeviceAlternative> all;
  for (const DeviceClass& one : classes()) {
    Json names = Json::array();
    for (const std::string& name : device_names())
      if (is_of(one, embedded_json(*text_of(device_catalog, name), name))) names.push_back(name);
    all.push_back({names.front(), {{"enum", names}}});
  }
  all.push_back({"", path_schema()});
  return all;
}

std::vector<Resource> DeviceSpec::resources(BytesPerSecond interconnect_bandwidth) const {
  std::vector<Resource> all = {{"memory", own().reached(), ClusterLink::none},
                               {"link", interconnect_bandwidth, ClusterLink::none}};
  all.insert(all.end(), more_resources.begin(), more_resources.end());
  return all;
}

const Memory* DeviceSpec::cache() const {
  const auto found = std::ranges::find(memories, Memory::KeptFor::prefetches, &Memory::kept_for);
  return found == memories.end() ? nullptr : &*found;
}

std::vector<std::string> device_names() {
  return names_of(device_catalog);
}

std::string device_summary(const std::string& name) {
  return embedded_json(*text_of(device_catalog, name), name).value("title", "");
}

// An unknown kind, and a description of any file, take the keys of every class.
std::shared_ptr<const Device> make_device(const std::string& kind, Params& params,
                                          const std::string& assumptions) {
  Reading& reading = params.reading();
  CatalogRow found;
  if (!kind.empty()) found = find_row(device_rows(assumptions), kind, reading, params.pointer() + "/kind");
  Json& row = found.row;
  const std::vector<const DeviceClass*> of = classes_of(row);
  std::optional<Json> other;
  for (const DeviceClass* one : of) other = other_rows(*one, row, params);
  if (row.is_object() && other && !params.describing()) {
    row.update(*other);
    follow(row, [&](const char* key) { return params.has(key); });
    assume(row, assumptions);
    row.update(*other);  // which a set of assumptions does not change
  }
  for (const DeviceClass* one : of) override_row(*one, row, params);
  RowKeys keys(row, params);
  DeviceSpec unread;
  bind_every_device(keys, unread);
  const bool makes = row.is_object() && other && !params.describing();
  const double active = row.is_object() ? row.value("active_w", 0.0) : 0;
  const bool idles_below = !makes || row["idle_w"].get<double>() + active <= row["tdp_w"].get<double>();
  if (!idles_below) params.fail("idle_w", active > 0 ? "more than tdp_w, with active_w" : "more than tdp_w");
  std::shared_ptr<const Device> device;
  if (makes && idles_below) gather(reading, params.pointer(), [&] { device = read_row(found.name, row); });
  for (const DeviceClass* one : of)
    if (one->finish) device = one->finish(std::move(device), params);
  return device;
}

}  // namespace weir
