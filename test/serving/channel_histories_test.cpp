// Replicas with several KV channels through random histories without SimGrid, against a ledger of their
// blocks: prompts that are handed over from one to the other, and batches that follow each other through
// several pipeline stages.
#include <catch2/catch.hpp>

#include <deque>

#include "test/policies/naive_engine.h"
#include "test/serving/channel_ledger.h"
#include "test/serving/in_channels.h"

using namespace weir;
using test::most_outputs;

namespace {

constexpr std::int64_t block_tokens = 16;

// A replica, its ledger, and what is on its way through its pipeline.
class Station {
 public:
  Station(int index, Role role, Dice& dice, std::int64_t longest, std::vector<std::int32_t>& positions,
          Recorder& recorder, Replica::Events events)
      : placement_(
            std::make_shared<test::RememberedPlacement>(test::placement(dice(0, test::placements - 1)))),
        plan_(drawn(role, dice, longest)),
        replica_(index, plan_, positions, recorder, std::move(events)),
        ledger_(replica_, *placement_, recorder),
        recorder_(recorder),
        pipe_(static_cast<std::size_t>(plan_.spec.parallelism.pipeline)) {}

  Replica& replica() { return replica_; }
  test::ChannelLedger& ledger() { return ledger_; }
  bool in_pipe() const { return !order_.empty(); }

  bool schedule(Seconds now, std::vector<KvMove>& sent) {
    const auto slot = std::ranges::find(pipe_, false, &InPipe::used);
    if (slot == pipe_.end()) return false;
    const bool something = replica_.schedule(now, slot->iteration);
    const Iteration& it = slot->iteration;
    ledger_.scheduled(it);  // even if there is nothing to do, somebody may have been preempted
    if (!something) return false;
    for (const KvMove& move : it.moves)
      if (!move.leaves_device()) sent.push_back(move);
    interleaved += !it.sub_batches.empty();
    if (it.members.empty()) return true;
    slot->used = true;
    order_.push_back(&*slot);
    deepest = std::max(deepest, order_.size());
    return true;
  }

  void complete_oldest(Seconds now) {
    InPipe& oldest = *order_.front();
    order_.pop_front();
    const bool alone = pipe_.size() == 1;
    const std::int64_t steps = alone ? replica_.longest_run(oldest.iteration) : 1;
    StepRun run;
    run.first.time = Seconds(1), run.steps = steps;
    replica_.complete(oldest.iteration, now, now, {run}, steps);
    ledger_.completed(oldest.iteration, steps);
    oldest.used = false;
  }

  std::int64_t interleaved = 0;
  std::size_t deepest = 0;

 private:
  struct InPipe {
    Iteration iteration;
    bool used = false;
  };

  ReplicaPlan drawn(Role role, Dice& dice, std::int64_t longest) const {
    ReplicaPlan plan;
    ReplicaSpec& spec = plan.spec;
    spec.role = role;
    plan.rank.on = std::make_shared<test::InChannels>(static_cast<int>(dice(1, 5)));
    spec.batching = dice(0, 1) ? make_policy("sub_batch_interleaving", dice(2, 12), 3000)
                               : make_policy("chunked_prefill", dice(2, 12), dice(12, 400));
    spec.placement = placement_;
    plan.kv_pools = test::pools(dice(longest, longest * 3) / block_tokens, plan.rank.placed_channels(),
                                placement_->spreads_layers());
    spec.kv_cache.block_tokens = block_tokens;
    spec.kv_cache.prefix_caching = PrefixCaching::none;
    // What is swapped out in the middle of a prompt comes back with a chunk that the ledger does not know.
    spec.kv_cache.preemption = role == Role::decode && dice(0, 1) ? Preemption::swap : Preemption::recompute;
    spec.kv_cache.admission = static_cast<Admission>(dice(0, 2));
    plan.swap_blocks = std::int64_t{1} << 40;
    plan.mha = {.embedding = 1024, .heads = 8};
    spec.parallelism.pipeline = static_cast<int>(std::int64_t{1} << dice(0, 2));
    return plan;
  }

