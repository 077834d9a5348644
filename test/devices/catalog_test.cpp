#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "sim/app/reproduce/kernels.h"
#include "sim/core/embedded.h"

namespace weir {
extern const EmbeddedFiles device_catalog, kernel_catalog;
}

namespace weir::test {
namespace {

using Random = std::mt19937;

std::int64_t whole(Random& random, double low, double high) {  // log-uniform
  return static_cast<std::int64_t>(
      std::round(low * std::pow(high / low, std::uniform_real_distribution<double>(0, 1)(random))));
}

DataType sixteen_bit(const Device& device) {
  return device.spec().peak(DataType::bf16) > FlopsPerSecond(0) ? DataType::bf16 : DataType::fp16;
}

Operator random_operator(Random& random, const Device& device) {
  Operator op =
      gemm_operator(whole(random, 64, 16384), whole(random, 64, 65536), DataType::bf16, sixteen_bit(device));
  switch (random() % 5) {
    case 0:
      if (device.spec().peak(DataType::fp8) > FlopsPerSecond(0)) op.weights = op.activations = DataType::fp8;
      break;
    case 1:
      op.weights = DataType::int4;
      break;
    case 2:
      op.kind = OperatorKind::grouped_gemm;
      op.experts = whole(random, 1, 64);
      op.total_experts = op.experts * whole(random, 1, 8);
      op.active = std::min<std::int64_t>(op.total_experts, whole(random, 1, 8));
      break;
    case 3: {
      op = attention_operator(8 * whole(random, 1, 8), 8);
      op.kv_cache = random() % 2 ? DataType::bf16 : DataType::fp8;
      break;
    }
    default:
      op = Operator{};
      op.name = "act_fn";
      op.bytes_per_row = Bytes(static_cast<double>(whole(random, 64, 1e6)));
  }
  return op;
}

struct RandomBatch {
  std::vector<PrefillChunk> chunks;
  BatchShape shape;

