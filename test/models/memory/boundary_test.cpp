#include <catch2/catch.hpp>
#include <set>

#include "models/memory/dram/command_timing.h"
#include "test/models/memory/command_checker.h"

using namespace weir;

namespace {

// A bank that has `level` in common with bank 0 and nothing narrower.
int partner(const DramOrganisation& o, DramLevel level) {
  switch (level) {
    case DramLevel::bank:
      return 0;
    case DramLevel::bank_group:
      return 1;
    case DramLevel::rank:
      return o.banks_per_group;
    case DramLevel::other_ranks:
      break;
  }
  return o.banks_per_rank();
}

// Commands that run into the constraint, the last one at its boundary.
std::vector<IssuedCommand> run_into(const MemorySpec& memory, const TimingConstraint& c, Cycles late) {
  const DramOrganisation& o = memory.organisation;
  std::vector<IssuedCommand> log;
  const Cycles apart = memory.timings.rrd_s;
  for (int i = 0; i < c.window; ++i)  // of a window: over the bank groups
    log.push_back(
        {100 + i * apart, c.preceding, i % o.bank_groups * o.banks_per_group + i / o.bank_groups, 0});
  const int bank = c.window > 1 ? 2 : partner(o, c.level);
  log.push_back({100 + c.latency + late, c.following, bank, 0});
  return log;
}

}  // namespace

TEST_CASE("DRAM timing: every constraint of every memory is blocked at t-1 and ready at t") {
  for (const std::string& name : memory_names()) {
    const MemorySpec memory = find_memory(name);
    const std::vector<TimingConstraint> table = timing_constraints(memory);
    CHECK(table.size() >= 18);
    for (const TimingConstraint& c : table) {
      INFO(name << ": " << c.name << ", " << to_string(c.preceding) << " to " << to_string(c.following));
      CommandTiming timing(memory.organisation, table);
      const std::vector<IssuedCommand> log = run_into(memory, c, 0);
      for (std::size_t i = 0; i + 1 < log.size(); ++i)
        timing.issue(log[i].command, log[i].bank, log[i].cycle);
      CHECK(timing.ready(log.back().command, log.back().bank) == log.back().cycle);
    }
  }
}

TEST_CASE("DRAM timing: the checker of the laws sees each constraint broken by one cycle, and kept") {
  for (const std::string& name : memory_names()) {
    const MemorySpec memory = find_memory(name);
    for (const TimingConstraint& c : timing_constraints(memory)) {
      INFO(name << ": " << c.name << ", " << to_string(c.preceding) << " to " << to_string(c.following));
      CHECK_THAT(test::broken_constraint(memory, run_into(memory, c, -1)),
                 Catch::Contains(c.window > 1 ? "activate" : c.name));
      CHECK(test::broken_constraint(memory, run_into(memory, c, 0)) == "");
    }
  }
}

TEST_CASE("DRAM timing: a constraint does not reach beyond its level") {
  for (const std::string& name : memory_names()) {
    const MemorySpec memory = find_memory(name);
    const DramOrganisation& o = memory.organisation;
    CommandTiming timing(o, timing_constraints(memory));
    timing.issue(DramCommand::activate, 0, 100);
    INFO(name);
    CHECK(timing.ready(DramCommand::read, 0) == 100 + memory.timings.rcd_rd);
    CHECK(timing.ready(DramCommand::read, 1) == 0);  // another bank
    CHECK(timing.ready(DramCommand::activate, o.banks_per_group) == 100 + memory.timings.rrd_s);
    if (o.ranks > 1) CHECK(timing.ready(DramCommand::activate, o.banks_per_rank()) == 0);  // another rank
  }
}

TEST_CASE("DRAM timing: the table has every number of the catalog that is a delay") {
  for (const std::string& name : memory_names()) {
    std::set<std::string> names;
    for (const TimingConstraint& c : timing_constraints(find_memory(name))) names.insert(c.name);
    INFO(name);
    for (const char* one : {"tRC", "tRRD_L", "tRRD_S", "tFAW", "tRCD", "tRAS", "tCCD_L", "tCCD_S", "tRTP",
                            "tWTR_L", "tWTR_S", "tWR", "tRP", "tRFC", "read to write"})
      CHECK(names.contains(one));
    const MemorySpec memory = find_memory(name);
    CHECK(names.contains("tRTRS") == (memory.organisation.ranks > 1));
    CHECK(names.contains("tPPD") == (memory.timings.ppd > 0));
  }
}
