// Times that a scheduler is told add up to those of the step that it then decides.
#include "sim/step/predict/exact_times.h"

#include <array>

#include "test/models/llm/models.h"
#include "test/step/played_step.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("exact times: attention and all else of a stage are its step, in the last half of the layers",
          "[engine]") {
  Rank rank = replica_on("h100_sxm", "nvlink4_switch", "vllm");
  rank.engine = {};
  const StageGraph stage = place(rank, build_stage(catalog_model("llama3.1-8b"), {}, {4, 2, 1}, 1));
  const StepModel model(rank, stage, false);
  const ExactTimes times(rank, stage);
  const std::array<DecodeContext, 3> contexts = {{{700, 0}, {40, 0}, {3000, 0}}};
  BatchShape decodes;
  decodes.decodes = decodes.sequences = 3;
  decodes.decode_context_sum = 3740;
  decodes.decode_context_max = 3000;
  const Seconds step = model.step({decodes}).time;
  CHECK((times.batched(0, 3) + times.decode_attention(contexts)).value() == Approx(step.value()));
  CHECK(times.decode_attention(contexts).value() > 0);
  CHECK(times.decode_attention({}) == Seconds(0));
  const std::array<PrefillChunk, 2> chunks = {{{500, 0}, {60, 900}}};
  BatchShape prompts;
  prompts.prefill = chunks;
  prompts.prefill_tokens = 560;
  CHECK((times.batched(560, 0) + times.prefill_attention(chunks)).value() ==
        Approx(model.step({prompts}).time.value()));
  // Together, and asked again.
  BatchShape both = decodes;
  both.prefill_tokens = 560;
  StepCost without;
  for_each_operator(stage, [&](const Operator& op, double often) {
    if (!follows_contexts(op)) without.time += often * rank.cost(op, both).time;
  });
  for (int i = 0; i < 2; ++i) CHECK(times.batched(560, 3).value() == Approx(without.time.value()));
  CHECK(times.batched(3, 560) > times.batched(560, 3));  // more rows of the LM head
}
