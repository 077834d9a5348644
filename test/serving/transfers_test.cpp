// KV caches that are handed over: beside collectives on the same links, and layer by layer.
#include <catch2/catch.hpp>
#include <cstring>
#include <simgrid/s4u.hpp>

#include "sim/app/child_process.h"
#include "sim/serving/platform/courier.h"
#include "sim/serving/platform/engine.h"
#include "sim/serving/server/stage_collectives.h"
#include "test/serving/run_in_child.h"
#include "test/workloads/samples.h"

using namespace weir;
namespace sg4 = simgrid::s4u;
using test::Outcome;

namespace {

constexpr double bandwidth = 5e9;        // of each device to its peers, bytes a second
constexpr double kv_per_token = 131072;  // llama3.1-8b in bf16: 2 x 32 layers x 8 KV heads x 128 x 2 bytes
constexpr double layers = 32;

// Prompts on the first devices of a node, generation on as many others, over links that nobody measured.
Json apart(int tensor, const std::string& handover) {
  Json s = test::small_scenario();
  s["cluster"]["nodes"][0]["devices"][0]["count"] = 2 * tensor;
  s["cluster"]["nodes"][0]["interconnect"] = {
      {"shape", "switch"}, {"bandwidth_gb_per_s", bandwidth / 1e9}, {"latency_us", 2}};
  Json prompts = {{"role", "prefill"}, {"engine", {{"kind", "ideal"}}}};
  prompts["parallelism"]["tensor"] = tensor;
  Json decodes = prompts;
  decodes["role"] = "decode";
  prompts["kv_cache"]["handover"] = handover;
  s["serving"]["replicas"] = {prompts, decodes};
  s["workload"]["arrivals"] = {{"kind", "poisson"}, {"rate_per_s", 4}};
  return s;
}

double kv_bytes(const Outcome& outcome) {
  double sum = 0;
  for (const RequestRecord& r : outcome.requests)
    if (r.request.output_tokens > 1) sum += static_cast<double>(r.request.input_tokens) * kv_per_token;
  return sum;
}

struct Played {
  double step, ideal, sent_in;  // seconds; the last: of the bytes of its collectives over one idle link
  double transfer;              // seconds
};

// A step of a prompt on the prefill replica, `after` the begin of a transfer over each of its devices' links
// that takes `long_as` steps alone. 0: there is none.
std::string play(double after, double long_as) {
  const Plan plan = read_plan(apart(4, "whole"), "test.json");
  const Rank& rank = plan.replicas[0].rank;
  const auto model = std::make_shared<StepModel>(rank, plan.replicas[0].stages[0], false);
  const PrefillChunk chunk{4096, 0, 0};
  BatchShape batch;
  batch.prefill_tokens = chunk.tokens;
  batch.sequences = 1;
  batch.prefill = {&chunk, 1};
  StepCost cost = model->step({batch});
  const auto engine = make_engine();
  const Cluster cluster(plan.scenario);
  Recorder recorder(plan.scenario.workload, {}, false);
  LinkTraffic traffic(recorder);
  std::vector<sg4::Host*> ranks;
  std::vector<Lockstep::Device> devices;
  std::vector<LinkFlow> transfer;
  for (int i = 0; i < 4; ++i) {
    ranks.push_back(cluster.device({0, i}));
    devices.push_back({ranks.back(), nullptr});
    transfer.push_back(
        {ranks.back(), cluster.device({0, 4 + i}), long_as * bandwidth * Bytes(cost.time.value())});
  }
  Lockstep lockstep("test", devices, false);
  lockstep.start();
  StageCollectives collectives(rank, model, ranks, traffic, [] {});
  Played played{0, cost.time.value(), cost.moved[interconnect].value() / bandwidth, 0};
  sg4::Actor::create("step", ranks[0], [&] {
    collectives.play(lockstep, {cost.time, Seconds(0)}, batch, cost);
    played.step = sg4::Engine::get_clock();
  });
  if (long_as > 0)
    sg4::Actor::create("transfer", cluster.node(0), [&] {
      sg4::this_actor::sleep_for(after * played.ideal);
      transfer_and_wait(transfer, traffic);
      played.transfer = sg4::Engine::get_clock() - after * played.ideal;
    });
  engine->run();
  return {reinterpret_cast<const char*>(&played), sizeof(played)};
}

Played played(double after, double long_as) {
  Played result{};
  in_children(
      1, 1, [&](std::size_t) { return play(after, long_as); },
      [&](std::size_t, ChildResult child) {
        REQUIRE(child.error == "");
        REQUIRE(child.output.size() == sizeof(result));
        std::memcpy(&result, child.output.data(), sizeof(result));
        return true;
      });
  return result;
}

}  // namespace

TEST_CASE("transfers: a step alone takes what its cost says, to the last digits", "[engine]") {
  const Played alone = played(0, 0);
  CHECK(alone.sent_in > 0.2 * alone.ideal);
  CHECK(alone.step == Approx(alone.ideal).epsilon(1e-12));
}

