// What an engine adds to the kernels of a step: closed forms, and runs of steps beside the same steps one by
// one.
#include <catch2/catch.hpp>

#include <array>

#include "test/models/llm/decode_shape.h"
#include "test/models/llm/models.h"
#include "test/step/played_step.h"

using namespace weir;
using namespace weir::test;

namespace {

class Prompt {
 public:
  explicit Prompt(std::int64_t tokens) : chunk_{tokens, 0} {}
  BatchShape shape() const {
    BatchShape shape;
    shape.prefill = {&chunk_, 1};
    shape.prefill_tokens = chunk_.tokens;
    shape.sequences = 1;
    return shape;
  }

 private:
  PrefillChunk chunk_;
};

// One H100 with llama3.1-8b under an engine; and the same without one.
struct Engine {
  explicit Engine(const EngineOverhead& engine) : rank(replica_on("h100_sxm", "nvlink4_switch", "vllm")) {
    rank.engine = engine;
    stage = place(rank, build_stage(catalog_model("llama3.1-8b"), {}, {}, 0));
    model = std::make_unique<StepModel>(rank, stage, false);
    for_each_operator(stage, [this](const Operator&, double times) { kernels += times; });
  }
  Seconds step(const BatchShape& shape) const { return model->step({shape}).time; }

  Rank rank;
  StageGraph stage;
  std::unique_ptr<StepModel> model;
  double kernels = 0;
};

EngineOverhead eager(Seconds step, Seconds launch) {
  EngineOverhead engine{.kind = "test", .per_step = Seconds(1e-4), .per_sequence = Seconds(1e-6)};
  engine.graphs.sizes = CudaGraphs::Sizes::none;
  engine.eager_step = step;
  engine.launch = launch;
  return engine;
}

EngineOverhead without_launches() {
  return eager(Seconds(0), Seconds(0));
}

std::int64_t padded(const CudaGraphs& graphs, std::int64_t requests) {
  return requests + graphs.padding(equal_decodes(requests, 10));
}

}  // namespace

TEST_CASE("engine: a batch takes the next larger CUDA graph, and none beyond the largest", "[engine]") {
  const CudaGraphs graphs{CudaGraphs::Sizes::padded, 512, true};
  const std::vector<std::pair<int, int>> sizes = {{1, 1},  {2, 2},   {3, 4},   {4, 4},     {5, 8},    {8, 8},
                                                  {9, 16}, {16, 16}, {17, 24}, {505, 512}, {512, 512}};
  for (const auto& [requests, rows] : sizes) {
    CAPTURE(requests);
    CHECK(padded(graphs, requests) == rows);
    CHECK(graphs.hold(equal_decodes(requests, 10)));
  }
  CHECK(padded(graphs, 513) == 513);
  CHECK_FALSE(graphs.hold(equal_decodes(513, 10)));
  // vLLM's list for 20 sequences ends with 16.
  CHECK(CudaGraphs{CudaGraphs::Sizes::padded, 20, true}.hold(equal_decodes(16, 10)));
  CHECK_FALSE(CudaGraphs{CudaGraphs::Sizes::padded, 20, true}.hold(equal_decodes(17, 10)));
}

TEST_CASE("engine: prompts have graphs or not, and unpadded graphs have any size", "[engine]") {
  const Prompt prompt(500);
  CHECK(CudaGraphs{CudaGraphs::Sizes::padded, 512, true}.hold(prompt.shape()));
  CHECK(CudaGraphs{CudaGraphs::Sizes::padded, 512, true}.padding(prompt.shape()) == 4);
  CHECK_FALSE(CudaGraphs{CudaGraphs::Sizes::padded, 512, false}.hold(prompt.shape()));
  CHECK_FALSE(CudaGraphs{CudaGraphs::Sizes::every, 0, false}.hold(prompt.shape()));
  CHECK(CudaGraphs{CudaGraphs::Sizes::every, 0, true}.hold(prompt.shape()));
  CHECK(padded({CudaGraphs::Sizes::every, 0, true}, 4321) == 4321);
  CHECK_FALSE(CudaGraphs{CudaGraphs::Sizes::none, 512, true}.hold(equal_decodes(1, 10)));
}

