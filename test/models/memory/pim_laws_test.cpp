#include <catch2/catch.hpp>
#include <random>

#include "models/memory/dram/command_timing.h"
#include "test/models/memory/pim_checker.h"
#include "test/models/memory/pim_options.h"

using namespace weir;

namespace {

std::vector<PimRequest> random_requests(int n, unsigned seed, std::int64_t min_dim = 1) {
  std::mt19937 random(seed);
  const auto from = [&](std::int64_t a, std::int64_t b) {
    return std::uniform_int_distribution<std::int64_t>(a, b)(random);
  };
  std::vector<PimRequest> all;
  for (int i = 0; i < n; ++i)
    all.push_back({static_cast<PimOp>(from(0, 2)), from(1, 1500), from(1, 16), from(min_dim, 300)});
  return all;
}

Cycles cycles(const PimRequest& request, const PimOptions& options) {
  return play_pim(find_memory("hbm2_neupims"), std::vector{request}, options).cycles;
}

}  // namespace

TEST_CASE("PIM: every command obeys the constraint table and the banks' states") {
  MemorySpec one_rank = find_memory("hbm2_neupims");
  one_rank.pim->ranks = 1, one_rank.pim->bank_groups = 8;
  for (const MemorySpec& memory : {find_memory("hbm2_neupims"), one_rank})
    for (PimOptions options : test::all_pim_options()) {
      std::vector<PimCommand> log;
      options.log = &log;
      const PimRun run = play_pim(memory, random_requests(6, 1), options);
      INFO(memory.pim->ranks << " ranks, timing " << static_cast<int>(options.timing) << ", buffers "
                             << static_cast<int>(options.buffers));
      CHECK(test::pim_violation(memory, options, log) == "");
      CHECK((run.count(DramCommand::refresh) > 0) == options.refresh);
    }
}

TEST_CASE(
    "PIM timing: every row of the table blocks at t-1, is ready at t, and reaches no further than its "
    "level") {
  const MemorySpec memory = find_memory("hbm2_neupims");
  const DramOrganisation o = pim_organisation(memory);
  for (const PimTiming timing : {PimTiming::artifact, PimTiming::physical})
    for (const RowBuffers buffers : {RowBuffers::dual, RowBuffers::single}) {
      const auto table = pim_constraints(memory, timing, buffers);
      for (const TimingConstraint& c : table) {
        INFO(c.name << ", " << to_string(c.preceding) << " to " << to_string(c.following));
        const int group = o.banks_per_group, rank = o.banks_per_rank();
        // A bank that the level reaches from bank 0, and one that it does not.
        const auto [inside, outside] = c.level == DramLevel::bank         ? std::pair(0, 1)
                                       : c.level == DramLevel::bank_group ? std::pair(group - 1, group)
                                       : c.level == DramLevel::rank       ? std::pair(rank - 1, rank)
                                                                          : std::pair(rank, rank - 1);
        CommandTiming alone(o, {c}), all(o, table);
        alone.issue(c.preceding, 0, 1000);
        all.issue(c.preceding, 0, 1000);
        CHECK(alone.ready(c.following, inside) == 1000 + c.latency);
        CHECK(alone.ready(c.following, outside) == 0);
        CHECK(all.ready(c.following, inside) >= 1000 + c.latency);
      }
    }
}

TEST_CASE("PIM: the checker sees a command that comes a cycle too early") {
  const MemorySpec memory = find_memory("hbm2_neupims");
  PimOptions options;
  std::vector<PimCommand> log;
  options.log = &log;
  play_pim(memory, std::vector<PimRequest>{{PimOp::logit, 64, 4, 128}}, options);
  for (const DramCommand command : {DramCommand::gwrite, DramCommand::group_activate, DramCommand::gemv}) {
    std::vector<PimCommand> early = log;
    for (PimCommand& c : early)
      if (c.command == command) --c.cycle;
    INFO(to_string(command));
    CHECK(test::pim_violation(memory, options, early) != "");
  }
}

TEST_CASE("PIM: dual row buffers are never slower than single ones") {
  // In the artifact a head of fewer than 6 COMPs is faster with single row buffers, which fill less of the
  // pipeline.
  for (const PimTiming timing : {PimTiming::artifact, PimTiming::physical})
    for (const PimRequest& request : random_requests(60, 2, timing == PimTiming::artifact ? 96 : 1)) {
      INFO(request.length << " tokens, " << request.heads << " heads of " << request.head_dim);
      CHECK(cycles(request, {timing, RowBuffers::dual, false, nullptr}) <=
            cycles(request, {timing, RowBuffers::single, false, nullptr}));
    }
}

TEST_CASE("PIM: longer requests and more heads are never faster, refresh never helps") {
  for (const PimOptions& options : test::all_pim_options())
    for (const PimRequest& request : random_requests(20, 3)) {
      PimRequest longer = request, wider = request;
      longer.length += 77, wider.heads += 1;
      PimOptions unrefreshed = options;
      unrefreshed.refresh = false;
      INFO(request.length << " tokens, " << request.heads << " heads of " << request.head_dim);
      const Cycles one = cycles(request, options);
      CHECK(one <= cycles(longer, options));
      CHECK(one <= cycles(wider, options));
      CHECK(one >= cycles(request, unrefreshed));
    }
}

TEST_CASE("PIM: bytes are conserved: every element of K and V is multiplied once a head") {
  const MemorySpec memory = find_memory("hbm2_neupims");
  for (const PimRequest& request : random_requests(40, 4)) {
    const PimRun run = play_pim(memory, std::vector{request});
    const std::int64_t logit = request.op == PimOp::attend ? 0 : 1,
                       attend = request.op == PimOp::logit ? 0 : 1;
    const auto whole = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    CHECK(run.comps == request.heads * (logit * whole(request.length, 32) * whole(request.head_dim, 16) +
                                        attend * whole(request.head_dim, 32) * whole(request.length, 16)));
    CHECK(run.count(DramCommand::group_activate) == 8 * run.count(DramCommand::header));
  }
}

TEST_CASE("PIM: a tile that cannot fit between two refreshes is refused, not played for ever") {
  MemorySpec memory = find_memory("hbm2_neupims");
  memory.timings.refi = 900;
  CHECK_THROWS(play_pim(memory, std::vector<PimRequest>{{PimOp::logit, 64, 4, 128}}));
}

TEST_CASE("PIM: a long play says how far it is, a short one nothing") {
  std::vector<double> shares;
  PimOptions options;
  options.progress = [&](double share) { shares.push_back(share); };
  const Cycles short_one = cycles({PimOp::logit, 1024, 8, 128}, options);
  CHECK(shares.empty());
  CHECK(short_one == cycles({PimOp::logit, 1024, 8, 128}, {}));
  cycles({PimOp::logit, 1 << 22, 8, 128}, options);  // 131,072 tiles of 32 banks, for four heads at a time
  CHECK(shares == std::vector<double>{0.25, 0.5, 0.75, 1});
}
