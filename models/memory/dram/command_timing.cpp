#include "models/memory/dram/command_timing.h"

#include <limits>

namespace weir {

namespace {
constexpr Cycles long_ago = std::numeric_limits<Cycles>::min() / 2;
}

CommandTiming::CommandTiming(const DramOrganisation& organisation,
                             const std::vector<TimingConstraint>& constraints) {
  const auto banks = static_cast<std::size_t>(organisation.banks());
  const auto in_group = static_cast<std::size_t>(organisation.banks_per_group);
  const auto in_rank = static_cast<std::size_t>(organisation.banks_per_rank());
  ranks_ = static_cast<std::size_t>(organisation.ranks);
  first_rank_ = banks + banks / in_group;
  for (std::size_t b = 0; b < banks; ++b)
    places_.push_back({b, banks + b / in_group, first_rank_ + b / in_rank});
  next_.resize(first_rank_ + ranks_);
  for (auto& node : next_) node.fill(0);
  for (const TimingConstraint& c : constraints) {
    if (c.window == 1) {
      rules_[static_cast<std::size_t>(c.preceding)].push_back({c.level, c.following, c.latency});
      continue;
    }
    const auto length = static_cast<std::size_t>(c.window);
    windows_.push_back({c.preceding, c.following, c.latency, length,
                        std::vector<Cycles>(ranks_ * length, long_ago), std::vector<std::size_t>(ranks_)});
  }
}

void CommandTiming::issue(DramCommand command, int bank, Cycles now) {
  const Place& at = places_[static_cast<std::size_t>(bank)];
  for (const Rule& rule : rules_[static_cast<std::size_t>(command)]) {
    const Cycles until = now + rule.latency;
    switch (rule.level) {
      case DramLevel::bank:
        delay(at.bank, rule.following, until);
        break;
      case DramLevel::bank_group:
        delay(at.group, rule.following, until);
        break;
      case DramLevel::rank:
        delay(at.rank, rule.following, until);
        break;
      case DramLevel::other_ranks:
        for (std::size_t r = first_rank_; r < first_rank_ + ranks_; ++r)
          if (r != at.rank) delay(r, rule.following, until);
        break;
    }
  }
  for (Window& window : windows_) {
    if (window.preceding != command) continue;
    const std::size_t rank = at.rank - first_rank_;
    std::size_t& oldest = window.oldest[rank];
    window.at[rank * window.length + oldest] = now;
    oldest = oldest + 1 == window.length ? 0 : oldest + 1;
    delay(at.rank, window.following, window.at[rank * window.length + oldest] + window.latency);
  }
}

void CommandTiming::delay(DramCommand command, Cycles until) {
  for (std::size_t rank = first_rank_; rank < next_.size(); ++rank) delay(rank, command, until);
}

}  // namespace weir
