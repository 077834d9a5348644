#include "devices/actor/lockstep.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <simgrid/s4u.hpp>
#include <simgrid/simix.hpp>

#include "devices/actor/clock.h"

namespace weir {
namespace sg4 = simgrid::s4u;
using simgrid::kernel::actor::simcall_answered;
namespace {

// SimGrid clears much of an actor's stack as it makes it. 16 KB are enough for the calls of serve().
constexpr unsigned stack_bytes = 32 * 1024;

double speed(const Lockstep::Device& device) {
  return device.availability ? device.availability->speed_at(now()) : 1;
}

bool changes(const Lockstep::Device& device) {
  return device.availability && !device.availability->speed.empty();
}

bool has_ended(const sg4::ExecPtr& exec) {
  using State = sg4::Activity::State;
  return exec && (exec->get_state() == State::FINISHED || exec->get_state() == State::FAILED);
}

}  // namespace

Lockstep::Lockstep(std::string name, std::vector<Device> devices, bool folded) : name_(std::move(name)) {
  const auto alike = [](const Device& a, const Device& b) {
    return a.beside == b.beside && !a.beside && !changes(a) && !changes(b);
  };
  for (const Device& device : devices) {
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
    sg4::Actor::init(name, player.device.host)
        ->set_stacksize(stack_bytes)
        ->start([this, &player] { serve(player); })
        ->daemonize();
  }
}

// In one call into SimGrid's kernel, as each is two switches of contexts. An execution that has ended is
// started again, since a new one costs half as much as it takes to play it; one that was cancelled has ended
// once SimGrid has seen that.
void Lockstep::start_execution(Player& player) {
  if (!has_ended(player.exec)) std::swap(player.exec, player.cancelled);
  if (!has_ended(player.exec)) (player.exec = sg4::Exec::init())->set_host(player.device.host);
  player.exec->complete(sg4::Activity::State::INITED);
  player.exec->set_flops_amount(player.share.value());
  player.exec->vetoable_start();
}

void Lockstep::serve(Player& player) {
  while (true) {
    do player.call->acquire();
    while (!player.called);
    player.called = false;
    if (!awaited_) {
      simcall_answered([&player] { start_execution(player); });
      continue;
    }
    player.exec = nullptr;
    sg4::this_actor::execute(player.share.value());
    if (--busy_ == 0) all_ended_->release();
  }
}

// The others have their shares, and the first executes its own, unless it will wait for that.
void Lockstep::begin(Share share, bool first_executes) {
  busy_ = 0;
  for (const auto& player : players_) {
    player->share = player->device.beside ? share.beside : share.each;
    player->called = player->share > Seconds(0) && (player->executes || awaited_);
    busy_ += player->called && player != players_[0];
  }
  Player& first = *players_[0];
  first_executes = first_executes && first.called;
  if (busy_ == 0 && !first_executes) return;
  simcall_answered([&] {
    for (std::size_t i = 1; busy_ > 0 && i < players_.size(); ++i)
      if (players_[i]->called) players_[i]->call->release();
    if (first_executes) start_execution(first);
  });
}

// Where speeds change, nobody knows before when a step ends.
void Lockstep::execute(Share share) {
  awaited_ = may_change_;
  if (!awaited_) alarm_.set(now() + share.each);
  begin(share, !awaited_);
  if (awaited_)
    sg4::this_actor::execute(share.each.value());
  else
    alarm_.wait();
  while (awaited_ && busy_ > 0) all_ended_->acquire();
}

bool Lockstep::run(Share share) {
  begin_run(share, nullptr);
  wait_for_run();
  return end_run();
}

void Lockstep::wait_for_run() {
  alarm_.wait();
}

void Lockstep::begin_run(Share share, const std::function<void()>* ends) {
  awaited_ = ended_early_ = false;
  alarm_.set(now() + share.each / pace(), ends);
  begin(share, true);
}

bool Lockstep::end_run() {
  if (ended_early_) cancel();
  return !ended_early_;
}

// SimGrid does not say how large its own objects are: these sizes are those of 3.32, in whole cache lines.
void Lockstep::add_used(WorkingSet& uses) const {
  const Player& first = *players_[0];
  uses.add(*this);
  uses.add(first);
  uses.add(first.device.host, 128);
  uses.add(first.device.host->get_cpu(), 256);
  if (!first.exec) return;
  uses.add(*first.exec);
  uses.add(first.exec->get_impl(), 384);
}

// Those that were called at this instant have not begun.
void Lockstep::cancel() {
  simcall_answered([this] {
    for (const auto& player : players_) {
      player->called = false;
      if (player->exec) player->exec->cancel();
    }
  });
}

void Lockstep::end_at(Seconds time) {
  ended_early_ = alarm_.ring_at(time) || ended_early_;
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
