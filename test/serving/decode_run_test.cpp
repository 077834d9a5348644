// A run of decode steps: which of them are over at a time, on devices at another pace.
#include "sim/serving/server/decode_run.h"

#include "test/models/llm/decode_shape.h"
#include "test/models/llm/models.h"
#include "test/step/played_step.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("decode run: steps are over just when they end, and a cut leaves the one under way", "[engine]") {
  const Rank rank = replica_on("h100_sxm", "nvlink4_switch", "vllm");
  const StepModel model(rank, place(rank, build_stage(catalog_model("llama3.1-8b"), {}, {}, 0)), false);
  const double pace = 0.5;
  std::vector<double> ends = {0};  // of its steps, each of which takes twice as long
  for (int i = 0; i < 900; ++i)
    ends.push_back(ends.back() + model.step({equal_decodes(7, 100 + i)}).time.value() / pace);
  DecodeRun run;
  const auto begin = [&] {
    const BatchShape first = equal_decodes(7, 100);
    run.start(Seconds(40));
    run.plan(model, {first}, 900, pace);
  };
  begin();
  REQUIRE(run.pieces().size() > 1);
  CHECK(run.began() == Seconds(40));
  CHECK(run.steps() == 900);
  for (const std::size_t n : {1u, 2u, 300u, 899u, 900u}) {
    CAPTURE(n);
    const auto steps = static_cast<std::int64_t>(n);
    CHECK(run.time(steps).value() == Approx(ends[n]));
    CHECK(run.total(steps).time.value() == Approx(ends[n]));
    const Seconds exact = run.began() + run.time(steps);
    CHECK(run.steps_by(exact) == steps);
    CHECK(run.steps_by(exact - Seconds(1e-7)) == steps - 1);
  }
  CHECK(run.end().value() == Approx(40 + ends[900]));
  CHECK(run.steps_by(Seconds(40)) == 0);
  CHECK(run.steps_by(Seconds(1e6)) == 900);
  // Bytes and joules are the steps' own at any pace.
  StepCost five;
  for (int i = 0; i < 5; ++i) five += model.step({equal_decodes(7, 100 + i)});
  CHECK(run.total(5).moved[own_memory].value() == Approx(five.moved[own_memory].value()));
  CHECK(run.total(5).energy.value() == Approx(five.energy.value()));
  CHECK(run.total(5).busy[0].value() == Approx(2 * five.busy[0].value()));

  const Seconds middle = run.began() + Seconds((ends[20] + ends[21]) / 2);
  run.end_by(middle);  // not with the one under way
  CHECK(run.steps() == 20);
  begin();
  run.cut_at(middle, 0);
  CHECK(run.steps() == 21);
  CHECK(run.time().value() == Approx(ends[21]));
  begin();
  run.cut_at(middle, 6);
  CHECK(run.steps() == 27);
  run.cut_at(middle, 600);  // it ends sooner
  CHECK(run.steps() == 27);
}
