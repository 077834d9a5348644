// A step whose decodes verify drafts, and that drafts the next ones: summed as it is played, and as dear as
// its parts.
#include <catch2/catch.hpp>

#include "models/llm/drafts.h"
#include "test/models/llm/models.h"
#include "test/step/played_step.h"

using namespace weir;
using namespace weir::test;

namespace {

StageGraph drafting_stage(const Rank& replica, const Drafting& drafting, const Sharding& cut) {
  const Architecture target = catalog_model("llama3.1-70b");
  StageGraph stage = build_stage(target, {}, cut, cut.pipeline - 1);
  append_drafts(stage, drafting, target, {}, cut);
  return place(replica, std::move(stage));
}

Drafting drafting_of(Drafting::By by, std::int64_t tokens) {
  return {by, tokens, by == Drafting::By::model ? catalog_model("llama3.1-8b") : Architecture{}};
}

// The steps that follow one, in which each of its decodes has so many tokens more.
std::vector<DecodeContexts> grown_by(const BatchShape& first, std::int64_t tokens, std::int64_t steps) {
  std::vector<DecodeContexts> later;
  for (std::int64_t i = 1; i < steps; ++i)
    later.push_back(
        {first.decode_context_sum + i * tokens * first.decodes, first.decode_context_max + i * tokens});
  return later;
}

}  // namespace

TEST_CASE("drafts in a step: summed and played, it takes the same time, bytes and energy", "[engine]") {
  std::mt19937_64 random(11);
  for (const Drafting::By by : {Drafting::By::lookup, Drafting::By::layer, Drafting::By::model})
    for (const Sharding& cut : {Sharding{4, 1, 1}, Sharding{4, 2, 1}}) {
      const Rank replica = replica_on("h100_sxm", "nvlink4_switch", "vllm");
      const StageGraph placed = drafting_stage(replica, drafting_of(by, 3), cut);
      const StepModel summed(replica, placed, false);
      REQUIRE(summed.serial());
      for (int i = 0; i < 6; ++i) {
        RandomBatch batch(random);
        batch.shape.decode_rows = 4;
        const Seconds host = Seconds(1e-3) + static_cast<double>(batch.shape.sequences) * Seconds(1e-5);
        check_same(summed.step({batch.shape}), play(replica, placed, batch.shape, i % 2 > 0), host);
      }
    }
}

TEST_CASE("drafts in a step: a run costs what its steps cost one by one", "[engine]") {
  const Rank replica = replica_on("h100_sxm", "nvlink4_switch", "vllm");
  const StepModel model(replica, drafting_stage(replica, drafting_of(Drafting::By::layer, 2), {4, 1, 1}),
                        false);
  BatchShape batch;
  batch.decodes = batch.sequences = 17, batch.decode_rows = 3;
  batch.decode_context_sum = 17 * 900, batch.decode_context_max = 1400;
  const std::vector<DecodeContexts> later = grown_by(batch, 2, 9);
  std::vector<StepRun> runs;
  REQUIRE(model.decode_run({.whole = batch, .later = later}, 9, runs) == 9);
  REQUIRE(runs.size() == 9);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CHECK(runs[i].steps == 1);
    CHECK(runs[i].first.time == model.step({batch}).time);
    if (i < later.size()) batch.decode_context_sum = later[i].sum, batch.decode_context_max = later[i].max;
  }
}

TEST_CASE("drafts in a step: more of them cost more, and a layer less than a model", "[engine]") {
  const Rank replica = replica_on("h100_sxm", "nvlink4_switch", "vllm");
  BatchShape batch;
  batch.decodes = batch.sequences = 32;
  batch.decode_context_sum = 32 * 1000, batch.decode_context_max = 1000;
  Seconds before(0);
  for (std::int64_t tokens = 1; tokens <= 8; ++tokens) {
    batch.decode_rows = 1 + tokens;
    const auto time = [&](Drafting::By by) {
      return StepModel(replica, drafting_stage(replica, drafting_of(by, tokens), {4, 1, 1}), false)
          .step({batch})
          .time;
    };
    const Seconds layer = time(Drafting::By::layer);
    CHECK(layer > before);
    CHECK(layer > time(Drafting::By::lookup));
    CHECK(layer < time(Drafting::By::model));
    before = layer;
  }
}
