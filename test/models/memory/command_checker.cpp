#include "test/models/memory/command_checker.h"

#include <fmt/format.h>

#include <random>

namespace weir::test {
namespace {

struct Node {
  int rank, group, bank;
};

Node node(const MemorySpec& memory, const IssuedCommand& c) {
  return {c.bank / memory.organisation.banks_per_rank(), c.bank / memory.organisation.banks_per_group,
          c.bank};
}

bool applies(DramLevel level, const Node& a, const Node& b, bool whole_rank) {
  switch (level) {
    case DramLevel::bank:
      return a.bank == b.bank || (whole_rank && a.rank == b.rank);
    case DramLevel::bank_group:
      return a.group == b.group;
    case DramLevel::rank:
      return a.rank == b.rank;
    case DramLevel::other_ranks:
      break;
  }
  return a.rank != b.rank;
}

std::string timing_violation(const MemorySpec& memory, const std::vector<TimingConstraint>& table,
                             const std::vector<IssuedCommand>& log, std::size_t at) {
  const IssuedCommand& later = log[at];
  for (const TimingConstraint& c : table) {
    if (c.following != later.command) continue;
    int seen = 0;
    for (std::size_t i = at; i-- > 0 && later.cycle - log[i].cycle < c.latency;) {
      if (log[i].command != c.preceding ||
          !applies(c.level, node(memory, log[i]), node(memory, later), c.following == DramCommand::refresh))
        continue;
      if (++seen == c.window)
        return fmt::format("{} at {} of bank {}: {} cycles after {} of bank {}, {} asks for {}",
                           to_string(later.command), later.cycle, later.bank, later.cycle - log[i].cycle,
                           to_string(log[i].command), log[i].bank, c.name, c.latency);
    }
  }
  return "";
}

// open: the row of each bank, -1 if none.
std::string state_violation(const MemorySpec& memory, std::vector<std::int64_t>& open,
                            const IssuedCommand& c) {
  std::int64_t& row = open[static_cast<std::size_t>(c.bank)];
  const std::string where = fmt::format("{} of bank {} at {}: ", to_string(c.command), c.bank, c.cycle);
  switch (c.command) {
    case DramCommand::activate:
      if (row >= 0) return where + "it is open";
      row = c.row;
      break;
    case DramCommand::precharge:
      if (row < 0) return where + "it is closed";
      row = -1;
      break;
    case DramCommand::read:
    case DramCommand::write:
      if (row < 0 || row != c.row) return where + "another row is open, or none";
      if (memory.controller.page == PagePolicy::closed) row = -1;
      break;
    case DramCommand::refresh:
      for (int b = 0; b < memory.organisation.banks_per_rank(); ++b)
        if (open[static_cast<std::size_t>(c.bank + b)] >= 0) return where + "a bank is open";
      break;
    default:
      return where + "no command of a plain DRAM";
  }
  return "";
}

}  // namespace

std::string broken_constraint(const MemorySpec& memory, const std::vector<IssuedCommand>& log) {
  const std::vector<TimingConstraint> table = timing_constraints(memory);
  for (std::size_t i = 0; i < log.size(); ++i)
    if (std::string wrong = timing_violation(memory, table, log, i); !wrong.empty()) return wrong;
  return "";
}

std::string first_violation(const MemorySpec& memory, const std::vector<IssuedCommand>& log) {
  if (std::string wrong = broken_constraint(memory, log); !wrong.empty()) return wrong;
  std::vector<std::int64_t> open(static_cast<std::size_t>(memory.organisation.banks()), -1);
  const std::size_t a_cycle = memory.controller.two_commands ? 2 : 1;
  Cycles bus_free = 0;
  for (std::size_t i = 0; i < log.size(); ++i) {
    const IssuedCommand& c = log[i];
    if (i >= a_cycle && log[i - a_cycle].cycle == c.cycle)
      return fmt::format("more than {} commands at {}", a_cycle, c.cycle);
    if (i > 0 && log[i - 1].cycle > c.cycle) return "the log is out of order";
    if (std::string wrong = state_violation(memory, open, c); !wrong.empty()) return wrong;
    if (c.command != DramCommand::read && c.command != DramCommand::write) continue;
    const DramTimings& t = memory.timings;
    const Cycles begin = c.cycle + (c.command == DramCommand::read ? t.cl : t.cwl);
    if (begin < bus_free) return fmt::format("the data bus is taken at {}", begin);
    bus_free = begin + t.burst;
  }
  return "";
}

std::vector<MemoryRequest> random_requests(const MemorySpec& memory, int n, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto step = static_cast<std::uint64_t>(memory.organisation.access_bytes);
  const std::uint64_t blocks = static_cast<std::uint64_t>(memory.organisation.capacity()) / step;
  const std::uint64_t writes = random() % 4, pauses = random() % 3, far = 1 + random() % 20;
  std::vector<MemoryRequest> all;
  Cycles now = 0;
  std::uint64_t block = 0;
  for (int i = 0; i < n; ++i) {
    if (pauses > 0 && random() % 50 == 0) now += static_cast<Cycles>(random() % 6000);
    if (pauses > 1) now += static_cast<Cycles>(random() % 12);
    if (random() % far == 0)
      block = random() % blocks;
    else
      block = (block + random() % 4) % blocks;
    all.push_back({now, block * step, random() % 4 < writes});
  }
  return all;
}

}  // namespace weir::test
