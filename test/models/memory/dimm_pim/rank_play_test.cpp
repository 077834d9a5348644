#include "models/memory/dimm_pim/rank_play.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "models/memory/dimm_pim/rank_timing.h"
#include "models/memory/dram/command_timing.h"

using namespace weir;

namespace {

const std::vector<std::string> memories = {"ddr4_3200_l3", "ddr5_4800", "ddr4_3200_hermes"};
constexpr ActivationMode modes[] = {ActivationMode::at_once, ActivationMode::rrd, ActivationMode::faw};

std::vector<RankCommand> sorted(std::vector<RankCommand> log) {
  std::stable_sort(log.begin(), log.end(), [](const auto& a, const auto& b) { return a.cycle < b.cycle; });
  return log;
}

// The first row of the table that the log breaks, by brute force; "" if none.
std::string broken(const MemorySpec& memory, const std::vector<TimingConstraint>& table,
                   const std::vector<RankCommand>& log) {
  const int in_group = memory.organisation.banks_per_group;
  for (std::size_t at = 0; at < log.size(); ++at)
    for (const TimingConstraint& c : table) {
      if (c.following != log[at].command) continue;
      int seen = 0;
      for (std::size_t i = at; i-- > 0 && log[at].cycle - log[i].cycle < c.latency;) {
        const int a = log[i].bank, b = log[at].bank;
        const bool reaches = c.level == DramLevel::bank         ? a == b
                             : c.level == DramLevel::bank_group ? a / in_group == b / in_group
                                                                : true;
        if (log[i].command == c.preceding && reaches && ++seen == c.window)
          return std::string(c.name) + " at " + std::to_string(log[at].cycle);
      }
    }
  return "";
}

// Rows are opened when closed, read and closed when all are open, refreshed when none is.
std::string wrong_state(const MemorySpec& memory, const std::vector<RankCommand>& log) {
  const int banks = memory.organisation.banks_per_rank();
  std::vector<bool> open(static_cast<std::size_t>(banks));
  for (const RankCommand& c : log) {
    const auto opened = std::count(open.begin(), open.end(), true);
    const auto bank = static_cast<std::size_t>(c.bank);
    const std::string where = std::string(to_string(c.command)) + " at " + std::to_string(c.cycle);
    switch (c.command) {
      case DramCommand::activate:
        if (open[bank]) return where;
        open[bank] = true;
        break;
      case DramCommand::precharge:
        if (!open[bank]) return where;
        open[bank] = false;
        break;
      case DramCommand::comp:
        if (opened != banks) return where;
        break;
      case DramCommand::refresh:
        if (opened != 0) return where;
        break;
      default:
        break;
    }
  }
  return "";
}

// At any time, by when refreshes were due and when they came.
std::int64_t most_postponed(const MemorySpec& memory, const std::vector<RankCommand>& log, Cycles end) {
  std::int64_t issued = 0, most = 0;
  for (const RankCommand& c : log) {
    if (c.command != DramCommand::refresh) continue;
    most = std::max(most, (c.cycle - 1) / memory.timings.refi - issued);
    ++issued;
  }
  return std::max(most, end / memory.timings.refi - issued);
}

DimmPimOptions random_options(std::mt19937& random) {
  const auto coin = [&] { return random() % 2 == 0; };
  DimmPimOptions options;
  options.activation = modes[random() % 3];
  options.mapping = coin() ? KvMapping::tailored : KvMapping::uniform;
  options.fused = coin();
  options.refresh = random() % 4 != 0;
  options.postponed_refreshes = 1 + static_cast<int>(random() % 8);
  if (coin()) options.softmax_elements_per_column = std::pow(2.0, static_cast<double>(random() % 8) - 4);
  return options;
}

DimmPimOptions with(ActivationMode mode, bool refresh = false) {
  DimmPimOptions options;
  options.activation = mode, options.refresh = refresh;
  return options;
}

}  // namespace

TEST_CASE("DIMM-PIM: a score over 2048 tokens takes what L3's timing gives, by how rows are opened") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");  // systems/memory.md, DIMM-PIM (L3)
  const auto score = [&](ActivationMode mode) {
    return play_rank(memory, with(mode), 1, 128, 2048).first_score;
  };
  CHECK(score(ActivationMode::at_once) == 4288);
  CHECK(score(ActivationMode::faw) == 4744);
  CHECK(score(ActivationMode::rrd) == 4 * (15 * 4 + 22 + 127 * 8 + 12 + 22));
  const HeadPipeline pipe = head_pipeline(memory, {}, 128);
  CHECK(pipe.chunk_tokens == 16);
  CHECK(pipe.chunks(2048) * pipe.score.banks == 4096);
  CHECK(pipe.score.columns == 4);
  CHECK(pipe.context.columns == 4);  // 16 tokens cost the same column reads
}

