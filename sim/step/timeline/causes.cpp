// Why everything happened when it did: StepResult::causes. An operator starts when the last one that it
// waited for ends, on a member of its unit after whoever was there before; it is slowed by those beside it.
// While none of that changes, its times are sums of the same terms. Terms are added up, because operators of
// different units have no order.
#include "sim/step/timeline/player.h"

namespace weir {
namespace {

std::uint64_t scrambled(std::uint64_t z) {  // splitmix64's (Steele, Lea, Flood, OOPSLA 2014)
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

constexpr std::uint64_t spread = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio, as splitmix64 steps

std::uint64_t joined(std::uint64_t hash, int number) {
  return scrambled(hash + static_cast<std::uint32_t>(number) + spread);
}

std::uint64_t pair(int high, int low) {
  return std::uint64_t{static_cast<std::uint32_t>(high)} << 32 | static_cast<std::uint32_t>(low);
}

}  // namespace

void Timeline::Player::add_causes(const Waiting& started) {
  const auto& way = *started.way;
  const auto& unit = graph.units[static_cast<std::size_t>(way.unit)];
  const bool waited = started.ready < now_;
  std::uint64_t hash =
      scrambled(pair(started.id, started.after) + pair(started.slowest, started.alternative) * spread);
  const auto follow = [&](int member) {
    LastOn& last = last_on_[static_cast<std::size_t>(unit.first_member + member)];
    hash = joined(hash, last.id);
    if (waited && last.left == now_) hash = joined(hash, member);
    last = {started.id, -1};
  };
  if (unit.amount > 0)
    follow(0);
  else
    for (int i = 0; i < way.portions; ++i)
      if (started.times[i] > Seconds(0)) follow(graph.member_of(way, i, started.layer));
  const int* resources = graph.draw_resources.data() + way.first_draw;
  for (int d = 0; d < way.draws; ++d) {
    if (!(started.rates[d] > BytesPerSecond(0))) continue;
    int& last = last_drawing_[static_cast<std::size_t>(resources[d])];
    hash = joined(hash, last);
    last = started.id;
  }
  causes_ += hash;
}

void Timeline::Player::add_causes(const Running& slowed) {
  slowed_any_ = true;
  std::uint64_t beside = 0;
  for (const Running& running : running_)
    for (int d = 0; d < running.way->draws; ++d)
      if (running.rates[d] > BytesPerSecond(0)) {
        beside += joined(1, running.id);
        break;
      }
  causes_ += joined(beside, slowed.id);
}

// The step ends with whoever ends last.
void Timeline::Player::add_last_cause() {
  causes_ += joined(2, ending_);
}

}  // namespace weir
