// Decode attention on the PIM channels of an NPU.
#include <catch2/catch.hpp>
#include <random>
#include <thread>

#include "models/memory/pim/pim_costs.h"
#include "sim/studies/validation/kernels.h"
#include "test/devices/priced.h"
#include "test/models/llm/decode_shape.h"
#include "test/models/llm/parts.h"

namespace weir::test {
namespace {

Operator part(Attention::Part part, std::int64_t heads = 8, std::int64_t head_dim = 128) {
  Operator op = attention_operator(heads, heads, head_dim);
  std::get<Attention>(op.kernel).part = part;
  return op;
}

struct Decodes {
  std::vector<DecodeContext> contexts;

  Decodes(int channels, int requests, unsigned seed) {
    std::mt19937 random(seed);
    for (int i = 0; i < requests; ++i)
      contexts.push_back({std::uniform_int_distribution<std::int64_t>(1, 1500)(random),
                          std::uniform_int_distribution<int>(0, channels - 1)(random)});
  }
  BatchShape batch() const { return decode_shape(contexts); }
};

std::vector<Seconds> by_channel(const Device& device, const Operator& op, const BatchShape& batch) {
  std::vector<Seconds> times(static_cast<std::size_t>(device.spec().own().members), Seconds(-1));
  device.cost_by_member(lowered(op, batch), placed_on(device, op).unit, times);
  return times;
}

KernelCost on_unit(const Device& device, const Operator& op, const BatchShape& batch) {
  return priced(device, placed_on(device, op), batch);
}

}  // namespace

TEST_CASE("PIM attention: a channel takes the sum of its requests' bank-model times, the slowest counts") {
  for (const char* kind : {"neupims_npu", "npu_pim_blocked"})
    for (const char* timing : {"physical", "artifact"}) {
      const auto device = catalog_device(kind, {{"pim_timing", timing}});
      PimCosts costs(find_memory("hbm2_neupims"),
                     {.timing = std::string(timing) == "physical" ? PimTiming::physical : PimTiming::artifact,
                      .buffers = std::string(kind) == "neupims_npu" ? RowBuffers::dual : RowBuffers::single});
      const Decodes decodes(32, 40, 3);
      const BatchShape batch = decodes.batch();
      for (const auto& [operation, pim] : {std::pair{Attention::Part::logit, PimOp::logit},
                                           std::pair{Attention::Part::attend, PimOp::attend}}) {
        std::vector<double> cycles(32);
        Joules energy;
        for (const DecodeContext& c : decodes.contexts) {
          const PimRequest request{pim, c.tokens, 8, 128};
          cycles[static_cast<std::size_t>(c.channel)] += costs.sustained(request);
          energy += costs.energy(request).total();
        }
        const std::vector<Seconds> times = by_channel(*device, part(operation), batch);
        for (std::size_t c = 0; c < 32; ++c) CHECK(times[c].value() == Approx(cycles[c] * 1e-9));
        const KernelCost cost = on_unit(*device, part(operation), batch);
        CHECK(cost.time == *std::max_element(times.begin(), times.end()));
        CHECK(cost.energy.value() == Approx(energy.value() + device->spec().power.per_byte.value() *
                                                                 cost.moved[own_memory].value()));
        // Only vectors and results cross the bus, not K and V.
        const double kv = static_cast<double>(batch.decode_context_sum) * 8 * 128 * 2;
        CHECK(cost.moved[own_memory].value() < 0.05 * kv);
        CHECK(cost.moved[own_memory].value() > static_cast<double>(batch.decode_context_sum) * 8 * 2);
      }
    }
}

TEST_CASE("PIM attention: what crosses the bus of one request") {
  const auto device = catalog_device("neupims_npu");
  Decodes one(32, 0, 1);
  one.contexts = {{1024, 5}};
  const BatchShape batch = one.batch();
  CHECK(on_unit(*device, part(Attention::Part::logit), batch).moved[own_memory] ==
        Bytes(8. * (128 + 1024) * 2));
  // The sums of two pages of scores come out apart.
  CHECK(on_unit(*device, part(Attention::Part::attend), batch).moved[own_memory] ==
        Bytes(8. * (1024 + 2 * 128) * 2));
  const KernelCost softmax = on_unit(*device, part(Attention::Part::softmax), batch);
  CHECK(softmax.time.value() == Approx(3. * 8 * 1024 / 1024 / 1e9));
  CHECK(softmax.moved[own_memory] == Bytes(0));
}

TEST_CASE("PIM attention: dual row buffers are never slower than single, nor more channels, nor no refresh") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const Decodes decodes(32, 100, seed);
    Decodes spread = decodes;  // the same requests, each on one of 64 channels
    for (std::size_t i = 0; i < spread.contexts.size(); ++i)
      if (i % 2) spread.contexts[i].channel += 32;
    for (const auto kind : {Attention::Part::logit, Attention::Part::attend}) {
      const auto time = [&](const Json& overrides, const Decodes& of) {
        return on_unit(*catalog_device("neupims_npu", overrides), part(kind), of.batch()).time;
      };
      const Seconds dual = time(Json::object(), decodes);
      // A refresh may meet another clock of the stream that a shape is played in.
      REQUIRE(dual <= 1.0001 * time({{"row_buffers", "single"}}, decodes));
      REQUIRE(time({{"memory_channels", 64}}, spread) <= dual);
      REQUIRE(time({{"pim_refresh", "off"}}, decodes) < dual);
    }
  }
}