TEST_CASE("DIMM-PIM: every command obeys the table, its bank's state, and the limit of postponed refreshes") {
  std::mt19937 random(7);
  std::int64_t interrupted = 0;
  for (int round = 0; round < 60; ++round) {
    const MemorySpec memory = find_memory(memories[random() % memories.size()]);
    const DimmPimOptions options = random_options(random);
    const std::int64_t heads = 1 + random() % 3, head_dim = 16 * (1 + random() % 16),
                       tokens = 1 + random() % (round % 10 == 0 ? 20'000 : 3'000);
    CAPTURE(round, memory.name, heads, head_dim, tokens, static_cast<int>(options.activation),
            static_cast<int>(options.mapping), options.fused);
    std::vector<RankCommand> log;
    const RankRun run = play_rank(memory, options, heads, head_dim, tokens, &log);
    log = sorted(std::move(log));
    CHECK(broken(memory, dimm_pim_constraints(memory, options.activation), log) == "");
    CHECK(wrong_state(memory, log) == "");
    CHECK(std::max(run.banks_free, run.last_result) >= log.back().cycle);

    const HeadPipeline pipe = head_pipeline(memory, options, head_dim);
    const std::int64_t chunks = pipe.chunks(tokens);
    CHECK(run.count(DramCommand::comp) ==
          heads * chunks * (pipe.score.columns + pipe.context.passes * pipe.context.columns));
    const auto rows = [&](const PhasePipeline& p) {
      return p.passes * ((chunks + p.chunks_per_row - 1) / p.chunks_per_row);
    };
    const std::int64_t openings = run.count(DramCommand::activate) / memory.organisation.banks_per_rank();
    CHECK(openings >= heads * (rows(pipe.score) + rows(pipe.context)));
    CHECK(run.count(DramCommand::activate) == run.count(DramCommand::precharge));
    interrupted += openings > heads * (rows(pipe.score) + rows(pipe.context));
    if (options.refresh)
      CHECK(most_postponed(memory, log, run.banks_free) <= options.postponed_refreshes);
    else
      CHECK(run.count(DramCommand::refresh) == 0);
  }
  CHECK(interrupted > 0);  // in the midst of a row, which only a narrow softmax unit makes so long
}

TEST_CASE(
    "DIMM-PIM: refreshes wait for the head, at most eight of them, and take their share of a long run") {
  for (const char* name : {"ddr4_3200_l3", "ddr5_4800"}) {
    const MemorySpec memory = find_memory(name);
    const DramTimings& t = memory.timings;
    CAPTURE(name);
    const auto play = [&](std::int64_t heads, std::int64_t tokens, bool refresh) {
      std::vector<RankCommand> log;
      const RankRun run = play_rank(memory, with(ActivationMode::faw, refresh), heads, 128, tokens, &log);
      return std::pair(run, sorted(log));
    };
    for (const std::int64_t tokens : {500, 2048, 9000, 30'000}) {
      CAPTURE(tokens);
      const std::int64_t heads = 600'000 / tokens;
      const auto [run, log] = play(heads, tokens, true);
      const auto free_of_it = static_cast<double>(play(heads, tokens, false).first.banks_free);
      const double lost = 1 - free_of_it / static_cast<double>(run.banks_free);
      CHECK(lost == Approx(static_cast<double>(t.rfc) / static_cast<double>(t.refi)).epsilon(0.02));
      CHECK(most_postponed(memory, log, run.banks_free) <= 8);
    }
    // A head shorter than eight tREFI is left in peace; a longer one is interrupted.
    const auto first_refresh = [&](std::int64_t tokens) {
      const auto log = play(1, tokens, true).second;
      return std::find_if(log.begin(), log.end(),
                          [](const auto& c) { return c.command == DramCommand::refresh; })
          ->cycle;
    };
    CHECK(first_refresh(13'000) >= play(1, 13'000, false).first.banks_free - t.rp);
    const std::int64_t too_long = 60'000;
    CHECK(play(1, too_long, false).first.banks_free > 9 * t.refi);
    CHECK(first_refresh(too_long) > 8 * t.refi);
    CHECK(first_refresh(too_long) < 9 * t.refi);
  }
}

TEST_CASE(
    "DIMM-PIM: the banks' time is columns, rows and refreshes, and nothing else, with L3's parameters") {
  for (const auto& [name, row] : {std::pair("ddr4_3200_l3", 34 * 3 + 3 * 4 + 22 + 12 + 22 - 8),
                                  std::pair("ddr5_4800", 32 * 7 + 3 * 8 + 39 + 18 + 39 - 12)}) {
    const MemorySpec memory = find_memory(name);
    const std::int64_t banks = memory.organisation.banks_per_rank();
    for (const std::int64_t tokens : {200, 2048, 5000, 70'000}) {
      CAPTURE(name, tokens);
      const RankRun run = play_rank(memory, {}, 3, 128, tokens);
      CHECK(run.banks_free == run.count(DramCommand::comp) * memory.timings.ccd_l +
                                  run.count(DramCommand::activate) / banks * row +
                                  run.count(DramCommand::refresh) * memory.timings.rfc);
    }
  }
}

TEST_CASE("DIMM-PIM: heads that share K and V save no column read") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");
  const RankRun one = play_rank(memory, with(ActivationMode::faw), 1, 128, 3000);
  const RankRun eight = play_rank(memory, with(ActivationMode::faw), 8, 128, 3000);
  CHECK(eight.count(DramCommand::comp) == 8 * one.count(DramCommand::comp));
  CHECK(eight.count(DramCommand::activate) == 8 * one.count(DramCommand::activate));
  CHECK(eight.banks_free == 8 * one.banks_free);  // queries come in and results go out beside other heads
}

TEST_CASE("DIMM-PIM: what leaves or enters the banks' units is counted burst by burst") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");
  const std::int64_t chunks = 100, heads = 3;
  const RankRun run = play_rank(memory, {}, heads, 128, 16 * chunks);
  // A chunk's 16 banks x 8 chips x 2 B are 4 bursts; so are its scores for 8 chips, and a query of 256 B; the
  // last reduction is of 16 banks x 8 chips x 4 accumulators.
  CHECK(run.count(DramCommand::result) == heads * (4 * chunks + 16));
  CHECK(run.count(DramCommand::gwrite) == heads * 4 * chunks + (heads - 1) * 4);
  const HeadPipeline pipe = head_pipeline(memory, {}, 128);
  CHECK(pipe.score.wires == 16);
  CHECK(pipe.score.wires < pipe.score.banks);
  CHECK(pipe.score.softmax == pipe.score.banks);  // it keeps up exactly
  CHECK(run.softmax_busy == 2 * heads * chunks * 32);
}

