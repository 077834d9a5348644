// Steps whose GEMMs and all-reduces go in chunks: what overlaps, what it costs, and what stays as it was.
#include <catch2/catch.hpp>

#include "devices/kernel_shapes.h"
#include "sim/studies/validation/kernels.h"
#include "test/app/scratch_directory.h"
#include "test/models/llm/models.h"
#include "test/models/llm/parts.h"
#include "test/policies/make_policy.h"
#include "test/serving/run_in_child.h"
#include "test/step/played_step.h"
#include "test/step/timeline/random_step.h"

using namespace weir;
using namespace weir::test;

namespace {

Rank replica_of(const std::string& kind, const LinkSpec& links, int chunks, const char* prefetch) {
  Rank replica = replica_on(kind, "hccs_mesh", "");
  replica.links = links;
  replica.collectives = make_collectives(links, "");
  replica.engine = {};
  const Json json = {{"kind", "device_only"}, {"fused_all_reduce_chunks", chunks}};
  Reading reading("test");
  replica.partitioning = make_from(partitioning_policies(), Params(reading, json), {"kind", "which"});
  reading.finish();
  replica.prefetch = make_policy(prefetch_policies(), prefetch);
  return replica;
}

LinkSpec ring(double gb_per_s, double latency_us = 25) {
  return {"ring", LinkShape::ring, BytesPerSecond(1e9 * gb_per_s), Seconds(1e-6 * latency_us), true};
}

struct Case {
  std::string device = "l2_npu", model = "llama3-8b";
  int tensor = 4;
  LinkSpec links = ring(25);
  Json given = Json::object();

  StepCost step(const BatchShape& batch, int chunks, const char* prefetch = "none") const {
    Rank replica = replica_of(device, links, chunks, prefetch);
    replica.on = catalog_device(device, given);
    const StageGraph placed = place(replica, build_stage(catalog_model(model), {}, {tensor, 1, 1}, 0));
    return StepModel(replica, placed, false).step({batch});
  }
};

// What the chunks' inputs add, read again by all but the first.
double read_again(const StageGraph& placed, const BatchShape& batch) {
  double bytes = 0;
  for (const auto v : boost::make_iterator_range(boost::vertices(part(placed, "block"))))
    if (const Operator& op = part(placed, "block")[v]; op.as<Gemm>() && op.begin > 0)
      bytes += static_cast<double>(layers_of(placed) * batch.tokens() * op.as<Gemm>()->in) *
               bytes_per_element(op.as<Gemm>()->activations);
  return bytes;
}

}  // namespace

TEST_CASE("fused step: flops, weights and what the links carry stay, and the timeline plays what it adds up",
          "[engine]") {
  std::mt19937_64 random(21);
  for (const char* kind : {"l2_npu", "ascend_910b", "h100_sxm"})
    for (const char* model : {"llama3-8b", "falcon-40b", "mixtral-8x7b", "opt-13b"})
      for (const int chunks : {2, 5, 16}) {
        CAPTURE(kind, model, chunks);
        const Architecture architecture = catalog_model(model);
        const LinkSpec links = find_interconnect("nvlink4_switch");
        const Rank whole = replica_of(kind, links, 1, "none"),
                   fused = replica_of(kind, links, chunks, "none");
        const StageGraph placed = place(fused, build_stage(architecture, {}, {4, 1, 1}, 0));
        const StepModel one(whole, place(whole, build_stage(architecture, {}, {4, 1, 1}, 0)), false);
        const StepModel many(fused, placed, false);
        REQUIRE(one.serial());
        REQUIRE_FALSE(many.serial());
        for (int i = 0; i < 4; ++i) {
          const RandomBatch batch(random);
          const StepCost a = one.step({batch.shape}), b = many.step({batch.shape});
          check_near(a.flops, b.flops);
          check_near(a.moved[interconnect], b.moved[interconnect]);
          CHECK(b.moved[own_memory].value() ==
                Approx(a.moved[own_memory].value() + read_again(placed, batch.shape)));
          CHECK(b.busy[0] >= a.busy[0] * (1 - 1e-12));  // chunks gain nothing by themselves
          CHECK(b.time >= b.busy[0] * (1 - 1e-12));
          CHECK(b.time >= b.busy.at(whole.on->spec().units.size() - 1) * (1 - 1e-12));
          check_same(b, play(fused, placed, batch.shape, i % 2 == 0), Seconds(0));
        }
        CHECK_THROWS_WITH(StepModel(fused, placed, true), Catch::Contains("flows"));
      }
}

