#include "devices/actor/lockstep.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <simgrid/s4u.hpp>

namespace weir {
namespace sg4 = simgrid::s4u;
namespace {

Seconds now() {
  return Seconds(sg4::Engine::get_clock());
}

double speed(const Lockstep::Device& device) {
  return device.availability ? device.availability->speed_at(now()) : 1;
}

bool changes(const Lockstep::Device& device) {
  return device.availability && !device.availability->speed.empty();
}

}  // namespace

Lockstep::Lockstep(std::string name, std::vector<Device> devices, bool folded) : name_(std::move(name)) {
  const auto alike = [](const Device& a, const Device& b) {
    return a.beside == b.beside && !a.beside && !changes(a) && !changes(b);
  };
  for (const Device& device : devices) {
    hosts_.push_back(device.host->get_name());
    const bool played = folded && std::ranges::any_of(players_, [&](const auto& player) {
                          return alike(player->device, device);
                        });
    if (played) continue;
    players_.push_back(std::make_unique<Player>());
    players_.back()->device = device;
    players_.back()->executes = !folded || changes(device);
    players_.back()->call = sg4::Semaphore::create(0);
    may_change_ = may_change_ || changes(device);
  }
  all_ended_ = sg4::Semaphore::create(0);
}

void Lockstep::start() {
  for (std::size_t i = 1; i < players_.size(); ++i) {
    Player& player = *players_[i];
    const std::string name = fmt::format("{} {} {}", name_, player.device.beside ? "memory" : "device", i);
    sg4::Actor::create(name, player.device.host, [this, &player] { serve(player); })->daemonize();
  }
}

void Lockstep::serve(Player& player) {
  while (true) {
    do player.call->acquire();
    while (!player.called);
    player.called = false;
    if (!player.cuttable) {
      player.executes ? sg4::this_actor::execute(player.share.value())
                      : sg4::this_actor::sleep_for(player.share.value());
    } else {
      begin(player);
      double wait = (player.share / speed(player.device)).value();
      while (!player.cut && !player.call->acquire_timeout(wait)) wait = (player.end - now()).value();
      if (player.cut && player.end > now()) sg4::this_actor::sleep_until(player.end.value());
      if (player.cut && player.exec) player.exec->cancel();
      player.exec = nullptr;
    }
    player.busy = false;
    if (--busy_ == 0) all_ended_->release();
  }
}

// The player's actor waits for the end of what it executes here by the clock, so that it can be woken before.
void Lockstep::begin(Player& player) {
  player.end = now() + player.share / speed(player.device);
  if (!player.executes) return;
  player.exec = sg4::this_actor::exec_init(player.share.value());
  player.exec->vetoable_start();
}

void Lockstep::call(Share share, bool cuttable) {
  for (std::size_t i = 0; i < players_.size(); ++i) {
    Player& player = *players_[i];
    player.share = player.device.beside ? share.beside : share.each;
    player.cuttable = cuttable;
    player.cut = false;
    if (i == 0 || player.share <= Seconds(0)) continue;
    player.called = player.busy = true;
    ++busy_;
    player.call->release();
  }
}

void Lockstep::wait_for_others() {
  while (busy_ > 0) all_ended_->acquire();
}

void Lockstep::execute(Share share) {
  call(share, false);
  Player& first = *players_[0];
  first.executes ? sg4::this_actor::execute(share.each.value()) : sg4::this_actor::sleep_for(share.each.value());
  wait_for_others();
}

bool Lockstep::execute_unless(sg4::Semaphore& wake, Share share) {
  call(share, true);
  begin(*players_[0]);
  if (!wake.acquire_timeout((share.each / pace()).value())) return false;
  players_[0]->exec = nullptr;
  wait_for_others();
  return true;
}

void Lockstep::end_at(Seconds time) {
  for (std::size_t i = 1; i < players_.size(); ++i) {
    Player& player = *players_[i];
    if (!player.busy || player.end <= time) continue;
    player.end = time;
    player.cut = true;
    player.call->release();
  }
  sg4::this_actor::sleep_until(time.value());
  if (players_[0]->exec) players_[0]->exec->cancel();
  players_[0]->exec = nullptr;
  wait_for_others();
}

bool Lockstep::has(const std::string& host) const {
  return std::ranges::find(hosts_, host) != hosts_.end();
}

double Lockstep::pace() const {
  if (!may_change_) return 1;
  double slowest = std::numeric_limits<double>::infinity();
  for (const auto& player : players_)
    if (!player->device.beside) slowest = std::min(slowest, speed(player->device));
  return slowest;
}

bool Lockstep::waits_for_memory() const {
  return may_change_ && std::ranges::any_of(players_, [this](const auto& player) {
           return player->device.beside && speed(player->device) < pace();
         });
}

Seconds Lockstep::next_change() const {
  Seconds next(std::numeric_limits<double>::infinity());
  for (const auto& player : players_)
    if (player->device.availability) next = std::min(next, player->device.availability->next_change(now()));
  return next;
}

}  // namespace weir
