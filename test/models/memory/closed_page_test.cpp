// Rows whose column commands close them (PagePolicy::closed).
#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "models/memory/address_mapping.h"
#include "models/memory/dram/controller.h"
#include "models/memory/memory_row.h"
#include "test/models/memory/command_checker.h"

using namespace weir;

namespace {

MemorySpec closed(const std::string& name) {
  MemorySpec memory = find_memory(name);
  memory.controller.page = PagePolicy::closed;
  return memory;
}

template <class Check>
void over_closed(Check check) {  // every memory as if its pages were closed, and random requests
  for (const std::string& name : memory_names()) {
    const MemorySpec memory = closed(name);
    for (unsigned seed = 0; seed < 6; ++seed) {
      const std::vector<MemoryRequest> requests = test::random_requests(memory, 600, seed);
      std::vector<IssuedCommand> log;
      INFO(name << ", seed " << seed);
      check(memory, play(memory, requests, {seed % 3 != 0, &log}), log);
    }
  }
}

Cycles gap(const std::vector<IssuedCommand>& log, DramCommand first, DramCommand second) {
  const auto is = [](DramCommand c) { return [c](const IssuedCommand& i) { return i.command == c; }; };
  const auto from = std::find_if(log.begin(), log.end(), is(first));
  const auto to = std::find_if(from, log.end(), is(second));
  return to == log.end() ? -1 : to->cycle - from->cycle;
}

std::vector<MemoryRequest> in_order(std::int64_t count, std::uint64_t step, bool is_write) {
  std::vector<MemoryRequest> all;
  for (std::uint64_t at = 0; std::ssize(all) < count; at += step) all.push_back({0, at, is_write});
  return all;
}

std::vector<MemoryRequest> copy(std::int64_t count) {  // to the vault's other half
  std::vector<MemoryRequest> all;
  for (const MemoryRequest& read : in_order(count, 64, false)) {
    all.push_back(read);
    all.push_back({0, read.address + (1 << 27), true});
  }
  return all;
}

std::vector<MemoryRequest> anywhere(int count) {  // a third of them writes
  std::mt19937_64 random(7);
  std::vector<MemoryRequest> all;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t address = random() % (1 << 22) * 64;
    all.push_back({0, address, random() % 3 == 0});
  }
  return all;
}

// DRAMsim3 counts an auto-precharge from the end of a read's burst, and lets a refresh cut the last row's
// tRAS short.
std::vector<TimingConstraint> as_dramsim3(const MemorySpec& memory) {
  using enum DramCommand;
  std::vector<TimingConstraint> table = timing_constraints(memory);
  for (TimingConstraint& c : table)
    if (c.preceding == read && c.following == activate) c.latency += memory.timings.burst;
  std::erase_if(table,
                [](const TimingConstraint& c) { return c.preceding == activate && c.following == refresh; });
  return table;
}

Cycles span(const MemorySpec& memory, const std::vector<TimingConstraint>& table,
            const std::vector<MemoryRequest>& requests) {
  ChannelController controller(memory, table, requests, {});
  controller.play();
  return controller.take_run().span();
}

}  // namespace

TEST_CASE("closed pages: no command breaks a constraint, a state or the data bus") {
  over_closed([](const MemorySpec& memory, const ChannelRun&, const auto& log) {
    CHECK(test::first_violation(memory, log) == "");
  });
}

TEST_CASE("closed pages: no row is hit, each column access has an activation of its own") {
  over_closed([](const MemorySpec& memory, const ChannelRun& run, const auto& log) {
    CHECK(run.row_hits == 0);
    // Precharges are a refresh's, of rows whose access had to wait for it and is activated again.
    CHECK(run.count(DramCommand::activate) == run.accesses() + run.count(DramCommand::precharge));
    CHECK(run.count(DramCommand::precharge) <=
          run.count(DramCommand::refresh) * memory.organisation.banks_per_rank());
    std::vector<int> activated(static_cast<std::size_t>(memory.organisation.banks()));
    for (const IssuedCommand& c : log) {
      int& row = activated[static_cast<std::size_t>(c.bank)];
      if (c.command == DramCommand::activate) ++row;
      if (c.command == DramCommand::precharge) --row;
      if (c.command == DramCommand::read || c.command == DramCommand::write) CHECK(row-- == 1);
    }
  });
}

