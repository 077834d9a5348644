// Steps of decodes on an NPU with PIM: one batch, or two sub-batches as independent chains.
#include <catch2/catch.hpp>

#include "sim/studies/validation/kernels.h"
#include "test/models/llm/decode_shape.h"
#include "test/models/llm/models.h"
#include "test/models/llm/parts.h"
#include "test/policies/make_policy.h"
#include "test/step/played_step.h"
#include "test/step/timeline/random_step.h"

using namespace weir;
using namespace weir::test;

namespace {

constexpr Precision fp16{
    .weights = DataType::fp16, .activations = DataType::fp16, .kv_cache = DataType::fp16};

struct NeuPims {
  Rank replica = replica_on("neupims_npu", "nvlink3_switch", "");
  StageGraph placed;
  NeuPims() {
    replica.engine = {};
    replica.partitioning = make_policy(partitioning_policies(), "npu_pim");
    placed = place(replica, build_stage(catalog_model("gpt3-7b"), fp16, {4, 1, 1}, 0));
  }
  StepModel model() const { return StepModel(replica, placed, false); }
};

// So many decodes, of which every second is a sub-batch's.
struct Decodes {
  std::vector<DecodeContext> all, half[2];
  Decodes(std::mt19937_64& random, int requests) {
    for (int i = 0; i < requests; ++i) {
      all.push_back({uniform_int(random, 1, 900), uniform_int(random, 0, 31)});
      half[i % 2].push_back(all.back());
    }
  }
};

// What a step costs however it is asked for: whole, in halves, or the faster.
std::vector<StepCost> costs(const StepModel& model, const Decodes& decodes) {
  const BatchShape whole = decode_shape(decodes.all);
  const BatchShape halves[] = {decode_shape(decodes.half[0]), decode_shape(decodes.half[1])};
  return {model.step({whole}), model.step({whole, halves}), model.step({whole, halves, true})};
}

}  // namespace

TEST_CASE("interleaved step: it costs the same whatever was asked before, and the faster way is the faster",
          "[engine]") {
  const NeuPims neupims;
  const StepModel asked = neupims.model();
  std::mt19937_64 random(3);
  for (int round = 0; round < 30; ++round) {
    const Decodes decodes(random, round % 3 > 0 ? 40 : uniform_int(random, 2, 300));
    const std::vector<StepCost> again = costs(asked, decodes), fresh = costs(neupims.model(), decodes);
    for (std::size_t way = 0; way < again.size(); ++way) {
      CHECK(again[way].time == fresh[way].time);
      CHECK(again[way].flops == fresh[way].flops);
      CHECK(again[way].moved[own_memory] == fresh[way].moved[own_memory]);
      CHECK(again[way].energy == fresh[way].energy);
    }
    CHECK(again[2].time == std::min(again[0].time, again[1].time));
    CHECK(again[1].moved[own_memory] > again[0].moved[own_memory]);  // weights twice
    CHECK(again[1].flops.value() == Approx(again[0].flops.value()));
  }
}

TEST_CASE("interleaved step: groups of heads of one size cost what each of them costs", "[engine]") {
  const NeuPims neupims;
  std::mt19937_64 random(4);
  const Decodes decodes(random, 100);
  const BatchShape batch = decode_shape(decodes.all);
  Flops flops;
  Joules energy;
  const auto add = [&](const OperatorGraph& part, double times) {
    for (const auto v : boost::make_iterator_range(boost::vertices(part))) {
      const KernelCost cost = neupims.replica.cost(part[v], batch);
      flops += times * cost.flops;
      energy += times * cost.energy;
    }
  };
  add(part(neupims.placed, "prologue"), 1);
  add(part(neupims.placed, "block"), static_cast<double>(layers_of(neupims.placed)));
  add(part(neupims.placed, "epilogue"), 1);
  const StepCost step = neupims.model().step({batch});
  CHECK(step.flops.value() == Approx(flops.value()));
  CHECK(step.energy.value() == Approx(energy.value()));
}

TEST_CASE("interleaved step: the PIM is slower beside the other sub-batch's weights, by what it is at most",
          "[engine]") {
  const NeuPims neupims;
  const StepModel model = neupims.model();
  const double most = neupims.replica.on->spec().units[2].ports[0].slowed;
  CHECK((most > 0.05 && most < 0.2));  // docs/memory_models.md: 12 %
  std::mt19937_64 random(5);
  const Decodes decodes(random, 256);
  const BatchShape whole = decode_shape(decodes.all);
  const BatchShape halves[] = {decode_shape(decodes.half[0]), decode_shape(decodes.half[1])};
  // Of every operator on the PIM, by how much longer than alone it ran: than the longest it can have been.
  const auto slowdowns = [&](const StepWork& work, std::span<const BatchShape> chains) {
    std::vector<double> alone;
    for (const BatchShape& chain : chains)
      for (const auto v : boost::make_iterator_range(boost::vertices(part(neupims.placed, "block"))))
        if (const Operator& op = part(neupims.placed, "block")[v]; op.unit == 2)
          alone.push_back(neupims.replica.cost(op, chain).time.value());
    std::vector<double> slow;
    for (const OperatorSpan& span : model.operators(work)) {
      if (span.unit != 2) continue;
      const double took = (span.finish - span.start).value();
      double nearest = 1e9;
      for (const double time : alone)
        if (took >= time * (1 - 1e-9)) nearest = std::min(nearest, took / time);
      slow.push_back(nearest);
    }
    return slow;
  };
  const std::vector<double> by_itself = slowdowns({whole}, {&whole, 1});
  REQUIRE(by_itself.size() > 64);
  for (const double slow : by_itself) CHECK(slow == Approx(1));
  const std::vector<double> beside = slowdowns({whole, halves}, halves);
  CHECK(*std::ranges::max_element(beside) > 1 + 0.5 * most);
  for (const double slow : beside) CHECK((slow >= 1 - 1e-9 && slow <= (1 + most) * (1 + 1e-9)));
}
