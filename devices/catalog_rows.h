#pragma once
// The rows of devices/catalog: what each class of devices reads its own into, and the keys that several have.
// Called by make_device (catalog.cpp) alone, whose table a new class is added to.
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/row_keys.h"
#include "sim/core/catalog_row.h"
#include "sim/core/embedded.h"

namespace weir {

struct MemorySpec;

extern const EmbeddedFiles device_catalog;  // devices/catalog/*.json

// Of rows of several classes of devices.
inline constexpr Key memory_bandwidth_key{"memory_bandwidth_gb_per_s",
                                          "Of the device memory; decode steps follow it."};
inline constexpr Key reported_capacity_key{
    "memory_capacity_gib", "Device memory as the driver reports it; more of it holds more KV cache."};
inline constexpr Key memory_efficiency_key{"memory_efficiency",
                                           "Share of the memory's peak that a stream of reads reaches."};
inline constexpr Range<double> efficiency_range{0.01, 1};

void bind_every_device(RowKeys& keys, DeviceSpec& spec);  // host link, power, price
// Devices whose arithmetic is peaks by type and whose memory is a capacity and a bandwidth have these.
void bind_memory_and_peaks(RowKeys& keys, DeviceSpec& spec);
// Devices with an L2 have these; where its bandwidth is not known they cannot prefetch.
void bind_cache(RowKeys& keys, double& megabytes, std::optional<BytesPerSecond>& bandwidth);

// As classes without a DeviceRow read theirs.
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

// "memory", of devices that are one of the catalog's memories, and what it names.
OtherRow memory_key();
void bind_memory(RowKeys& keys, MemorySpec& memory);

// What a row of one class is read into.
struct DeviceRow {
  virtual ~DeviceRow() = default;
  // All keys of the row but those of every device, which `spec` has before make().
  virtual void bind(RowKeys& keys) = 0;
  // After the numbers of a scenario took the place of the row's.
  virtual void overridden(Json& /*row*/, Params& /*scenario*/) {}
  virtual std::shared_ptr<const Device> make() = 0;  // of a row without a problem

  DeviceSpec spec;
};
template <class Row>
std::unique_ptr<DeviceRow> empty_row() {
  return std::make_unique<Row>();
}

// A class of devices. Keys that another class has too, it has by the functions above.
struct DeviceClass {
  const char* name;  // "class" of a row
  std::unique_ptr<DeviceRow> (*row)() = nullptr;
  // In its place.
  void (*override)(Json& row, Params& params) = nullptr;
  std::shared_ptr<const Device> (*read)(const std::string& kind, const Json& row) = nullptr;
  std::vector<OtherRow> other_rows = {};
  // Sets what follows in the row from the keys that a scenario gives.
  void (*follow)(Json& row, const std::function<bool(const char*)>& given) = nullptr;
  // Reads keys that no row has, after the device is made; null where there is none: while describing, and of
  // an unknown kind.
  std::shared_ptr<const Device> (*finish)(std::shared_ptr<const Device> device, Params& params) = nullptr;
};

inline constexpr const char* usual_class = "gpu";  // of a row that names none

}  // namespace weir
