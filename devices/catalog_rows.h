#pragma once
// The rows of devices/catalog: numbers that a scenario may give instead, and the readers of each class of
// device. Called by make_device (catalog.cpp) alone; a new class adds its reader here.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "devices/device.h"

namespace weir {

struct CatalogNumber {
  Key key;
  Range<double> range = positive;
  bool optional = false;
};
using CatalogNumbers = std::vector<CatalogNumber>;

const CatalogNumbers& common_numbers();  // of every device: host link, power, price
// Of those whose arithmetic is peaks by type and whose memory is a capacity and a bandwidth.
const CatalogNumbers& memory_and_peak_numbers();
// Of those with an L2; what prefetches are without where its bandwidth is not known.
const CatalogNumbers& cache_numbers();
// Puts what the scenario gives in the place of the row's; only declares them where the row is null.
void override_numbers(Json& row, const CatalogNumbers& numbers, Params& params);
// The same of a key with known values; null leaves the row's.
void override_choice(Json& row, const Key& key, const std::vector<std::string>& known, Params& params);
std::map<std::string, double> read_numbers(Params& row, const CatalogNumbers& numbers);
// What common_numbers() are for. kind and title too.
DeviceSpec common_spec(const std::string& kind, Params& row);
void read_memory_and_peaks(DeviceSpec& spec, Params& row);

// A class of devices: `override` as override_numbers, for all of its keys; `read` makes the device of a row
// whose overrides are filled in.
struct DeviceClass {
  const char* name;  // "class" of a row
  void (*override)(Json& row, Params& params);
  std::shared_ptr<const Device> (*read)(const std::string& kind, const Json& row);
};
extern const DeviceClass gpu_class, npu_class, l2_npu_class, dimm_class;

}  // namespace weir