  std::shared_ptr<test::RememberedPlacement> placement_;
  ReplicaPlan plan_;
  Replica replica_;
  test::ChannelLedger ledger_;
  Recorder& recorder_;
  std::vector<InPipe> pipe_;
  std::deque<InPipe*> order_;
};

Workload some_requests(Dice& dice) {
  Workload workload;
  const std::int64_t n = dice(1, 30);
  for (std::int64_t r = 0; r < n; ++r)
    workload.requests.push_back({Seconds(0), std::max<std::int64_t>(1, r * most_outputs), dice(1, 60)});
  return workload;
}

struct Played {
  std::int64_t preemptions = 0, interleaved = 0, handovers = 0;
  std::size_t deepest = 0;
  std::vector<double> finished;
};

// On one replica, or prompts on the first and the rest on the second.
Played play(unsigned seed, bool handed_over) {
  Dice dice(seed);
  const Workload workload = some_requests(dice);
  const std::int64_t longest = std::ssize(workload.requests) * most_outputs + block_tokens;
  std::vector<std::int32_t> positions(workload.requests.size(), -1);
  Recorder recorder(workload, {}, false);
  Seconds now(0);
  std::size_t ended = 0;
  Played played;
  std::vector<std::unique_ptr<Station>> stations;
  const auto finished = [&](std::int32_t) { ++ended; };
  const auto hand_over = [&](std::int32_t request) {
    stations[1]->replica().enqueue_handover(request, 0, now);
    const std::int64_t input = recorder.record(request).request.input_tokens;
    stations[1]->ledger().enqueued(request, input + 1, input);
    ++played.handovers;
  };
  const auto add = [&](Role role) {
    stations.push_back(std::make_unique<Station>(static_cast<int>(stations.size()), role, dice, longest,
                                                 positions, recorder, Replica::Events{finished, hand_over}));
  };
  add(handed_over ? Role::prefill : Role::both);
  if (handed_over) add(Role::decode);
  for (std::int32_t r = 0; r < static_cast<std::int32_t>(workload.requests.size()); ++r) {
    REQUIRE(stations.back()->replica().fits(workload.requests[static_cast<std::size_t>(r)]));
    REQUIRE(stations[0]->replica().enqueue(r, now));
    stations[0]->ledger().enqueued(r, workload.requests[static_cast<std::size_t>(r)].input_tokens, 0);
  }
  std::vector<std::pair<Station*, KvMove>> under_way;
  for (std::int64_t idle = 0; ended < workload.requests.size();) {
    now += Seconds(1);
    REQUIRE(++idle < 1000);  // nobody waits for ever
    Station& station = *stations[static_cast<std::size_t>(dice(0, std::ssize(stations) - 1))];
    const std::int64_t action = dice(0, 2);
    if (action == 0 && !under_way.empty()) {
      const auto at = under_way.begin() + dice(0, std::ssize(under_way) - 1);
      const auto [to, move] = *at;
      under_way.erase(at);
      if (move.hands_over()) {
        REQUIRE(move.from.replica == 0);
        stations[0]->replica().release_held(move.request, now);
        stations[0]->ledger().released(move.request);
      }
      to->ledger().arrived(move.request);
      to->replica().arrived(move, now);
      idle = 0;
    } else if (action == 1 && station.in_pipe()) {
      station.complete_oldest(now);
      idle = 0;
    } else {
      std::vector<KvMove> sent;
      if (station.schedule(now, sent)) idle = 0;
      for (const KvMove& move : sent) under_way.emplace_back(&station, move);
    }
  }
  for (const auto& station : stations) {
    CHECK(station->replica().cache().used() == 0);
    CHECK(station->replica().empty());
    CHECK(station->replica().outstanding_requests() == 0);
    CHECK(station->replica().outstanding_tokens() == 0);
    played.preemptions += station->ledger().preemptions();
    played.interleaved += station->interleaved;
    played.deepest = std::max(played.deepest, station->deepest);
  }
  for (const RequestRecord& record : recorder.result().requests) {
    REQUIRE(record.status == RequestStatus::completed);
    CHECK(record.first_token >= record.scheduled);
    CHECK((record.request.output_tokens == 1 || record.finished > record.first_token));
    played.finished.push_back(record.finished.value());
  }
  return played;
}

}  // namespace

TEST_CASE("channels: a prompt handed over decodes in the channel that was chosen, once its KV is there",
          "[engine]") {
  Played all;
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    const Played played = play(seed, true);
    all.preemptions += played.preemptions, all.handovers += played.handovers;
    all.interleaved += played.interleaved;
  }
  CHECK(all.handovers > 1000);
  CHECK(all.preemptions > 50);
  CHECK(all.interleaved > 500);
}

TEST_CASE("channels: batches in a pipeline share channels and hold what they computed, no more", "[engine]") {
  Played all;
  for (unsigned seed = 1000; seed < 1150; ++seed) {
    INFO("seed " << seed);
    const Played played = play(seed, false);
    REQUIRE(played.finished == play(seed, false).finished);
    all.preemptions += played.preemptions, all.interleaved += played.interleaved;
    all.deepest = std::max(all.deepest, played.deepest);
  }
  CHECK(all.deepest == 4);
  CHECK(all.preemptions > 50);
  CHECK(all.interleaved > 500);
}
