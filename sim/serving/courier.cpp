#include "sim/serving/courier.h"

#include <fmt/format.h>

#include <cmath>
#include <simgrid/s4u.hpp>

namespace weir {
namespace sg4 = simgrid::s4u;

void send_and_wait(const std::vector<LinkFlow>& flows, LinkTraffic* traffic) {
  const Seconds start(sg4::Engine::get_clock());
  std::vector<sg4::CommPtr> comms;
  for (const LinkFlow& f : flows)
    if (f.bytes > Bytes(0) && f.from != f.to)
      comms.push_back(
          sg4::Comm::sendto_async(f.from, f.to, static_cast<std::uint64_t>(std::llround(f.bytes.value()))));
  sg4::Comm::wait_all(comms);
  if (traffic) traffic->carried(flows, start, Seconds(sg4::Engine::get_clock()));
}

void play_collective(Collective op, Bytes bytes, LinkShape shape, const std::vector<sg4::Host*>& ranks,
                     LinkTraffic* traffic) {
  for (const auto& round : plain_rounds(op, bytes, static_cast<int>(ranks.size()), shape)) {
    std::vector<LinkFlow> flows;
    for (const Message& m : round)
      flows.push_back(
          {ranks[static_cast<std::size_t>(m.from)], ranks[static_cast<std::size_t>(m.to)], m.bytes});
    send_and_wait(flows, traffic);
  }
}

Courier::Courier(const std::string& name, sg4::Host* host, LinkTraffic& traffic, std::function<void()> failed)
    : work_(sg4::Semaphore::create(0)) {
  sg4::Actor::create(name, host, [this, &traffic, failed = std::move(failed)] {
    while (true) {
      work_->acquire();
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      busy_ = true;
      send_and_wait(job.flows, &traffic);
      busy_ = false;
      try {
        job.arrived();
      } catch (const std::exception&) {
        failed();
      }
    }
  })->daemonize();
}

void Courier::send(std::vector<LinkFlow> flows, std::function<void()> arrived) {
  jobs_.push_back({std::move(flows), std::move(arrived)});
  work_->release();
}

void CourierPool::send(std::vector<LinkFlow> flows, std::function<void()> arrived) {
  for (auto& courier : couriers_)
    if (courier->idle()) return courier->send(std::move(flows), std::move(arrived));
  couriers_.push_back(
      std::make_unique<Courier>(fmt::format("courier {}", couriers_.size()), host_, traffic_, failed_));
  couriers_.back()->send(std::move(flows), std::move(arrived));
}

}  // namespace weir
