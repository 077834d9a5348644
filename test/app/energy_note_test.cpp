// What is not known of GPUs' joules stands beside them, and beside no other device's.
#include <catch2/catch.hpp>

#include "devices/device.h"
#include "sim/studies/validation/kernels.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

TEST_CASE(
    "energy: of the catalog's devices, all GPUs but the measured one have a note, of a terminal's line") {
  int gpus = 0, others = 0;
  for (const std::string& name : device_names()) {
    INFO(name);
    const auto device = catalog_device(name);
    REQUIRE(device);
    const bool gpu = device->spec().units.front().name == "gpu";
    const std::string& said = device->spec().power.note;
    CHECK(said.empty() == (!gpu || name == "h100_sxm"));
    CHECK((said.empty() || said == unmeasured_power_note || name == "b200_sxm"));
    CHECK(said.size() <= 66);  // behind the 14 letters of the table's first column
    ++(gpu ? gpus : others);
  }
  CHECK((gpus > 10 && others >= 4));
  CHECK(unmeasured_power_note.find("not measured") != std::string_view::npos);
}

TEST_CASE(
    "energy: a run on GPUs says so in its table, its summary and its report, on measured ones and NPUs not",
    "[engine]") {
  const ScratchDirectory scratch;
  const std::string note(unmeasured_power_note);
  const Ended gpu = run_weir({"run", shipped("quickstart.json"), "--out", (scratch / "gpu").string(), "--set",
                              "/cluster/nodes/0/devices/0/kind=\"a100_sxm_80gb\""});
  REQUIRE(gpu.code == 0);
  CHECK_THAT(gpu.out, Catch::Contains("output tok/J\n              " + note + "\n"));
  const Json summary = parse_json(contents(scratch / "gpu" / "summary.json"), "summary.json");
  CHECK(summary.at("energy_note") == note);
  for (const Json& device : summary.at("devices")) CHECK(device.at("energy_note") == note);
  REQUIRE(run_weir({"report", (scratch / "gpu").string()}).code == 0);
  const std::string page = contents(scratch / "gpu" / "report.html");
  CHECK_THAT(page, Catch::Contains(note) && Catch::Contains("id=\"energy-note\""));

  for (const char* scenario : {"quickstart.json", "preserve/quick.json"}) {
    const Ended quiet = run_weir({"run", shipped(scenario), "--out", (scratch / "quiet").string()});
    REQUIRE(quiet.code == 0);
    CHECK_THAT(quiet.out, Catch::Contains("Energy") && !Catch::Contains("not measured"));
    CHECK_THAT(contents(scratch / "quiet" / "summary.json"), !Catch::Contains("energy_note"));
  }
}