TEST_CASE("DIMM-PIM: the uniform mapping goes over V's rows once a column of a token") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");
  DimmPimOptions options = with(ActivationMode::faw);
  const RankRun tailored = play_rank(memory, options, 1, 128, 2048);
  options.mapping = KvMapping::uniform;
  const RankRun uniform = play_rank(memory, options, 1, 128, 2048);
  CHECK(uniform.count(DramCommand::comp) == tailored.count(DramCommand::comp));
  CHECK(uniform.first_score == tailored.first_score);
  CHECK(tailored.count(DramCommand::activate) == 16 * (4 + 4));
  CHECK(uniform.count(DramCommand::activate) == 16 * (4 + 4 * 4));
  CHECK(uniform.count(DramCommand::gwrite) == 4 * tailored.count(DramCommand::gwrite));
  // One column of a bank is one token's: 16 of them are one chunk, whose scores take longer to come.
  const HeadPipeline pipe = head_pipeline(memory, options, 128);
  CHECK(pipe.context.wires == 2 * pipe.context.banks);
  CHECK(2 * uniform.banks_free > 3 * tailored.banks_free);
  CHECK(play_rank(memory, options, 1, 32, 2048).banks_free ==  // of one column there is nothing to choose
        play_rank(memory, with(ActivationMode::faw), 1, 32, 2048).banks_free);
}

TEST_CASE("DIMM-PIM: every row of the table blocks at t-1 and is ready at t") {
  for (const std::string& name : memories) {
    const MemorySpec memory = one_rank(find_memory(name));
    for (const ActivationMode mode : modes)
      for (const TimingConstraint& c : dimm_pim_constraints(memory, mode)) {
        CAPTURE(name, c.name, to_string(c.preceding), to_string(c.following));
        CommandTiming timing(memory.organisation, {c});
        for (int i = 0; i < c.window; ++i) timing.issue(c.preceding, 0, 100);
        CHECK(timing.ready(c.following, 0) == 100 + c.latency);
        const int last = memory.organisation.banks_per_rank() - 1;
        CHECK(timing.ready(c.following, last) == (c.level == DramLevel::rank ? 100 + c.latency : 0));
      }
  }
}

TEST_CASE("DIMM-PIM: what cannot be is refused") {
  const MemorySpec memory = find_memory("ddr4_3200_l3");
  CHECK_THROWS_AS(play_rank(memory, {}, 0, 128, 16), std::invalid_argument);
  CHECK_THROWS_AS(play_rank(memory, {}, 1, 128, 0), std::invalid_argument);
  CHECK_THROWS_AS(play_rank(memory, {}, 1, 128, dimm_pim_most_tokens + 1), std::invalid_argument);
  CHECK_THROWS_AS(head_pipeline(memory, {}, 0), std::invalid_argument);
  CHECK_THROWS_AS(head_pipeline(memory, {}, 513), std::invalid_argument);  // 17 columns, 16 banks
  DimmPimOptions options;
  options.softmax_elements_per_column = 0;
  CHECK_THROWS_AS(head_pipeline(memory, options, 128), std::invalid_argument);
}
