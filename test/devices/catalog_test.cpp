#include <catch2/catch.hpp>

#include "devices/kernel_shapes.h"
#include "sim/core/embedded.h"
#include "sim/studies/validation/kernels.h"
#include "test/devices/priced.h"
#include "test/devices/rows.h"
#include "test/devices/sixteen_bit.h"

namespace weir {
extern const EmbeddedFiles device_catalog, kernel_catalog;
}

namespace weir::test {

TEST_CASE("device catalog: every number of every row has a source, and efficiencies have their error") {
  REQUIRE(device_names().size() >= 18);
  for (const auto& [name, text] : device_catalog) {
    const Json json = parse_json(std::string(text), std::string(name));
    for (const auto& [key, value] : json.items()) {
      INFO(name << " " << key);
      if (value.is_object() || key == "title") continue;  // the sources, and sets of assumptions
      REQUIRE(json["sources"].contains(key));
      CHECK(json["sources"][key].get<std::string>().size() > 5);
    }
    // None left over: what has none is the title, the sources themselves and the sets of assumptions.
    CHECK(json["sources"].size() == json.size() - 2 - json.count("assumptions"));
    const Json sets = json.value("assumptions", Json::object());
    for (const auto& [set, numbers] : sets.items()) {
      for (const auto& [key, value] : numbers.items()) {
        INFO(name << " " << set << " " << key);
        if (key != "sources") CHECK(numbers["sources"][key].get<std::string>().size() > 5);
      }
      CHECK(numbers["sources"].size() == numbers.size() - 1);
    }
  }
  for (const auto& [name, text] : kernel_catalog) {
    const Json json = parse_json(std::string(text), std::string(name));
    for (const auto& [key, value] : json.items()) {
      INFO(name << " " << key);
      if (key == "title" || key == "sources" || key == "errors") continue;
      REQUIRE(json["sources"].contains(key));
    }
    CHECK(json.contains("errors"));
  }
}

TEST_CASE("device catalog: every row is a plausible machine") {
  for (const std::string& kind : rows_that_run_models()) {
    INFO(kind);
    const auto device = catalog_device(kind);
    const DeviceSpec& spec = device->spec();
    check_plausible(*device, kind);
    CHECK(spec.host_bandwidth < spec.own().bandwidth);
    const Joules full = at_full_load(spec, sixteen_bit(*device));
    if (!spec.power.clocked) {
      CHECK(full.value() == Approx(spec.power.tdp.value()).epsilon(0.01));
      continue;
    }
    // Of GPUs at the sustained clocks: matrices alone draw the limit, where joules were fitted within a tenth
    // at what GEMMs reach of the peak (devices/kernels/hopper.json).
    const PowerSpec& power = spec.power;
    const bool fitted = kind == "h100_sxm" || kind == "h200_sxm" || kind == "b200_sxm";
    const double clock = fitted ? power.sustained : 1, reached = fitted ? 0.827 : 1;
    const Flops flops(reached * power.sustained * spec.peak(sixteen_bit(*device)).value());
    const Watts matrices =
        power.idle + power.active + Watts(clock * clock * (power.per_flop * flops).value());
    CHECK(matrices.value() == Approx(power.tdp.value()).epsilon(fitted ? 0.1 : 0.01));
    const Watts reading =
        power.idle + power.active +
        Watts((power.per_byte.value() + power.per_chip_byte.value()) * spec.own().bandwidth.value());
    CHECK(reading < 1.15 * power.tdp);
  }
}

TEST_CASE("device catalog: every host memory is a plausible one, and by itself runs nothing") {
  Reading reading("test");
  const StageGraph stage = build_stage(find_architecture("gpt3-175b", reading, ""), {}, {}, 0);
  std::vector<std::string> rows;
  for (const auto& [name, text] : device_catalog)
    if (embedded_json(text, std::string(name)).value("class", "gpu") == "dimm") rows.emplace_back(name);
  CHECK(dimms() == rows);
  for (const std::string& kind : host_memories()) {
    INFO(kind);
    const auto memory = catalog_device(kind);
    const DeviceSpec& spec = memory->spec();
    CHECK(spec.kind == kind);
    CHECK(spec.notes.title.size() > 5);
    CHECK(device_summary(kind) == spec.notes.title);
    CHECK(spec.own().capacity > Bytes(1e11));
    CHECK(spec.host_bandwidth == spec.own().bandwidth);  // one bus
    CHECK(spec.dollars_per_hour > 0);
    CHECK(spec.power.idle < spec.power.tdp);
    CHECK((spec.own().members == 1 || spec.own().members == spec.units.at(0).members));
    CHECK_THAT(cannot_run(*memory, stage), Catch::Contains(kind) && Catch::Contains("memory of a host"));
    CHECK_THROWS_AS(priced(*memory, attention_operator(8, 8), decode_batch(1, 1)), std::logic_error);
    CHECK_THROWS_AS(decode_attention(*memory, attention_operator(8, 8), decode_batch(1, 1)),
                    std::logic_error);
  }
}

TEST_CASE("device catalog: GPUs that nobody measured say whose kernels stand in") {
  for (const char* kind : {"mi300x", "mi355x", "b300_sxm", "gb300"}) {
    const DeviceNotes& notes = catalog_device(kind)->spec().notes;
    CHECK_THAT(notes.foreign_kernels, Catch::Contains("was not measured") && Catch::Contains(notes.kernels));
  }
  CHECK_THAT(catalog_device("mi300x")->spec().notes.foreign_kernels, Catch::Contains("hopper"));
  CHECK(catalog_device("gb200")->spec().notes.foreign_kernels.empty());  // the die of a B200
}

TEST_CASE("device catalog: 8-bit weights halve the bytes, 8-bit activations raise the peak") {
  const auto h100 = catalog_device("h100_sxm");
  const BatchShape one = decode_batch(1, 1), many = decode_batch(8192, 1);
  const auto time = [&](DataType weights, DataType activations, const BatchShape& batch) {
    return priced(*h100, gemm_operator(8192, 8192, weights, activations), batch);
  };
  CHECK(time(DataType::fp8, DataType::bf16, one).moved[own_memory] /
            time(DataType::bf16, DataType::bf16, one).moved[own_memory] ==
        Approx(0.5).epsilon(0.01));
  // Weight-only quantisation calculates at the 16-bit peak: no faster where arithmetic counts.
  CHECK(time(DataType::fp8, DataType::bf16, many).compute ==
        time(DataType::bf16, DataType::bf16, many).compute);
  CHECK(time(DataType::fp8, DataType::fp8, many).time <
        0.7 * time(DataType::bf16, DataType::bf16, many).time);
}

TEST_CASE("device catalog: a type the device cannot calculate in is an answer, not a guess") {
  Precision fp8;
  fp8.weights = fp8.activations = DataType::fp8;
  Reading reading("test");
  const Architecture model = find_architecture("llama3.1-8b", reading, "");
  const StageGraph quantised = build_stage(model, fp8, {}, 0), plain = build_stage(model, {}, {}, 0);
  CHECK(cannot_run(*catalog_device("h100_sxm"), quantised) == "");
  CHECK_THAT(cannot_run(*catalog_device("a100_sxm_80gb"), quantised),
             Catch::Contains("fp8") && Catch::Contains("bf16"));
  Precision fp4;
  fp4.weights = fp4.activations = DataType::fp4;
  const StageGraph four = build_stage(model, fp4, {}, 0);
  for (const char* kind : {"b200_sxm", "b300_sxm", "gb200", "gb300", "mi355x"})
    CHECK(cannot_run(*catalog_device(kind), four) == "");
  CHECK_THAT(cannot_run(*catalog_device("mi300x"), four), Catch::Contains("cannot calculate in fp4"));
  CHECK_THAT(cannot_run(*catalog_device("h100_sxm"), four), Catch::Contains("cannot calculate in fp4"));
  CHECK_THAT(cannot_run(*catalog_device("t4"), plain), Catch::Contains("bf16"));
  CHECK(cannot_run(*catalog_device("a100_sxm_80gb"), plain) == "");
  CHECK(cannot_run(*catalog_device("a100_sxm_80gb", {{"fp8_tflops", 624}}), quantised) == "");
}

TEST_CASE("collectives on a device: timed by the links, their bytes and energy counted") {
  const auto h100 = catalog_device("h100_sxm");
  const Operator op{.name = "all_reduce", .kernel = Communication{Collective::all_reduce, Bytes(16384), 4}};
  const auto links = make_collectives(find_interconnect("nvlink4_switch"), "vllm");
  const KernelCost cost = collective_cost(lowered(op, decode_batch(32, 100)), *links, h100->spec());
  CHECK(cost.time == links->time(Collective::all_reduce, Bytes(32 * 16384), 4));
  CHECK(cost.moved[interconnect] == links->sent(Collective::all_reduce, Bytes(32 * 16384), 4));
  CHECK(cost.energy > Joules(0));
}

}  // namespace weir::test
