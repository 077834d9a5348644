#pragma once
// The rows of devices/catalog: what each class of devices reads its own into, and the keys that several have.
// Called by make_device (catalog.cpp) alone, whose table a new class is added to.
#include <memory>
#include <string>
#include <vector>

#include "devices/device.h"
#include "devices/row_keys.h"
#include "sim/core/catalog_row.h"
#include "sim/core/embedded.h"

namespace weir {

struct MemorySpec;

extern const EmbeddedFiles device_catalog;  // devices/catalog/*.json

// Keys that rows of several classes of devices have.
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

// A key of a row that holds a row of another catalog: a name, a path, or keys over the row's own.
struct OtherRow {
  Key key;
  const RowFamily& (*family)();
  Json (*schema)();  // of the key
};

// "memory", of devices that are one of the catalog's memories, and what it names.
OtherRow memory_key();
void bind_memory(RowKeys& keys, MemorySpec& memory);

// A row of one class, as it is read.
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
  std::unique_ptr<DeviceRow> (*row)();
  std::vector<OtherRow> other_rows = {};
  // Sets what follows in the row from the keys that a scenario gives.
  void (*follow)(Json& row, const std::function<bool(const char*)>& given) = nullptr;
  // Reads keys that no row has, after the device is made; null where there is none: while describing, and of
  // an unknown kind.
  std::shared_ptr<const Device> (*finish)(std::shared_ptr<const Device> device, Params& params) = nullptr;
};

inline constexpr const char* usual_class = "gpu";  // of a row that names none

}  // namespace weir
