// An engine's additions to a step, by hand: several devices, chunks, drafts and chains at once.
#include <array>

#include "sim/studies/validation/kernels.h"
#include "test/models/llm/models.h"
#include "test/step/played_step.h"

using namespace weir;
using namespace weir::test;

namespace {

// Five decodes of three rows each beside two chunks of prompts, of which one ends.
struct Mixed {
  std::array<PrefillChunk, 2> chunks = {{{20, 0}, {6, 30}}};
  BatchShape shape;
  Mixed() {
    shape.prefill = chunks;
    shape.prefill_tokens = 26;
    shape.decodes = 5;
    shape.decode_rows = 3;
    shape.decode_context_sum = 500;
    shape.decode_context_max = 120;
    shape.sequences = 6;
  }
};

EngineOverhead engine() {
  EngineOverhead engine{.kind = "test", .per_step = Seconds(100), .per_sequence = Seconds(10)};
  engine.per_prompt = Seconds(3);
  engine.eager_step = Seconds(0.5);
  engine.launch = Seconds(0.25);
  return engine;
}

}  // namespace

TEST_CASE("engine: messages to workers go in one round, in a tree's, or one after another") {
  EngineOverhead base = engine();
  base.workers_per_step = Seconds(7);
  base.workers_per_sequence = Seconds(2);
  const auto per_step = [&](EngineOverhead::Messages how, int devices) {
    base.messages = how;
    const EngineOverhead on = base.on(devices);
    CHECK(on.per_sequence == Seconds(devices > 1 ? 12 : 10));
    return on.per_step.value() - 100;
  };
  using enum EngineOverhead::Messages;
  for (const auto& [devices, tree_rounds] : {std::pair{2, 1}, {3, 2}, {4, 2}, {5, 3}, {8, 3}, {9, 4}}) {
    CAPTURE(devices);
    CHECK(per_step(once, devices) == Approx(7));
    CHECK(per_step(tree, devices) == Approx(7 * tree_rounds));
    CHECK(per_step(each, devices) == Approx(7 * (devices - 1)));
  }
  for (const auto how : {once, tree, each}) CHECK(per_step(how, 1) == 0);
}

TEST_CASE("engine: what requests cost the host is of sequences and chunks, before a step or under it") {
  const Mixed mixed;
  EngineOverhead on = engine();
  // Six sequences and two chunks: 66 s. 40 kernels: 10.5 s.
  on.graphs.sizes = CudaGraphs::Sizes::none;
  CHECK(on.host_time(mixed.shape).value() == Approx(100 + 66));
  CHECK(on.floor(mixed.shape, 40).value() == Approx(10.5));
  on.overlapped = true;
  CHECK(on.host_time(mixed.shape).value() == Approx(100));
  CHECK(on.floor(mixed.shape, 40).value() == Approx(10.5 + 66));
  on.graphs.sizes = CudaGraphs::Sizes::every;
  CHECK(on.floor(mixed.shape, 40).value() == Approx(66));
  on.overlapped = false;
  CHECK(on.floor(mixed.shape, 40) == Seconds(0));
}

TEST_CASE("engine: a graph is as wide as prompts, decodes and their drafts together") {
  const Mixed mixed;  // 26 + 5 * 3 = 41 rows
  CudaGraphs graphs{CudaGraphs::Sizes::padded, 48, true};
  CHECK(graphs.padding(mixed.shape) == 7);
  graphs.most_rows = 47;
  CHECK_FALSE(graphs.hold(mixed.shape));
  CHECK(graphs.padding(mixed.shape) == 0);
  graphs.sizes = CudaGraphs::Sizes::every;
  CHECK(graphs.hold(mixed.shape));
  CHECK(graphs.padding(mixed.shape) == 0);
}