TEST_CASE("transfers: beside one that goes on, collectives have half of the links, whenever it began",
          "[engine]") {
  for (const double after : {0., 0.25, 0.5, 0.9}) {
    INFO(after);
    const Played beside = played(after, 10);
    // In the rest of the step, its collectives' bytes take twice as long.
    CHECK(beside.step == Approx(beside.ideal + (1 - after) * beside.sent_in).epsilon(0.005));
    // And the transfer waits as long as it gave half of the links away.
    CHECK(beside.transfer == Approx(10 * beside.ideal + (1 - after) * beside.sent_in).epsilon(0.002));
  }
}

TEST_CASE("transfers: a short one and a step lose the same bytes of the links to each other", "[engine]") {
  for (const double after : {0., 0.3, 0.6}) {
    INFO(after);
    const Played beside = played(after, 0.2);
    const double step_lost = beside.step - beside.ideal, lost = beside.transfer - 0.2 * beside.ideal;
    CHECK(step_lost == Approx(lost).epsilon(0.15));
    // While it lasts, the links are with collectives for that share of the time.
    const double share = beside.sent_in / beside.ideal;
    CHECK(lost == Approx(0.2 * beside.ideal * share).epsilon(0.25));
  }
}

TEST_CASE("transfers: every byte of collectives and of KV caches crosses the links once", "[engine]") {
  for (const int tensor : {1, 2, 4})
    for (const char* handover : {"whole", "layerwise"})
      for (const bool tight : {false, true}) {
        INFO(tensor << " " << handover << " " << tight);
        Json scenario = apart(tensor, handover);
        if (tight) {  // prompts are preempted, and computed again in chunks
          scenario["serving"]["replicas"][0]["kv_cache"]["blocks"] = 600;
          scenario["serving"]["replicas"][0]["batching"]["max_batch_tokens"] = 256;
          scenario["workload"]["arrivals"] = {{"kind", "all_at_once"}};
        }
        const Outcome outcome = test::run(scenario);
        REQUIRE(outcome.error == "");
        CHECK(outcome.sent == Approx(outcome.collectives + kv_bytes(outcome)).epsilon(1e-9));
      }
}

// By hand, in bytes of 16-bit elements. Four layers of DeepSeek-R1 have 4 x 576 x 2 of a token on each rank;
// of Qwen3.5 one has 2 heads of K and V of 256 elements (2,048 in all), of which a rank of two or four has
// one, and three keep a state of 64 x 128 x 128 in 32 bits and of three tokens' 12,288 elements: 4,268,032
// each.
TEST_CASE("transfers: latents go to every rank, heads to those that keep them, states once a request",
          "[engine]") {
  struct Moved {
    Json model;
    double token, request;  // all ranks together
  };
  for (const int tensor : {1, 2, 4}) {
    const Moved latents{{{"base", "deepseek-r1"}, {"num_hidden_layers", 4}}, tensor * 4608., 0};
    const Moved hybrid{
        {{"base", "qwen3.5-397b-a17b"},
         {"num_hidden_layers", 4},
         {"layer_types", {"linear_attention", "linear_attention", "linear_attention", "full_attention"}}},
        tensor == 4 ? 4096. : 2048.,
        3 * 4268032.};
    for (const Moved& moved : {latents, hybrid})
      for (const char* handover : {"whole", "layerwise"}) {
        INFO(moved.model.dump() << " " << tensor << " " << handover);
        Json scenario = apart(tensor, handover);
        scenario["model"] = moved.model;
        for (Json& replica : scenario["serving"]["replicas"]) replica["batching"]["max_batch_requests"] = 16;
        const Outcome outcome = test::run(scenario);
        REQUIRE(outcome.error == "");
        double sum = 0;
        for (const RequestRecord& r : outcome.requests)
          if (r.request.output_tokens > 1)
            sum += static_cast<double>(r.request.input_tokens) * moved.token + moved.request;
        CHECK(outcome.sent == Approx(outcome.collectives + sum).epsilon(1e-9));
      }
  }
}

TEST_CASE("transfers: stages of a pipeline send their layers as whole hand-overs do, byte by byte",
          "[engine]") {
  const auto outcome = [](const char* handover) {
    Json scenario = apart(2, handover);
    scenario["cluster"]["nodes"][0]["devices"][0]["count"] = 6;
    scenario["serving"]["replicas"][0]["parallelism"]["pipeline"] = 2;
    const Outcome run = test::run(scenario);
    REQUIRE(run.error == "");
    return run;
  };
  const Outcome whole = outcome("whole"), layerwise = outcome("layerwise");
  CHECK(layerwise.sent == Approx(whole.sent).epsilon(1e-9));
  double sooner = 0;
  for (std::size_t i = 0; i < whole.requests.size(); ++i) {
    CHECK(layerwise.requests[i].status == RequestStatus::completed);
    sooner += (whole.requests[i].finished - layerwise.requests[i].finished).value();
  }
  CHECK(sooner > 0);
}