TEST_CASE("engine: a padded batch costs what one of the graph's size does, but for attention and sampling",
          "[engine]") {
  const Engine engine(without_launches());
  BatchShape three = equal_decodes(3, 1000);
  three.padding = 1;
  // Four of the same contexts attend to more and sample more; three without padding have fewer rows.
  CHECK(engine.step(three) >= engine.step(equal_decodes(3, 1000)));
  CHECK(engine.step(three) < engine.step(equal_decodes(4, 1000)));
  CHECK(engine.model->step({three}).flops > engine.model->step({equal_decodes(3, 1000)}).flops);
  CHECK(three.tokens() == 3);
}

TEST_CASE("engine: outside of graphs a step is the longer of its kernels and their launches", "[engine]") {
  const Engine bare(without_launches());
  const Prompt prompt(64);
  for (const BatchShape& shape : {equal_decodes(8, 500), prompt.shape()}) {
    const Seconds host = Seconds(1e-4) + static_cast<double>(shape.sequences) * Seconds(1e-6);
    const Seconds kernels = bare.step(shape) - host;
    const Seconds step(2e-3), long_launch = 2. / bare.kernels * kernels, short_launch = 1e-3 * long_launch;
    check_near(Engine(eager(step, long_launch)).step(shape), step + 2. * kernels + host);
    check_near(Engine(eager(Seconds(0), short_launch)).step(shape), kernels + host);
    EngineOverhead captured = eager(step, long_launch);
    captured.graphs.sizes = CudaGraphs::Sizes::every;
    check_near(Engine(captured).step(shape), kernels + host);
    // The parts of a step's time add up, and the host is one of them.
    const StepCost cost = Engine(eager(step, long_launch)).model->step({shape});
    check_near(cost.time, cost.compute_bound + cost.memory_bound + cost.link_bound + cost.host_bound);
    check_near(cost.host_bound, step + kernels + host);
  }
}

TEST_CASE("engine: a scheduler that runs ahead hides what requests cost the host, until that is longer",
          "[engine]") {
  const Prompt prompt(64);
  for (const BatchShape& shape : {equal_decodes(8, 500), prompt.shape()}) {
    const auto requests = static_cast<double>(shape.sequences);
    EngineOverhead engine{.kind = "test", .per_step = Seconds(1e-4), .per_sequence = Seconds(0)};
    const Seconds kernels = Engine(engine).step(shape) - Seconds(1e-4);
    for (const double share : {0., 0.5, 0.99, 1.01, 3.}) {
      CAPTURE(share);
      engine.per_sequence = share / requests * kernels;
      engine.overlapped = false;
      check_near(Engine(engine).step(shape), Seconds(1e-4) + (1 + share) * kernels);
      engine.overlapped = true;
      check_near(Engine(engine).step(shape), Seconds(1e-4) + std::max(1., share) * kernels);
    }
  }
}

TEST_CASE(
    "engine: a run of steps outside of graphs is those steps, where launches take longer, where kernels do "
    "and between",
    "[engine]") {
  const Engine bare(without_launches());
  const std::int64_t steps = 3000;
  const BatchShape first = equal_decodes(64, 200);
  const auto at = [&](std::int64_t step) { return equal_decodes(64, 200 + step); };
  const Seconds host = Seconds(1e-4) + 64. * Seconds(1e-6);
  for (const double where : {-0.5, 0.3, 0.5, 0.999, 2.}) {
    const Seconds floor = bare.step(first) - host + where * (bare.step(at(steps)) - bare.step(first));
    const Engine engine(eager(floor, Seconds(0)));
    std::vector<StepRun> runs;
    REQUIRE(engine.model->decode_run({first}, steps, runs) == steps);
    std::int64_t step = 0;
    StepCost lines, one_by_one;
    for (const StepRun& run : runs) {
      lines += run.total(run.steps);
      for (std::int64_t i = 0; i < run.steps; ++i, ++step) {
        const StepCost cost = engine.model->step({at(step)});
        one_by_one += cost;
        CHECK((run.first.time + static_cast<double>(i) * run.slope.time).value() ==
              Approx(cost.time.value()).epsilon(1e-9));
      }
    }
    CAPTURE(where, runs.size());
    CHECK(step == steps);
    check_near(lines.time, one_by_one.time);
    check_near(lines.energy, one_by_one.energy);
    check_near(lines.host_bound, one_by_one.host_bound);
    check_near(lines.time, lines.compute_bound + lines.memory_bound + lines.link_bound + lines.host_bound);
  }
}