TEST_CASE("engine: each of two sub-batches launches its kernels, and the whole of them once", "[engine]") {
  Rank rank = replica_on("h100_sxm", "nvlink4_switch", "");
  rank.engine = engine();
  rank.engine.graphs.sizes = CudaGraphs::Sizes::none;
  rank.engine.small_kernels = Seconds(0.125);
  const Sharding cut{2, 4, 1};  // 8 of 32 layers
  const StageGraph stage = place(rank, build_stage(catalog_model("llama3.1-8b"), {}, cut, 1));
  double kernels = 0;
  for_each_operator(stage, [&](const Operator&, double times) { kernels += times; });
  const StepModel model(rank, stage, false);
  const auto decodes = [](std::int64_t requests) {
    BatchShape shape;
    shape.decodes = shape.sequences = requests;
    shape.decode_context_sum = 100 * requests;
    shape.decode_context_max = 100;
    return shape;
  };
  const BatchShape whole = decodes(5);
  const std::array halves = {decodes(3), decodes(2)};
  // Launches take seconds where kernels take milliseconds; small ones, those of 8 layers, run under them.
  const double host = 100 + 50, small = 8 * 0.125;
  CHECK(model.step({whole}).time.value() == Approx(0.5 + 0.25 * kernels + host));
  const StepCost split = model.step({whole, halves});
  CHECK(split.time.value() == Approx(0.5 + 2 * 0.25 * kernels + host));
  CHECK(model.step({whole, halves, true}).time.value() == Approx(0.5 + 0.25 * kernels + host));
  CHECK(split.memory_bound.value() > small);
  CHECK(split.time.value() ==
        Approx((split.compute_bound + split.memory_bound + split.link_bound + split.host_bound).value()));
}

TEST_CASE("engine: small kernels move bytes and compute nothing", "[engine]") {
  Rank rank = replica_on("h100_sxm", "nvlink4_switch", "");
  const StageGraph stage = place(rank, build_stage(catalog_model("llama3.1-8b"), {}, {2, 4, 1}, 1));
  const auto step = [&](Seconds small) {
    rank.engine.small_kernels = small;
    const Mixed mixed;
    const std::array halves = {mixed.shape, mixed.shape};
    const StepModel model(rank, stage, false);
    return std::pair(model.step({mixed.shape}), model.step({mixed.shape, halves}));
  };
  const auto [alone, split] = step(Seconds(0));
  const auto [slower_alone, slower_split] = step(Seconds(0.5));
  for (const auto& [without, with] : {std::pair(alone, slower_alone), {split, slower_split}}) {
    CHECK((with.memory_bound - without.memory_bound).value() == Approx(8 * 0.5));
    CHECK(with.compute_bound == without.compute_bound);
    CHECK((with.time - without.time).value() == Approx(8 * 0.5));
    CHECK((with.busy[0] - without.busy[0]).value() == Approx(8 * 0.5));
  }
}

TEST_CASE("step model: under a power limit drawn operators fill the step that it makes longer", "[engine]") {
  Rank rank = replica_on("h100_sxm", "nvlink4_switch", "");
  const StageGraph stage = place(rank, build_stage(catalog_model("llama3.1-8b"), {}, {}, 0));
  const PrefillChunk chunk{4096, 0, 0};
  BatchShape prompt;
  prompt.prefill = {&chunk, 1};
  prompt.prefill_tokens = 4096;
  prompt.sequences = 1;
  const auto model = [&](double watts) {
    rank.on = catalog_device("h100_sxm", {{"tdp_w", watts}});
    return StepModel(rank, stage, false);
  };
  const StepModel limited = model(400), free = model(1e9);
  const double host = 1e-3 + 1e-5, time = limited.step({prompt}).time.value(),
               full = free.step({prompt}).time.value();
  REQUIRE(time > 1.1 * full);
  const auto spans = limited.operators({prompt}), as_fast = free.operators({prompt});
  REQUIRE(spans.size() == as_fast.size());
  double last = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    last = std::max(last, spans[i].finish.value());
    // Each is as much longer as all of them are.
    CHECK((spans[i].start.value() - host) * (full - host) ==
          Approx((as_fast[i].start.value() - host) * (time - host)));
  }
  CHECK(last == Approx(time));
}
