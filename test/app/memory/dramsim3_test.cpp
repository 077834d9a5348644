// DRAMsim3's own files, read as DRAMsim3 reads them or refused.
#include "sim/app/memory/dramsim3.h"

#include <catch2/catch.hpp>

#include "sim/core/errors.h"
#include "test/app/run_weir.h"

namespace weir::test {
namespace {

// The last of two equal keys counts.
std::string complaint_of(const ScratchDirectory& scratch, const std::string& changed) {
  const std::string whole = contents(WEIR_SOURCE_DIR "/test/app/cases/dramsim3_ini_and_trace/ddr4.ini");
  try {
    read_dramsim3(write(scratch.path() / "changed.ini", whole + changed + "\n"));
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("DRAMsim3: sizes are whole numbers from 1, times and queues whole ones") {
  const ScratchDirectory scratch;
  CHECK(complaint_of(scratch, "") == "");
  CHECK(complaint_of(scratch, "CL = 23.0") == "");
  CHECK(complaint_of(scratch, "IDD0 = 57.5") == "");
  for (const char* key : {"device_width", "bus_width", "BL", "bankgroups", "banks_per_group", "rows",
                          "columns", "channel_size"})
    for (const char* value : {"0", "-1", "2.5", "inf", "nan", "1e10"}) {
      INFO(key << " = " << value);
      CHECK_THAT(
          complaint_of(scratch, fmt::format("{} = {}", key, value)),
          Catch::Contains(fmt::format("{}: expected a whole number from 1 to 1e9, got {}", key, value)));
    }
  for (const char* key : {"CL", "tREFI", "tRCD", "tRTRS", "cmd_queue_size", "trans_queue_size"})
    CHECK_THAT(complaint_of(scratch, std::string(key) + " = 22.9"),
               Catch::Contains(std::string(key) + ": expected a whole number from 0 to 1e9, got 22.9"));
}

TEST_CASE("DRAMsim3: devices fill the bus, and ranks the channel") {
  const ScratchDirectory scratch;
  CHECK_THAT(complaint_of(scratch, "device_width = 12"),
             Catch::Contains("device_width: expected a divisor of bus_width, got 12"));
  CHECK_THAT(complaint_of(scratch, "channel_size = 5"),
             Catch::Contains("channel_size: expected a multiple of the 8192 MB of a rank, got 5"));
}

}  // namespace weir::test
