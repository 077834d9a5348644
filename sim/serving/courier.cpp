#include "sim/serving/courier.h"

#include <fmt/format.h>

#include <cmath>
#include <simgrid/s4u.hpp>

namespace weir {
namespace sg4 = simgrid::s4u;

namespace {

Seconds latency(const LinkFlow& flow) {
  std::vector<sg4::Link*> links;
  double sum = 0;
  flow.from->route_to(flow.to, links, &sum);
  return Seconds(sum);
}

sg4::CommPtr start(const LinkFlow& flow) {
  const auto bytes = static_cast<std::uint64_t>(std::llround(flow.bytes.value()));
  if (flow.at_least <= Seconds(0)) return sg4::Comm::sendto_async(flow.from, flow.to, bytes);
  sg4::CommPtr comm = sg4::Comm::sendto_init();  // begins when it has both hosts
  comm->set_payload_size(bytes);
  if (const Seconds sending = flow.at_least - latency(flow); sending > Seconds(0))
    comm->set_rate(static_cast<double>(bytes) / sending.value());
  comm->set_source(flow.from)->set_destination(flow.to);
  return comm;
}

}  // namespace

Sending::Sending(std::vector<LinkFlow> flows) : flows_(std::move(flows)), start_(sg4::Engine::get_clock()) {
  for (const LinkFlow& flow : flows_)
    if (flow.bytes > Bytes(0) && flow.from != flow.to) comms_.push_back(start(flow));
}

void Sending::wait(LinkTraffic* traffic) {
  sg4::Comm::wait_all(comms_);
  if (traffic) traffic->carried(flows_, start_, Seconds(sg4::Engine::get_clock()));
}

void send_and_wait(std::vector<LinkFlow> flows, LinkTraffic* traffic) {
  Sending(std::move(flows)).wait(traffic);
}

void play_collective(Collective op, Bytes bytes, LinkShape shape, const std::vector<sg4::Host*>& ranks,
                     LinkTraffic* traffic) {
  for (const auto& round : plain_rounds(op, bytes, static_cast<int>(ranks.size()), shape)) {
    std::vector<LinkFlow> flows;
    for (const Message& m : round)
      flows.push_back(
          {ranks[static_cast<std::size_t>(m.from)], ranks[static_cast<std::size_t>(m.to)], m.bytes});
    send_and_wait(std::move(flows), traffic);
  }
}

Courier::Courier(const std::string& name, sg4::Host* host, LinkTraffic& traffic, std::function<void()> failed)
    : work_(sg4::Semaphore::create(0)) {
  sg4::Actor::create(name, host, [this, &traffic, failed = std::move(failed)] {
    while (true) {
      work_->acquire();
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      busy_ = true;
      send_and_wait(std::move(job.flows), &traffic);
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