  explicit RandomBatch(Random& random) {
    if (random() % 3) shape = decode_batch(whole(random, 1, 512), whole(random, 1, 20000));
    chunks.resize(random() % 3);
    for (PrefillChunk& c : chunks) c = {whole(random, 1, 4096), whole(random, 1, 20000) - 1};
    update();
  }
  void update() {
    shape.prefill = chunks;
    shape.prefill_tokens = 0;
    for (const PrefillChunk& c : chunks) shape.prefill_tokens += c.tokens;
    shape.sequences = shape.decodes + static_cast<std::int64_t>(chunks.size());
  }
};

FlopsPerSecond best_peak(const Device& device) {
  FlopsPerSecond best;
  for (const DataType t : {DataType::fp32, DataType::bf16, DataType::fp16, DataType::fp8, DataType::int8})
    best = std::max(best, device.spec().peak(t));
  return best;
}

Json device_json(const std::string& kind) {
  for (const auto& [name, text] : device_catalog)
    if (name == kind) return parse_json(std::string(text), kind);
  return {};
}

}  // namespace

TEST_CASE("device catalog: every number of every row has a source, and efficiencies have their error") {
  REQUIRE(device_names().size() >= 11);
  for (const auto& [name, text] : device_catalog) {
    const Json json = parse_json(std::string(text), std::string(name));
    for (const auto& [key, value] : json.items()) {
      INFO(name << " " << key);
      if (value.is_object() || key == "title") continue;
      REQUIRE(json["sources"].contains(key));
      CHECK(json["sources"][key].get<std::string>().size() > 5);
    }
    CHECK(json["sources"].size() == json.size() - 2);  // title and sources themselves; none left over
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
  for (const std::string& kind : device_names()) {
    INFO(kind);
    const auto device = catalog_device(kind);
    const DeviceSpec& spec = device->spec();
    CHECK(spec.kind == kind);
    CHECK(spec.title.size() > 5);
    CHECK(device_summary(kind) == spec.title);
    CHECK(spec.memory > Bytes(1e9));
    CHECK(spec.host_bandwidth < spec.memory_bandwidth);
    CHECK(spec.dollars_per_hour > 0);
    const PowerSpec& power = spec.power;
    CHECK(power.idle < power.tdp);
    // Every tensor core and every byte of bandwidth for a second: the TDP.
    const Bytes memory = spec.memory_bandwidth * Seconds(1);
    const Flops flops(spec.peak(sixteen_bit(*device)).value());
    const Joules full = power.idle * Seconds(1) + power.dynamic(flops, memory, Bytes(0));
    CHECK(full.value() == Approx(power.tdp.value()).epsilon(0.01));
  }
}

TEST_CASE("device catalog: on every row nothing beats its roofline or draws more than the TDP") {
  Random random(11);
  for (const std::string& kind : device_names()) {
    INFO(kind);
    const auto device = catalog_device(kind);
    const PowerSpec& power = device->spec().power;
    for (int i = 0; i < 400; ++i) {
      const Operator op = random_operator(random, *device);
      const RandomBatch batch(random);
      const KernelCost cost = device->cost(op, batch.shape, no_links());
      INFO(op.name << " " << static_cast<int>(op.kind));
      const bool matrix = op.kind == OperatorKind::gemm || op.kind == OperatorKind::grouped_gemm;
      const FlopsPerSecond peak = matrix ? device->spec().peak(op.activations) : best_peak(*device);
      REQUIRE(cost.time >= cost.flops / peak);
      REQUIRE(cost.time >= cost.memory / device->spec().memory_bandwidth);
      REQUIRE((power.idle * cost.time + cost.energy).value() <= power.tdp.value() * cost.time.value() * 1.01);
    }
  }
}

TEST_CASE("device catalog: more bandwidth is never slower, more tokens or context are never faster") {
  Random random(12);
  for (const std::string& kind : device_names()) {
    INFO(kind);
    const auto device = catalog_device(kind);
    const double bandwidth = device->spec().memory_bandwidth.value() / 1e9;
    const auto faster = catalog_device(kind, {{"memory_bandwidth_gb_per_s", 1.5 * bandwidth}});
    for (int i = 0; i < 200; ++i) {
      const Operator op = random_operator(random, *device);
      RandomBatch batch(random);
      const Seconds time = device->cost(op, batch.shape, no_links()).time;
      REQUIRE(faster->cost(op, batch.shape, no_links()).time <= time);
      if (batch.chunks.size() == 1 && batch.shape.decodes == 0) {
        RandomBatch more = batch;
        ++more.chunks[0].tokens;
        more.update();
        REQUIRE(device->cost(op, more.shape, no_links()).time >= time);
      }
      if (batch.shape.decodes > 0) {
        RandomBatch deeper = batch;
        deeper.update();
        deeper.shape.decode_context_sum += batch.shape.decodes;
        ++deeper.shape.decode_context_max;
        REQUIRE(device->cost(op, deeper.shape, no_links()).time >= time);
      }
    }
  }
}

TEST_CASE("device catalog: every row's decode attention is affine until its steps are done") {
  Random random(13);
  for (const std::string& kind : device_names()) {
    INFO(kind);
    const auto device = catalog_device(kind);
    for (int i = 0; i < 100; ++i) {
      const Operator op = attention_operator(8 * whole(random, 1, 8), 8);
      BatchShape batch = decode_batch(whole(random, 1, 256), whole(random, 1, 8000));
      batch.decode_context_max += batch.decodes > 1 ? whole(random, 1, 5000) : 0;
      const AffineKernelCost affine = device->decode_attention(op, batch);
      const std::int64_t last = std::min<std::int64_t>(affine.steps, 5000) - 1;
      for (const std::int64_t step : {std::int64_t{0}, last / 3, last}) {
        BatchShape then = batch;
        then.decode_context_sum += step * batch.decodes;
        then.decode_context_max += step;
        const KernelCost cost = device->cost(op, then, no_links());
        const double k = static_cast<double>(step);
        REQUIRE((affine.first.time + k * affine.slope.time).value() ==
                Approx(cost.time.value()).epsilon(1e-12));
        REQUIRE((affine.first.energy + k * affine.slope.energy).value() ==
                Approx(cost.energy.value()).epsilon(1e-12));
      }
    }
  }
}

TEST_CASE("device catalog: 8-bit weights halve the bytes, 8-bit activations raise the peak") {
  const auto h100 = catalog_device("h100_sxm");
  const BatchShape one = decode_batch(1, 1), many = decode_batch(8192, 1);
  const auto time = [&](DataType weights, DataType activations, const BatchShape& batch) {
    return h100->cost(gemm_operator(8192, 8192, weights, activations), batch, no_links());
  };
  CHECK(time(DataType::fp8, DataType::bf16, one).memory / time(DataType::bf16, DataType::bf16, one).memory ==
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
  CHECK(catalog_device("h100_sxm")->cannot_run(quantised) == "");
  CHECK_THAT(catalog_device("a100_sxm_80gb")->cannot_run(quantised),
             Catch::Contains("fp8") && Catch::Contains("bf16"));
  CHECK_THAT(catalog_device("t4")->cannot_run(plain), Catch::Contains("bf16"));
  CHECK(catalog_device("a100_sxm_80gb")->cannot_run(plain) == "");
  CHECK(catalog_device("a100_sxm_80gb", {{"fp8_tflops", 624}})->cannot_run(quantised) == "");
}

TEST_CASE("device overrides: each number can be given, is used and is recorded, and nothing else is") {
  const Json given = {{"memory_bandwidth_gb_per_s", 4000},
                      {"memory_capacity_gib", 160},
                      {"bf16_tflops", 2000},
                      {"price_per_hour", 9},
                      {"tdp_w", 1000},
                      {"idle_w", 100}};
  Reading reading("test");
  Params params(reading, given);
  const auto device = make_device("h100_sxm", params);
  params.close();
  reading.finish();
  CHECK(device->spec().memory_bandwidth == BytesPerSecond(4e12));
  CHECK(device->spec().memory == Bytes(160. * (1 << 30)));
  CHECK(device->spec().peak(DataType::bf16) == FlopsPerSecond(2e15));
  CHECK(device->spec().dollars_per_hour == 9);
  CHECK(device->spec().power.tdp == Watts(1000));
  Json recorded = reading.resolved;
  recorded.erase("profile");
  CHECK(Json::diff(recorded, given).empty());
  // Each scalar of the catalog is a key.
  const Json row = device_json("h100_sxm");
  for (const auto& [key, value] : row.items())
    if (value.is_number()) CHECK_NOTHROW(catalog_device("h100_sxm", {{key, value}}));
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
}

TEST_CASE("device overrides: a description lists the keys without opening a file") {
  Reading reading = Reading::describe();
  Params params(reading, Json::object());
  make_device("h100_sxm", params);
  const Json& properties = reading.schema["properties"];
  for (const char* key : {"memory_bandwidth_gb_per_s", "bf16_tflops", "price_per_hour", "profile"})
    CHECK(properties.contains(key));
  CHECK_FALSE(reading.schema.contains("required"));
}

TEST_CASE("collectives on a device: timed by the links, their bytes and energy counted") {
  const auto h100 = catalog_device("h100_sxm");
  Operator op;
  op.name = "all_reduce";
  op.kind = OperatorKind::all_reduce;
  op.devices = 4;
  op.bytes_per_row = Bytes(16384);
  const auto links = make_collectives(find_interconnect("nvlink4_switch"), "vllm");
  const KernelCost cost = h100->cost(op, decode_batch(32, 100), *links);
  CHECK(cost.time == links->time(Collective::all_reduce, Bytes(32 * 16384), 4));
  CHECK(cost.link == links->sent(Collective::all_reduce, Bytes(32 * 16384), 4));
  CHECK(cost.energy > Joules(0));
}

}  // namespace weir::test