TEST_CASE("PIM attention: single row buffers withhold the whole memory, dual ones a part") {
  const Decodes decodes(32, 40, 5);
  const auto withheld = [&](const char* kind) {
    const std::vector<Unit> units = catalog_device(kind)->spec().units;
    return units[static_cast<std::size_t>(unit_running(units, KernelKind::logit))].ports.at(0).withheld;
  };
  CHECK(withheld("npu_pim_blocked") == 1);
  CHECK(withheld("neupims_npu") > 0.1);
  CHECK(withheld("neupims_npu") < 0.4);
}

TEST_CASE(
    "PIM attention: in the paper's set it is Algorithm 1 with ceilings, 2.5 times as long when blocked") {
  Decodes one(32, 0, 1);
  one.contexts = {{305, 0}};
  const auto cycles = [&](const char* kind, Attention::Part operation) {
    Reading reading("test");
    const Json nothing = Json::object();
    Params params(reading, nothing);
    // GPT3-30B on 4 devices: 14 heads of 128 each, E = 7168 / 4.
    return on_unit(*make_device(kind, params, "paper"), part(operation, 14), one.batch()).time.value() * 1e9;
  };
  // neupims.md: 7760 and 11704.
  CHECK(cycles("neupims_npu", Attention::Part::logit) == Approx(7760));
  CHECK(cycles("neupims_npu", Attention::Part::attend) == Approx(11704));
  CHECK(cycles("npu_pim_blocked", Attention::Part::logit) == Approx(2.5 * 7760));
}

TEST_CASE("PIM attention: asked by many threads at once, the tables say the same") {
  const Decodes decodes(32, 300, 9);
  const Operator op = part(Attention::Part::attend, 3, 96);  // of no other test: the table is empty
  std::vector<KernelCost> costs(4);
  std::vector<std::thread> threads;
  for (KernelCost& cost : costs)
    threads.emplace_back(
        [&cost, &decodes, &op] { cost = on_unit(*catalog_device("neupims_npu"), op, decodes.batch()); });
  for (std::thread& thread : threads) thread.join();
  for (const KernelCost& cost : costs) {
    CHECK(cost.time == costs[0].time);
    CHECK(cost.energy == costs[0].energy);
    CHECK(cost.moved[own_memory] == costs[0].moved[own_memory]);
  }
}

TEST_CASE(
    "PIM attention: steps of decodes on channels are no line, those of plain NPUs as long as one holds") {
  const Decodes decodes(32, 4, 1);
  const auto pim = catalog_device("neupims_npu"), plain = catalog_device("npu_only");
  for (const Attention::Part kind : {Attention::Part::logit, Attention::Part::attend})
    CHECK(line_steps(*pim, placed_on(*pim, part(kind)), decodes.batch()) == 1);
  const Operator whole = part(Attention::Part::whole);
  const std::int64_t holds = line_steps(*plain, whole, decodes.batch());
  CHECK(holds == decode_attention(*plain, whole, decodes.batch()).steps);
  CHECK(holds > 1);
}

TEST_CASE("PIM attention: what cannot be asked is refused in words") {
  const Decodes decodes(32, 4, 1);
  const auto pim = catalog_device("neupims_npu"), plain = catalog_device("npu_only");
  CHECK_THROWS_WITH(on_unit(*plain, part(Attention::Part::logit), decodes.batch()),
                    Catch::Contains("no PIM"));
  CHECK_THROWS_WITH(on_unit(*pim, part(Attention::Part::logit), decode_batch(4, 10)),
                    Catch::Contains("channels"));
  CHECK_THROWS_WITH(decode_attention(*pim, placed_on(*pim, part(Attention::Part::logit)), decodes.batch()),
                    Catch::Contains("not affine"));
  StageGraph stage;
  boost::add_vertex(part(Attention::Part::logit, 1, 1024), part(stage, "block"));
  CHECK_THAT(cannot_run(*pim, stage), Catch::Contains("1024"));
  CHECK_THAT(cannot_run(*plain, stage), Catch::Contains("npu_units"));
  CHECK(on_unit(*pim, part(Attention::Part::logit), BatchShape{}).time == Seconds(0));
}

// A COMP has 16 elements: 1,000 tokens count as 1,008, two pages of 512. A head of 80 is 3 x 32 banks' wide.
TEST_CASE("PIM attention: what crosses the bus of one request that fills neither pages, banks nor COMPs") {
  const auto device = catalog_device("neupims_npu");
  Decodes one(32, 0, 1);
  one.contexts = {{1000, 5}};
  const KernelCost logit = on_unit(*device, part(Attention::Part::logit, 6, 80), one.batch()),
                   attend = on_unit(*device, part(Attention::Part::attend, 6, 80), one.batch());
  CHECK(logit.moved[own_memory] == Bytes(6. * (80 + 1024) * 2));
  CHECK(attend.moved[own_memory] == Bytes(6. * (1008 + 2 * 96) * 2));
  CHECK(logit.flops.value() == 2. * 6 * 80 * 1000);
  CHECK(attend.flops.value() == 2. * 6 * 80 * 1000);
  CHECK(logit.traffic.value() == Approx(6. * (80 + 1024) * 2 / 1.024e12));
  CHECK(logit.compute == logit.time);
}

}  // namespace weir::test
