// Devices, and the rows of other catalogs in them, that a user gives.
#include <catch2/catch.hpp>

#include "models/memory/memory_row.h"
#include "sim/studies/validation/kernels.h"
#include "test/app/run_weir.h"
#include "test/devices/priced.h"

namespace weir {
extern const EmbeddedFiles device_catalog, kernel_catalog;
}

namespace weir::test {
namespace {

struct Made {
  std::shared_ptr<const Device> device;
  std::string problems;
};

Made make(const std::string& kind, const Json& entry = Json::object(),
          const std::string& file = "scenario.json", const std::string& assumptions = "physical") {
  Reading reading(file);
  Params params(reading, entry);
  Made made{make_device(kind, params, assumptions), ""};
  params.close();
  try {
    reading.finish();
  } catch (const ConfigError& error) {
    for (const Problem& p : error.problems()) made.problems += p.pointer + ": " + p.what + "\n";
  }
  return made;
}

Json row_of(const EmbeddedFiles& catalog, const std::string& name) {
  return embedded_json(*text_of(catalog, name), name);
}

Seconds pim_attention(const Device& npu) {
  Operator op = attention_operator(8, 8);
  std::get<Attention>(op.kernel).part = Attention::Part::logit;
  const std::vector<DecodeContext> contexts = {{1024, 0}};
  BatchShape batch = decode_batch(1, 1024);
  batch.contexts = contexts;
  return priced(npu, placed_on(npu, op), batch).time;
}

}  // namespace

TEST_CASE("given devices: every row of the catalog as a file is that device") {
  const ScratchDirectory scratch;
  const std::string scenario = (scratch / "scenario.json").string();
  for (const auto& [name, text] : device_catalog) {
    INFO(name);
    write(scratch / "mine.json", std::string(text));
    const Made mine = make("mine.json", Json::object(), scenario);
    CHECK(mine.problems == "");
    REQUIRE(mine.device);
    DeviceSpec a = mine.device->spec(), b = catalog_device(std::string(name))->spec();
    CHECK(a.kind == "mine");
    CHECK(std::exchange(a.own().name, b.own().name) == "mine");
    CHECK(a.notes.title == b.notes.title);
    CHECK((a.memories == b.memories));
    CHECK(a.dollars_per_hour == b.dollars_per_hour);
    CHECK(unit_names(a.units) == unit_names(b.units));
    CHECK(a.power.per_flop == b.power.per_flop);
  }
}

TEST_CASE("given devices: a file stands on a base, its kernels and memory are names, files or keys") {
  const ScratchDirectory scratch;
  const std::string scenario = (scratch / "scenario.json").string();
  std::filesystem::create_directory(scratch / "parts");
  write(scratch / "parts/fast.json", R"({"base": "hopper", "gemm_16bit": {"launch_us": 0}})");
  write(scratch / "gpu.json", R"({"base": "h100_sxm", "tdp_w": 900, "kernels": "parts/fast.json"})");
  const Operator gemm = gemm_operator(4096, 4096);
  const BatchShape one = decode_batch(1, 1);
  const auto time = [&](const Device& d) { return priced(d, gemm, one).time; };
  const Made file = make("gpu.json", Json::object(), scenario);
  REQUIRE(file.device);
  CHECK(file.device->spec().power.tdp == Watts(900));
  const auto h100 = catalog_device("h100_sxm");
  CHECK(time(*file.device).value() == Approx((time(*h100) - Seconds(4.22e-6)).value()));
  for (const Json& kernels :
       {Json("parts/fast.json"), Json({{"base", "hopper"}, {"gemm_16bit", {{"launch_us", 0}}}}),
        Json({{"gemm_16bit", {{"launch_us", 0}}}})}) {  // the base: the device's own
    const Made entry = make("h100_sxm", {{"kernels", kernels}}, scenario);
    CHECK(entry.problems == "");
    REQUIRE(entry.device);
    CHECK(time(*entry.device) == time(*file.device));
  }
  // A key of the entry goes before a set of assumptions; one of the row does not.
  const auto ideal = [&](const Json& entry) {
    return time(*make("a100_sxm_80gb", entry, scenario, "ideal").device);
  };
  CHECK(ideal({{"kernels", "ampere"}}) > ideal(Json::object()));
}

TEST_CASE("given devices: a row without a key, or with a text in its place, is a device or a problem") {
  const ScratchDirectory scratch;
  const std::string scenario = (scratch / "scenario.json").string();
  int refused = 0;
  const auto check = [&](const Json& row) {
    write(scratch / "mine.json", row.dump());
    Made made;
    CHECK_NOTHROW(made = make("mine.json", Json::object(), scenario));
    CHECK((made.device || !made.problems.empty()));
    refused += !made.problems.empty();
  };
  for (const auto& [name, text] : device_catalog) {
    const Json row = row_of(device_catalog, std::string(name));
    for (const auto& [key, value] : row.items()) {
      INFO(name << " " << key);
      Json other = row;
      other.erase(key);
      check(other);
      other[key] = "x";
      check(other);
    }
  }
  CHECK(refused > 500);
}

TEST_CASE("given devices: what is wrong in a file or an entry is told there") {
  const ScratchDirectory scratch;
  const std::string scenario = (scratch / "scenario.json").string();
  const auto told = [&](const Json& row, const std::string& said) {
    write(scratch / "mine.json", row.dump());
    INFO(row.dump());
    const std::string problems = make("mine.json", Json::object(), scenario).problems;
    CHECK_THAT(problems, Catch::StartsWith("/kind: ") && Catch::Contains("mine.json: " + said));
  };
  Json h100 = row_of(device_catalog, "h100_sxm");
  h100.erase("tdp_w");
  told(h100, "/tdp_w: required, but missing");
  told({{"base", "h100_sxm"}, {"tpd_w", 1}}, "/tpd_w: unknown key; did you mean \"tdp_w\"?");
  told({{"base", "h100_sxm"}, {"class", "tpu"}}, "/class: no such class");
  told({{"base", "h100_sxm"}, {"assumptions", 5}}, "/assumptions: expected an object");
  told({{"base", "h100_sxm"}, {"kernels", "hoper"}}, "/kernels: no such set of kernels");
  told({{"base", "h100_sxm"}, {"kernels", {{"base", "hopper"}, {"gemm_16bit", {{"knee", 0}}}}}},
       "/kernels/gemm_16bit/knee: expected a number");
  told({{"base", "h100_sxm"}, {"pim_memory", "hbm2_neupims"}}, "/pim_bandwidth_gb_per_s: required");
  told({{"base", "neupims_npu"}, {"memory", {{"ccd_l_ck", 0}}}}, "/memory/ccd_l_ck: expected at least");
  told({{"base", "neupims_npu"}, {"systolic_arrays", 0}}, "/systolic_arrays: expected an integer");
  told({{"base", "dimm_pim"}, {"level", "chip"}}, "/level: no such level");
  const auto entry = [&](const std::string& kind, const Json& given, const std::string& said) {
    CHECK_THAT(make(kind, given).problems, Catch::Contains(said));
  };
  entry("neupims_npu", {{"memory", {{"banks", 48}}}}, "/memory/banks: expected a power of two");
  entry("neupims_npu", {{"memory", {{"base", "hbm2e"}}}}, "/memory: hbm2e has no PIM");
  entry("neupims_npu", {{"memory", {{"base", "hbm2_neupims"}, {"pim_fill_comps", 500}}}},
        "between two refreshes");
  entry("neupims_npu", {{"memory", 3}}, "/memory: expected a string");
  entry("h100_sxm", {{"memory", "hbm3"}}, "/memory: unknown key");
  entry("h100_sxm", {{"kernels", {{"base", "hopper"}, {"gemm", 1}}}}, "/kernels/gemm: unknown key");
  entry("no/such.json", Json::object(), "/kind: no/such.json: cannot be opened");
}

TEST_CASE("given devices: two memories of one name in a process do not share what they were played at") {
  const auto npu = [](const Json& memory) { return make("neupims_npu", {{"memory", memory}}).device; };
  const Seconds before = pim_attention(*catalog_device("neupims_npu"));
  CHECK(pim_attention(*npu({{"pim_comp_ck", 4}})) > 1.2 * before);
  CHECK(pim_attention(*npu({{"pim_comp_ck", 1}})) < before);
  CHECK(pim_attention(*npu({{"faw_ck", 60}})) > 1.2 * before);
  CHECK(pim_attention(*npu("hbm2_neupims")) == before);
}

TEST_CASE("given devices: an NPU streams at what the bank model of a given memory reaches, unless told") {
  const auto efficiency = [](const Json& entry, const std::string& assumptions = "physical") {
    const Operator norm{.name = "layernorm", .kernel = Elementwise{Bytes(1e6)}};
    const auto device = make("npu_only", entry, "scenario.json", assumptions).device;
    const BatchShape batch = decode_batch(1000, 1);
    return (Bytes(1e9) / priced(*device, norm, batch).time) / device->spec().own().bandwidth;
  };
  const Json slow = {{"ccd_l_ck", 8}};
  const auto slower = [&] { return stream_efficiency(memory_of(Json("hbm2_neupims"))); };
  CHECK(efficiency(Json::object()) == Approx(0.915));
  CHECK(efficiency({{"memory", "hbm2_neupims"}}) == Approx(slower()));
  CHECK(efficiency({{"memory", slow}}) < 0.75);
  CHECK(efficiency({{"memory", slow}, {"memory_efficiency", 0.7}}) == Approx(0.7));
  CHECK(efficiency({{"memory", slow}}, "paper") == Approx(0.85));
}

}  // namespace weir::test