TEST_CASE("engine: a run of steps that the timeline plays is those steps, on both sides of the floor",
          "[engine]") {
  Rank rank = replica_on("l2_npu", "hccs_mesh", "");
  const Json preserve = {{"kind", "preserve"}};
  Reading reading("test");
  rank.prefetch = make_from(prefetch_policies(), Params(reading, preserve), {"kind", "which"});
  const std::int64_t steps = 2000;
  const auto at = [](std::int64_t step) { return equal_decodes(16, 1000 + step); };
  const auto model_with = [&](Seconds floor) {
    rank.engine = eager(floor, Seconds(0));
    const StageGraph stage = build_stage(catalog_model("llama3-8b"), {}, {8, 1, 1}, 0);
    return std::make_unique<StepModel>(rank, place(rank, stage), false);
  };
  const auto bare = model_with(Seconds(0));
  REQUIRE_FALSE(bare->serial());
  const Seconds host = Seconds(1e-4) + 16. * Seconds(1e-6);
  const Seconds first = bare->step({at(0)}).time - host, last = bare->step({at(steps)}).time - host;
  for (const double where : {-0.5, 0.4, 2.}) {
    const auto model = model_with(first + where * (last - first));
    std::vector<StepRun> runs;
    for (std::int64_t covered = 0; covered < steps;)
      covered += model->decode_run({at(covered)}, steps - covered, runs);
    StepCost lines, one_by_one;
    for (const StepRun& run : runs) lines += run.total(run.steps);
    for (std::int64_t step = 0; step < steps; ++step) one_by_one += model->step({at(step)});
    CAPTURE(where, runs.size());
    check_near(lines.time, one_by_one.time);
    check_near(lines.host_bound, one_by_one.host_bound);
    check_near(lines.energy, one_by_one.energy);
  }
}

TEST_CASE("engine: each chunk of a prompt costs its host time once", "[engine]") {
  EngineOverhead engine = without_launches();
  const Prompt prompt(64);
  const Seconds without = Engine(engine).step(prompt.shape()),
                decoding = Engine(engine).step(equal_decodes(8, 500));
  engine.per_prompt = Seconds(2e-2);
  check_near(Engine(engine).step(prompt.shape()), without + Seconds(2e-2));
  check_near(Engine(engine).step(equal_decodes(8, 500)), decoding);
  const std::array<PrefillChunk, 3> chunks = {{{10, 0}, {20, 0}, {5, 100}}};
  BatchShape three = equal_decodes(4, 100);
  three.prefill = chunks;
  check_near(engine.host_time(three) - without_launches().host_time(three), Seconds(6e-2));
}

TEST_CASE("engine: small kernels take their time in every layer, busy as others are", "[engine]") {
  EngineOverhead engine = without_launches();
  const BatchShape shape = equal_decodes(8, 500);
  const StepCost without = Engine(engine).model->step({shape});
  engine.small_kernels = Seconds(5e-6);
  const StepCost with = Engine(engine).model->step({shape});
  check_near(with.time, without.time + 32. * Seconds(5e-6));
  check_near(with.busy[0], without.busy[0] + 32. * Seconds(5e-6));
}

TEST_CASE("engine: workers of their own cost where a replica has several devices", "[engine]") {
  EngineOverhead engine = without_launches();
  engine.workers_per_step = Seconds(6e-4);
  engine.workers_per_sequence = Seconds(2e-5);
  const BatchShape shape = equal_decodes(8, 500);
  const Seconds alone = engine.on(1).host_time(shape);
  check_near(alone, Seconds(1e-4 + 8e-6));
  check_near(engine.on(2).host_time(shape), alone + Seconds(6e-4 + 1.6e-4));
}
