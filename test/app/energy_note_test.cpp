// The known error of GPUs' joules stands beside them, and beside no other device's.
#include <catch2/catch.hpp>

#include "devices/device.h"
#include "sim/studies/validation/kernels.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("energy: of the catalog's devices, GPUs alone have a note, and it fits a terminal's line") {
  int gpus = 0, others = 0;
  for (const std::string& name : device_names()) {
    INFO(name);
    const auto device = catalog_device(name);
    REQUIRE(device);
    const bool gpu = device->spec().units.front().name == "gpu";
    CHECK(device->spec().power.note == (gpu ? gpu_energy_note : ""));
    ++(gpu ? gpus : others);
  }
  CHECK((gpus > 10 && others >= 4));
  CHECK(gpu_energy_note.find("2.4 times too low") != std::string_view::npos);
  CHECK(gpu_energy_note.size() <= 66);  // behind the 14 letters of the table's first column
}

TEST_CASE("energy: a run on GPUs says so in its table, its summary and its report, one on NPUs does not",
          "[engine]") {
  const ScratchDirectory scratch;
  const std::string note(gpu_energy_note);
  const Ended gpu = run_weir({"run", shipped("quickstart.json"), "--out", (scratch / "gpu").string()});
  REQUIRE(gpu.code == 0);
  CHECK_THAT(gpu.out, Catch::Contains("output tok/J\n              " + note + "\n"));
  const Json summary = parse_json(contents(scratch / "gpu" / "summary.json"), "summary.json");
  CHECK(summary.at("energy_note") == note);
  for (const Json& device : summary.at("devices")) CHECK(device.at("energy_note") == note);
  REQUIRE(run_weir({"report", (scratch / "gpu").string()}).code == 0);
  const std::string page = contents(scratch / "gpu" / "report.html");
  CHECK_THAT(page, Catch::Contains(note) && Catch::Contains("id=\"energy-note\""));

  const Ended npu = run_weir({"run", shipped("preserve/quick.json"), "--out", (scratch / "npu").string()});
  REQUIRE(npu.code == 0);
  CHECK_THAT(npu.out, Catch::Contains("Energy") && !Catch::Contains("too low"));
  CHECK_THAT(contents(scratch / "npu" / "summary.json"), !Catch::Contains("energy_note"));
}