TEST_CASE("fused step: large batches hide their all-reduces, down to the longer of matrices and links",
          "[engine]") {
  for (const double gb_per_s : {10., 50., 200.}) {
    Case c;
    c.links = ring(gb_per_s);
    BatchShape batch = decode_batch(2048, 100);
    const StepCost whole = c.step(batch, 1);
    const Seconds alone = whole.time - whole.link_bound;
    double before = whole.time.value();
    for (const int chunks : {2, 4, 8}) {
      CAPTURE(gb_per_s, chunks);
      const double now = c.step(batch, chunks).time.value();
      CHECK(now < before);
      CHECK(now > alone.value());
      CHECK(now > whole.link_bound.value());
      before = now;
    }
    // Half a layer's GEMM at least is left beside which nothing can be sent.
    CHECK(before > 0.5 * whole.time.value());
  }
}

TEST_CASE("fused step: one GEMM and its all-reduce, by hand", "[engine]") {
  // 8192 rows of 4096 x 4096 in 16 bit: 687 us of arithmetic at 400 TFLOPS, a fifth of the memory's
  // bandwidth.
  OperatorGraph block;
  const Operator gemm = gemm_operator(4096, 4096),
                 reduce{.name = "all_reduce",
                        .kernel = Communication{Collective::all_reduce, Bytes(8192), 4}};
  const auto first = boost::add_vertex(gemm, block);
  boost::add_edge(first, boost::add_vertex(reduce, block), block);
  const BatchShape batch = decode_batch(8192, 1);
  for (const double gb_per_s : {25., 150., 400.})  // the links longer, about as long, shorter
    for (const int chunks : {1, 2, 3, 4}) {
      CAPTURE(gb_per_s, chunks);
      const Rank replica = replica_of("l2_npu", ring(gb_per_s, 40), chunks, "none");
      StageGraph stage;
      part(stage, "block") = block;
      set_layers(stage, 3);
      const StageGraph placed = place(replica, stage);
      const double flops = 2. * 8192 * 4096 * 4096, sent = 1.5 * 8192 * 8192;
      double multiplied = 0, added = 40e-6;  // it starts once
      for (int i = 0, column = 0; i < chunks; ++i) {
        const int columns = i + 1 < chunks ? 4096 / chunks : 4096 - column;
        column += columns;
        multiplied += flops / 400e12 * columns / 4096;
        added = std::max(multiplied + (i == 0 ? 40e-6 : 0), added) + sent / (1e9 * gb_per_s) * columns / 4096;
      }
      CHECK(StepModel(replica, placed, false).step({batch}).time.value() == Approx(3 * added).epsilon(1e-9));
    }
}

TEST_CASE("fused step: on an Ascend a chunk waits for what it reads, but for the first", "[engine]") {
  Operator gemm = gemm_operator(4096, 1024);
  const auto seconds = [&](const char* kind, const Json& given = Json::object()) {
    return kernel_seconds(*catalog_device(kind, given), gemm, decode_batch(16, 1));
  };
  const double first = seconds("ascend_910b"), ideal = seconds("l2_npu");
  gemm.begin = 0.25;
  CHECK(seconds("ascend_910b") == Approx(first + 1e-6));
  CHECK(seconds("ascend_910b", {{"chunk_start_us", 3}}) == Approx(first + 3e-6));
  CHECK(seconds("l2_npu") == ideal);
}