TEST_CASE("closed pages: a bank is activated again when a precharge of its own would have let it") {
  const MemorySpec vault = find_memory("hmc2_vault");
  const DramTimings& t = vault.timings;
  for (const bool is_write : {false, true}) {
    const std::vector<MemoryRequest> two = {
        {0, 0, is_write}, {0, static_cast<std::uint64_t>(vault.organisation.row_bytes * 16), is_write}};
    std::vector<IssuedCommand> log;
    play(vault, two, {false, &log});
    const DramCommand column = is_write ? DramCommand::write : DramCommand::read;
    REQUIRE(log.size() == 4);
    CHECK(log[0].bank == log[2].bank);
    CHECK(log[1].command == column);
    CHECK(log[2].cycle - log[0].cycle ==
          (is_write ? t.rcd_wr + t.cwl + t.burst + t.wr + t.rp : t.ras + t.rp));  // 78, 51
  }
}

TEST_CASE("closed pages: a refresh waits for the rows that close themselves") {
  const MemorySpec vault = find_memory("hmc2_vault");
  const DramTimings& t = vault.timings;
  const auto refreshed_after = [&](bool is_write, Cycles arrival) {
    const std::vector<MemoryRequest> requests = {{arrival, 0, is_write}, {2 * t.refi, 64, false}};
    std::vector<IssuedCommand> log;
    play(vault, requests, {true, &log});
    return gap(log, DramCommand::activate, DramCommand::refresh);
  };
  const Cycles read_closed = t.ras + t.rp, write_closed = t.rcd_wr + t.cwl + t.burst + t.wr + t.rp;
  CHECK(refreshed_after(false, t.refi - read_closed - 2) == read_closed + 1);  // it is due then
  CHECK(refreshed_after(false, t.refi - read_closed - 1) == read_closed);
  CHECK(refreshed_after(false, t.refi - read_closed + 9) == read_closed);
  CHECK(refreshed_after(true, t.refi - write_closed - 1) == write_closed);
  CHECK(refreshed_after(true, t.refi - write_closed + 9) == write_closed);
}

TEST_CASE("closed pages: with DRAMsim3's two liberties a vault takes its clocks, and nearly so without") {
  const MemorySpec vault = find_memory("hmc2_vault");
  // From unmodified DRAMsim3 29817593: the vault's file with tRTP = 10 under the name that its reader knows.
  const std::vector<std::pair<std::vector<MemoryRequest>, Cycles>> dramsim3 = {
      {in_order(8192, 64, false), 69024},   {in_order(8192, 64, true), 69071}, {copy(4096), 74176},
      {in_order(1024, 1024, false), 55594}, {anywhere(8192), 86096},
  };
  for (const auto& [requests, clocks] : dramsim3) {
    INFO(requests.size() << " requests, " << clocks << " clocks");
    CHECK(span(vault, as_dramsim3(vault), requests) == clocks);
    CHECK(static_cast<double>(span(vault, timing_constraints(vault), requests)) ==
          Approx(static_cast<double>(clocks)).epsilon(0.03));  // a bank's row cycle is 51 clocks for 52
  }
}

TEST_CASE("closed pages: in one queue a write waits for a read of its place that came first") {
  MemorySpec memory = find_memory("hmc2_vault");
  for (const PagePolicy page : {PagePolicy::open, PagePolicy::closed}) {
    memory.controller.page = page;
    std::vector<MemoryRequest> requests;  // writes of a row that a read is among
    for (std::uint64_t i = 0; i < 64; ++i) requests.push_back({0, i % 4 * 1024, i % 8 != 3});
    const ChannelRun run = play(memory, requests);
    for (std::size_t i = 0; i < requests.size(); ++i)
      for (std::size_t j = i + 1; j < requests.size(); ++j)
        if (requests[i].address == requests[j].address && !requests[i].is_write && requests[j].is_write)
          CHECK(run.requests[j].data_end > run.requests[i].data_end);
  }
}

TEST_CASE("closed pages: a row says so with `page`, which a memory with a PIM may not") {
  CHECK(find_memory("hmc2_vault").controller.page == PagePolicy::closed);
  CHECK(find_memory("ddr5_4800").controller.page == PagePolicy::open);
  const auto read = [](const std::string& base, const char* page) {
    Reading reading("scenario.json");
    const CatalogRow found =
        find_row(memory_rows(), Json{{"base", base}, {"page", page}}, reading, "/memory");
    reading.finish();
    return memory_of(found.row);
  };
  CHECK(read("ddr5_4800", "closed") == [] {
    MemorySpec memory = closed("ddr5_4800");
    memory.name = read_memory("ddr5_4800").name;
    return memory;
  }());
  CHECK_THROWS_WITH(read("hbm2_neupims", "closed"), Catch::Contains("/memory/page: expected \"open\""));
  CHECK_THROWS_WITH(read("hmc2_vault", "close"), Catch::Contains("/memory/page"));
}
