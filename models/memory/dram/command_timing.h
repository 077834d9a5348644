#pragma once
// When each command may next be issued to each bank: the constraint table applied to the commands so far.
// Knows no meaning of commands and no row; used by the controllers of normal accesses and of PIMs.
#include <algorithm>
#include <array>
#include <vector>

#include "models/memory/dram/timing_constraints.h"

namespace weir {

class CommandTiming {
 public:
  CommandTiming(const DramOrganisation& organisation, const std::vector<TimingConstraint>& constraints);

  // Banks are numbered rank by rank, group by group; a refresh is of a bank's whole rank.
  Cycles ready(DramCommand command, int bank) const {
    const auto c = static_cast<std::size_t>(command);
    const Place& at = places_[static_cast<std::size_t>(bank)];
    return std::max({next_[at.bank][c], next_[at.group][c], next_[at.rank][c]});
  }
  void issue(DramCommand command, int bank, Cycles now);
  void delay(DramCommand command, Cycles until);  // in every bank, for a reason that is no command

 private:
  struct Place {
    std::size_t bank, group, rank;  // nodes in next_
  };
  struct Rule {
    DramLevel level;
    DramCommand following;
    Cycles latency;
  };
  struct Window {  // over the last so many commands of a rank
    DramCommand preceding, following;
    Cycles latency;
    std::size_t length;
    std::vector<Cycles> at;  // by rank, a ring each
    std::vector<std::size_t> oldest;
  };
  void delay(std::size_t node, DramCommand command, Cycles until) {
    Cycles& next = next_[node][static_cast<std::size_t>(command)];
    next = std::max(next, until);
  }

  std::size_t first_rank_, ranks_;
  std::vector<Place> places_;
  std::vector<std::array<Cycles, dram_commands>> next_;  // nodes: banks, then groups, then ranks
  std::array<std::vector<Rule>, dram_commands> rules_;   // by preceding command
  std::vector<Window> windows_;
};

}  // namespace weir
