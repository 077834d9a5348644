#pragma once
// The rows of devices/catalog: numbers that a scenario may give instead, and the readers of each class of
// device. Called by make_device (catalog.cpp) alone, whose table a new class is added to.
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/device.h"
#include "sim/core/catalog_row.h"
#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles device_catalog;  // devices/catalog/*.json

struct CatalogNumber {
  Key key;
  Range<double> range = positive;
  bool optional = false, whole = false;  // whole: no fraction
};
using CatalogNumbers = std::vector<CatalogNumber>;

const CatalogNumbers& common_numbers();  // of every device: host link, power, price
// Devices whose arithmetic is peaks by type and whose memory is a capacity and a bandwidth have these.
const CatalogNumbers& memory_and_peak_numbers();
// Devices with an L2 have these; where its bandwidth is not known they cannot prefetch.
const CatalogNumbers& cache_numbers();
// Puts what the scenario gives in the place of the row's; only declares them where the row is null.
void override_numbers(Json& row, const CatalogNumbers& numbers, Params& params);
// The same of whole numbers from 1 on, and of keys with known values; null leaves the row's.
struct CatalogCount {
  Key key;
  std::int64_t most;
};
struct CatalogChoice {
  Key key;
  std::vector<std::string> known;
};
void override_counts(Json& row, std::span<const CatalogCount> counts, Params& params);
void override_choices(Json& row, std::span<const CatalogChoice> choices, Params& params);
std::map<std::string, std::int64_t> read_counts(Params& row, std::span<const CatalogCount> counts);
std::map<std::string, std::string> read_choices(Params& row, std::span<const CatalogChoice> choices);
std::map<std::string, double> read_numbers(Params& row, const CatalogNumbers& numbers);
// The keys of common_numbers(), kind and title too.
DeviceSpec common_spec(const std::string& kind, Params& row);
void read_memory_and_peaks(DeviceSpec& spec, Params& row);
// After the last key was asked for: what is left is for people, or unknown.
void close_row(Params& row);

// A key of a row that holds a row of another catalog: a name, a path, or keys over the row's own.
struct OtherRow {
  Key key;
  const RowFamily& (*family)();
  Json (*schema)();  // of the key
};

// "memory", of devices that are one of the catalog's memories.
OtherRow memory_key();

// A class of devices, all of whose keys are its own: those that another class has too, it has by the lists
// above.
struct DeviceClass {
  const char* name;  // "class" of a row
  // As override_numbers, for all keys of the row.
  void (*override)(Json& row, Params& params);
  // Makes the device of a row whose overrides are filled in.
  std::shared_ptr<const Device> (*read)(const std::string& kind, const Json& row);
  std::vector<OtherRow> other_rows = {};
  // Sets what follows in the row from the keys that a scenario gives.
  void (*follow)(Json& row, const std::function<bool(const char*)>& given) = nullptr;
  // Reads keys that no row has, after the device is made; null where there is none: while describing, and of
  // an unknown kind.
  std::shared_ptr<const Device> (*finish)(std::shared_ptr<const Device> device, Params& params) = nullptr;
};

inline constexpr const char* usual_class = "gpu";  // of a row that names none

}  // namespace weir