// llama3.1-8b in bf16: hidden state and residual of 4,096 each, a share of them from each tensor rank.
TEST_CASE("transfers: a token crosses each border of a pipeline once, by hand", "[engine]") {
  for (const int tensor : {1, 2, 4})
    for (const int stages : {2, 4}) {
      CAPTURE(tensor, stages);
      Json scenario = apart(tensor, "whole");
      scenario["cluster"]["nodes"][0]["devices"][0]["count"] = tensor * stages;
      scenario["serving"]["replicas"] = {
          {{"engine", {{"kind", "ideal"}}}, {"parallelism", {{"tensor", tensor}, {"pipeline", stages}}}}};
      scenario["workload"]["requests"] = {
          {"kind", "fixed"}, {"count", 5}, {"input_tokens", 700}, {"output_tokens", 30}};
      const Outcome outcome = test::run(scenario);
      REQUIRE(outcome.error == "");
      const double tokens = 5 * (700 + 30 - 1), borders = stages - 1;
      CHECK(outcome.sent - outcome.collectives == Approx(tokens * borders * 2 * 4096 * 2));
    }
}

// Flows come after the kernels of a step, not between them, so that they meet other transfers.
TEST_CASE("transfers: requests end about when they do with collectives as flows, message by message",
          "[engine]") {
  Json scenario = apart(2, "whole");
  scenario["workload"]["arrivals"]["rate_per_s"] = 1;
  scenario["workload"]["requests"] = {
      {"kind", "fixed"}, {"count", 12}, {"input_tokens", 2000}, {"output_tokens", 30}};
  const Outcome closed = test::run(scenario);
  scenario["collectives"] = "flows";
  const Outcome flows = test::run(scenario);
  REQUIRE(closed.error + flows.error == "");
  for (std::size_t i = 0; i < closed.requests.size(); ++i)
    CHECK(closed.requests[i].finished.value() == Approx(flows.requests[i].finished.value()).epsilon(5e-3));
  CHECK(closed.sent == Approx(flows.sent).epsilon(1e-9));
}

TEST_CASE("transfers: layer by layer, the second token waits for the last layer's part alone", "[engine]") {
  constexpr int prompt = 4000;
  const auto finished = [&](const char* handover) {
    Json scenario = apart(1, handover);
    scenario["cluster"]["nodes"][0]["interconnect"]["bandwidth_gb_per_s"] = 8;  // faster than the layers
    scenario["workload"]["requests"] = {
        {"kind", "fixed"}, {"count", 1}, {"input_tokens", prompt}, {"output_tokens", 2}};
    const Outcome outcome = test::run(scenario);
    REQUIRE(outcome.error == "");
    return (outcome.requests[0].finished - outcome.requests[0].first_token).value();
  };
  const double kv = prompt * kv_per_token / 8e9;
  CHECK(finished("whole") - finished("layerwise") == Approx(kv * (1 - 1 / layers)).epsilon(0.01));
}

TEST_CASE("transfers: layer by layer over links that are slower than the layers, all of it takes its time",
          "[engine]") {
  Json scenario = apart(1, "layerwise");
  scenario["cluster"]["nodes"][0]["interconnect"]["bandwidth_gb_per_s"] = 0.5;
  scenario["workload"]["requests"] = {
      {"kind", "fixed"}, {"count", 1}, {"input_tokens", 4000}, {"output_tokens", 2}};
  const Outcome outcome = test::run(scenario);
  REQUIRE(outcome.error == "");
  const RequestRecord& r = outcome.requests[0];
  const double prefill = (r.first_token - r.scheduled).value(), kv = 4000 * kv_per_token / 0.5e9;
  CHECK((r.finished - r.scheduled).value() > kv + prefill / layers);
  CHECK((r.finished - r.scheduled).value() < 1.05 * (kv + prefill / layers));
}

TEST_CASE(
    "hand-over: what a decode replica has of the last turn is not sent again, whole or layer by layer") {
  // The second turn is 2,000 of 2,256 tokens of the first and its answer, of which 16 x 140 are in whole
  // blocks.
  const TemporaryFile file(
      "session_id,turn,start_s,gap_s,input_tokens,output_tokens\n"
      "a,0,0,0,2000,256\n"
      "a,1,,1,3000,20\n");
  for (const char* handover : {"whole", "layerwise"})
    for (const bool found : {true, false}) {
      INFO(handover << ", found " << found);
      Json s = apart(1, handover);
      s["serving"]["replicas"][1]["kv_cache"]["prefix_caching"] = found;
      s["workload"] = {{"requests", {{"kind", "sessions"}, {"file", file.name()}}},
                       {"arrivals", {{"kind", "trace"}}}};
      const Outcome o = test::run(s);
      REQUIRE(o.error == "");
      const double tokens = 2000 + (found ? 3000 - 2240 : 3000);
      CHECK(o.sent == Approx(tokens * kv_per_token).epsilon(1e-6));
    }
}
