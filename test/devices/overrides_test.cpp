// A scenario's numbers in place of the catalog's.
#include <catch2/catch.hpp>

#include "sim/core/embedded.h"
#include "sim/studies/validation/kernels.h"
#include "test/devices/priced.h"

namespace weir {
extern const EmbeddedFiles device_catalog;
}

namespace weir::test {
namespace {

Json device_json(const std::string& kind) {
  for (const auto& [name, text] : device_catalog)
    if (name == kind) return parse_json(std::string(text), kind);
  return {};
}

}  // namespace

TEST_CASE("device overrides: each number can be given, is used and is recorded, and nothing else is") {
  const Json given = {{"memory_bandwidth_gb_per_s", 4000},
                      {"memory_capacity_gib", 160},
                      {"bf16_tflops", 2000},
                      {"price_per_hour", 9},
                      {"tdp_w", 1000},
                      {"idle_w", 100},
                      {"active_w", 50},
                      {"compute_pj_per_flop", 2},
                      {"memory_pj_per_byte", 11},
                      {"link_pj_per_byte", 13},
                      {"chip_pj_per_byte", 30},
                      {"attention_pj_per_byte", 70}};
  Reading reading("test");
  Params params(reading, given);
  const auto device = make_device("h100_sxm", params);
  params.close();
  reading.finish();
  CHECK(device->spec().own().bandwidth == BytesPerSecond(4e12));
  CHECK(device->spec().own().capacity == Bytes(160. * (1 << 30)));
  CHECK(device->spec().peak(DataType::bf16) == FlopsPerSecond(2e15));
  CHECK(device->spec().dollars_per_hour == 9);
  const PowerSpec& power = device->spec().power;
  CHECK((power.tdp == Watts(1000) && power.idle == Watts(100) && power.active == Watts(50)));
  CHECK(power.per_flop.value() == Approx(2e-12));
  CHECK(power.per_byte.value() == Approx(11e-12));
  CHECK(power.per_link_byte.value() == Approx(13e-12));
  CHECK(power.per_chip_byte.value() == Approx(30e-12));
  CHECK(power.per_attention_byte.value() == Approx(70e-12));
  Json recorded = reading.resolved;
  recorded.erase("profile");
  CHECK(Json::diff(recorded, given).empty());
  // Each scalar of the catalog is a key.
  const Json row = device_json("h100_sxm");
  for (const auto& [key, value] : row.items())
    if (value.is_number()) CHECK_NOTHROW(catalog_device("h100_sxm", {{key, value}}));
}

TEST_CASE("device overrides: matrices in 8 bits and in 16 have a sustained share of the peak each") {
  const auto compute = [](DataType type, const Json& given) {
    const auto gpu = catalog_device("mi300x", given);
    Operator op;
    op.kernel = Gemm{.in = 8192, .out = 8192, .weights = type, .activations = type};
    op.rows = Rows::tokens;
    BatchShape batch;
    batch.decodes = batch.sequences = 8192;
    return priced(*gpu, placed_on(*gpu, op), batch).compute.value();
  };
  const Json half = {{"sustained_compute", 0.35}}, half_8bit = {{"sustained_compute_8bit", 0.375}};
  CHECK(compute(DataType::bf16, half) ==
        Approx(2 * compute(DataType::bf16, Json::object())));  // 0.7 in the catalog
  CHECK(compute(DataType::bf16, half_8bit) == compute(DataType::bf16, Json::object()));
  CHECK(compute(DataType::fp8, half) == compute(DataType::fp8, Json::object()));
  CHECK(compute(DataType::fp8, half_8bit) == Approx(2 * compute(DataType::fp8, Json::object())));  // 0.75
}

TEST_CASE(
    "device overrides: a GPU prefetches into as much L2 as is given, and where its bandwidth is known") {
  const DeviceSpec h100 = catalog_device("h100_sxm")->spec();
  REQUIRE(h100.cache());
  CHECK(h100.cache()->capacity == Bytes(50. * (1 << 20)));
  CHECK(unit_names(h100.units) == "gpu, link, prefetch");
  const auto other = catalog_device("h100_sxm", {{"l2_mb", 128}, {"l2_bandwidth_gb_per_s", 20000}});
  CHECK(other->spec().cache()->capacity == Bytes(128e6));
  CHECK(other->spec().cache()->bandwidth == BytesPerSecond(20e12));
  CHECK(other->spec().cache()->reached() == h100.cache()->reached());
  CHECK_FALSE(catalog_device("t4")->spec().cache());
  CHECK(unit_names(catalog_device("t4")->spec().units) == "gpu, link");
  CHECK(catalog_device("t4", {{"l2_bandwidth_gb_per_s", 1000}})->spec().cache()->capacity ==
        Bytes(4. * (1 << 20)));
}

TEST_CASE("device overrides: bad ones are problems at their pointers") {
  const auto problems = [](const std::string& kind, const Json& given) {
    Reading reading("test");
    Params params(reading, given);
    make_device(kind, params);
    params.close();
    try {
      reading.finish();
    } catch (const ConfigError& e) {
      std::string all;
      for (const Problem& p : e.problems()) all += p.pointer + ": " + p.what + "\n";
      return all;
    }
    return std::string();
  };
  CHECK_THAT(problems("h100_sxm", {{"memory_bandwidth_gb_per_s", -1}}),
             Catch::Contains("/memory_bandwidth_gb_per_s: "));
  CHECK_THAT(problems("h100_sxm", {{"memory_bandwith_gb_per_s", 1}}), Catch::Contains("did you mean"));
  CHECK_THAT(problems("h100_sxm", {{"tdp_w", nullptr}}), Catch::Contains("/tdp_w: expected a number"));
  CHECK_THAT(problems("h100_sxm", {{"idle_w", 2000}}), Catch::Contains("/idle_w: more than tdp_w"));
  CHECK_THAT(problems("h100", {}), Catch::Contains("h100_sxm"));
  CHECK_THAT(problems("h100_sxm", {{"profile", "no/such/folder"}}),
             Catch::Contains("/profile: no such folder"));
  // Each class of devices has its own.
  CHECK_THAT(problems("h100_sxm", {{"systolic_arrays", 8}}),
             Catch::Contains("/systolic_arrays: unknown key"));
  CHECK_THAT(problems("npu_only", {{"l2_mb", 8}}), Catch::Contains("/l2_mb: unknown key"));
  CHECK_THAT(problems("npu_only", {{"profile", "x"}}), Catch::Contains("/profile: unknown key"));
  CHECK_THAT(problems("npu_only", {{"systolic_arrays", 2.5}}),
             Catch::Contains("/systolic_arrays: expected an integer"));
  CHECK_THAT(problems("npu_only", {{"systolic_arrays", 0}}), Catch::Contains("/systolic_arrays: "));
  CHECK_THAT(problems("npu_only", {{"memory_efficiency", 1.2}}), Catch::Contains("/memory_efficiency: "));
  CHECK_THAT(problems("npu_only", {{"idle_w", 500}}), Catch::Contains("/idle_w: more than tdp_w"));
  CHECK_THAT(problems("neupims_npu", {{"row_buffers", "dula"}}), Catch::Contains("did you mean"));
  CHECK_THAT(problems("neupims_npu", {{"row_buffers", 2}}), Catch::Contains("/row_buffers: "));
  CHECK_THAT(problems("neupims_npu", {{"memory", "hbm2e"}}), Catch::Contains("/memory: hbm2e has no PIM"));
  CHECK(problems("neupims_npu", {{"memory", "hbm2e"}, {"row_buffers", "none"}}).empty());
}

TEST_CASE("device overrides: a description lists the keys of a kind's class, of a path those of all") {
  const auto described = [](const std::string& kind) {
    Reading reading = Reading::describe();
    Params params(reading, Json::object());
    make_device(kind, params);
    CHECK_FALSE(reading.schema.contains("required"));
    return reading.schema["properties"];
  };
  const std::vector<const char*> of_all = {"memory_capacity_gib", "price_per_hour"},
                                 of_gpus = {"memory_bandwidth_gb_per_s", "bf16_tflops", "profile", "kernels"},
                                 of_npus = {"systolic_arrays", "row_buffers", "scratchpad_mib", "memory"};
  const Json gpu = described("h100_sxm"), npu = described("neupims_npu"), any = described("");
  for (const char* key : of_all) CHECK((gpu.contains(key) && npu.contains(key) && any.contains(key)));
  for (const char* key : of_gpus) CHECK((gpu.contains(key) && !npu.contains(key) && any.contains(key)));
  for (const char* key : of_npus) CHECK((!gpu.contains(key) && npu.contains(key) && any.contains(key)));
}

TEST_CASE("device catalog: every kind has one alternative in a description, and one is for paths") {
  std::map<std::string, int> times;
  int paths = 0;
  for (const auto& [kind, schema] : device_alternatives()) {
    paths += kind.empty();
    if (kind.empty()) continue;
    for (const Json& name : schema["enum"]) ++times[name];
  }
  CHECK(paths == 1);
  CHECK(times.size() == device_names().size());
  for (const auto& [kind, count] : times) CHECK(count == 1);
}

}  // namespace weir::test