TEST_CASE("fused step: chunks of a collective add up to it, on every interconnect", "[engine]") {
  const auto device = catalog_device("h100_sxm");
  int fell = 0;
  for (const std::string& name : interconnect_names())
    for (const char* library : {"", "nccl", "vllm", "tree", "one_shot", "two_shot"})
      for (const int devices : {2, 3, 4, 8}) {
        const auto links = make_collectives(find_interconnect(name), library);
        for (const std::int64_t rows : {1, 7, 100, 2000, 50000})
          for (const int chunks : {2, 3, 16}) {
            CAPTURE(name, library, devices, rows, chunks);
            Operator op{.name = "all_reduce",
                        .kernel = Communication{Collective::all_reduce, Bytes(8192), devices}};
            const BatchShape batch = decode_batch(rows, 1);
            const KernelCost whole = collective_cost(lowered(op, batch), *links, device->spec());
            Seconds time{};
            Bytes sent{};
            bool falls = false;
            for (int i = 0; i < chunks; ++i) {
              op.begin = static_cast<double>(i) / chunks;
              op.end = static_cast<double>(i + 1) / chunks;
              const KernelCost chunk = collective_cost(lowered(op, batch), *links, device->spec());
              REQUIRE(chunk.time >= Seconds(0));
              REQUIRE(chunk.moved[interconnect] >= Bytes(0));
              falls = falls || chunk.time == Seconds(0);
              time += chunk.time;
              sent += chunk.moved[interconnect];
            }
            fell += falls;
            REQUIRE(sent.value() == Approx(whole.moved[interconnect].value()));
            REQUIRE(time.value() >= whole.time.value() * (1 - 1e-12));
            if (!falls) REQUIRE(time.value() == Approx(whole.time.value()));
          }
      }
  CHECK(fell > 0);  // measured libraries that send more in less time are among them
}

TEST_CASE("fused step: with prefetches as well every byte is counted once, and both can pay", "[engine]") {
  const BatchShape batch = decode_batch(64, 2048);
  Case c{.device = "ascend_910b",
         .model = "llama3-70b",
         .tensor = 4,
         .links = ring(84, 2),
         .given = Json::object()};
  const StepCost none = c.step(batch, 1), fused = c.step(batch, 4), preserve = c.step(batch, 1, "preserve"),
                 both = c.step(batch, 4, "preserve");
  CHECK(fused.prefetch.fetched == Bytes(0));
  // Three chunks of o_proj fit into the cache where the whole does not; all of it is fetched into a larger
  // one.
  CHECK(both.prefetch.fetched > preserve.prefetch.fetched);
  c.given = {{"l2_mb", 10000}};
  check_near(c.step(batch, 4, "preserve").prefetch.fetched, c.step(batch, 1, "preserve").prefetch.fetched);
  CHECK(both.prefetch.used + both.prefetch.evicted <= both.prefetch.fetched * (1 + 1e-12));
  check_near(both.flops, none.flops);
  check_near(both.moved[interconnect], none.moved[interconnect]);
  CHECK(both.moved[own_memory].value() ==
        Approx((fused.moved[own_memory] + both.prefetch.fetched - both.prefetch.used).value()));
  CHECK(both.time <= std::max(fused.time, preserve.time));
  CHECK(both.time < none.time);
}

TEST_CASE("fused step: served fast-forward or step by step, the same, and flows are refused at their key",
          "[engine]") {
  Json scenario = small_scenario();
  scenario["serving"]["replicas"][0]["parallelism"] = {{"tensor", 4}};
  scenario["serving"]["replicas"][0]["partitioning"] = {{"kind", "device_only"},
                                                        {"fused_all_reduce_chunks", 4}};
  const Outcome fast = run(scenario);
  scenario["fast_forward"] = false;
  const Outcome slow = run(scenario);
  REQUIRE(fast.error == "");
  CHECK(fast.end == Approx(slow.end).epsilon(1e-9));
  CHECK(fast.energy == Approx(slow.energy));
  scenario["collectives"] = "flows";
  CHECK_THAT(run(scenario).error,
             Catch::Contains("/collectives: cannot be \"flows\" where operators overlap"));
}

TEST_CASE("fused step: more chunks than a model has columns are told at their key", "[engine]") {
  const ScratchDirectory scratch;
  std::ofstream(scratch / "config.json")
      << R"({"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 4, "intermediate_size": 64, "vocab_size": 1000,
    "max_position_embeddings": 4096})";
  Json scenario = small_scenario();
  scenario["model"] = (scratch / "config.json").string();
  scenario["serving"]["replicas"][0]["parallelism"] = {{"tensor", 2}};
  scenario["serving"]["replicas"][0]["partitioning"] = {{"kind", "device_only"},
                                                        {"fused_all_reduce_chunks", 33}};
  CHECK_THAT(run(scenario).error,
             Catch::Contains("/serving/replicas/0/partitioning/fused_all_reduce_chunks: o_proj has 32"));
  scenario["serving"]["replicas"][0]["partitioning"]["fused_all_reduce_chunks"] = 32;
  CHECK(run(scenario).error == "");
}
