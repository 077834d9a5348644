#include "sim/serving/platform/courier.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <simgrid/s4u.hpp>

#include "devices/actor/clock.h"
#include "sim/serving/platform/engine.h"

namespace weir {
namespace sg4 = simgrid::s4u;

namespace {

Seconds latency(const LinkFlow& flow) {
  std::vector<sg4::Link*> links;
  double sum = 0;
  flow.from->route_to(flow.to, links, &sum);
  return Seconds(sum);
}

std::uint64_t whole_bytes(const LinkFlow& flow) {
  return static_cast<std::uint64_t>(std::llround(flow.bytes.value()));
}

// SimGrid 3.32 keeps to the rate of a message between actors, not to that of one between hosts
// (Comm::sendto_init), so that two actors are made. Returns who receives it.
sg4::ActorPtr start_paced(const LinkFlow& flow) {
  static char message;
  sg4::Mailbox* box = sg4::Mailbox::by_name(flow.from->get_name() + " paced to " + flow.to->get_name());
  const std::uint64_t bytes = whole_bytes(flow);
  const Seconds sending = flow.at_least - latency(flow);
  const double rate = sending > Seconds(0) ? static_cast<double>(bytes) / sending.value() : -1;  // none
  sg4::Actor::create("paced out", flow.from, [=] {
    box->put_init(&message, bytes)->set_rate(rate)->wait();
  })->daemonize();
  sg4::ActorPtr receiver = sg4::Actor::create("paced in", flow.to, [=] { box->get<char>(); });
  receiver->daemonize();  // a run does not go on for it
  return receiver;
}

}  // namespace

Sending::Sending(std::vector<LinkFlow> flows) : flows_(std::move(flows)), start_(now()) {
  for (const LinkFlow& flow : flows_) {
    if (flow.bytes <= Bytes(0) || flow.from == flow.to) continue;
    count_flow();
    if (flow.at_least > Seconds(0))
      paced_.push_back(start_paced(flow));
    else
      comms_.push_back(sg4::Comm::sendto_async(flow.from, flow.to, whole_bytes(flow)));
  }
}

void Sending::wait(LinkTraffic* traffic) {
  sg4::Comm::wait_all(comms_);
  for (const sg4::ActorPtr& receiver : paced_) receiver->join();
  if (traffic) traffic->carried(flows_, start_, now());
}

void send_and_wait(std::vector<LinkFlow> flows, LinkTraffic* traffic) {
  Sending(std::move(flows)).wait(traffic);
}

void transfer_and_wait(const std::vector<LinkFlow>& flows, LinkTraffic& traffic) {
  traffic.transfer_begins(flows, now());
  send_and_wait(flows, &traffic);
  traffic.transfer_ends(flows);
}

void play_collective(const std::vector<std::vector<Message>>& rounds, const std::vector<sg4::Host*>& ranks,
                     LinkTraffic* traffic) {
  for (const auto& round : rounds) {
    std::vector<LinkFlow> flows;
    for (const Message& m : round)
      flows.push_back(
          {ranks[static_cast<std::size_t>(m.from)], ranks[static_cast<std::size_t>(m.to)], m.bytes});
    send_and_wait(std::move(flows), traffic);
  }
}

Courier::Courier(const std::string& name, sg4::Host* host, Carries what, LinkTraffic& traffic,
                 std::function<void()> failed)
    : work_(sg4::Semaphore::create(0)) {
  sg4::Actor::create(name, host, [this, what, &traffic, failed = std::move(failed)] {
    while (true) {
      work_->acquire();
      Job job = std::move(jobs_.front());
      jobs_.pop_front();
      busy_ = true;
      if (job.start > now()) sg4::this_actor::sleep_until(job.start.value());
      if (what == Carries::kv_caches)
        transfer_and_wait(job.flows, traffic);
      else
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

void Courier::send(std::vector<LinkFlow> flows, std::function<void()> arrived, Seconds start) {
  jobs_.push_back({std::move(flows), std::move(arrived), start});
  work_->release();
}

void CourierPool::send(std::vector<LinkFlow> flows, std::function<void()> what, Seconds start) {
  std::function<void()> arrived = [this, order = sent_++, what = std::move(what)] {
    arrived_.emplace(order, what);
    sg4::this_actor::yield();  // so that all are known that arrived at this instant
    ++told_;
    arrived_.extract(arrived_.begin()).mapped()();
  };
  const auto idle = std::ranges::find_if(couriers_, [](const auto& courier) { return courier->idle(); });
  if (idle != couriers_.end()) return (*idle)->send(std::move(flows), std::move(arrived), start);
  couriers_.push_back(std::make_unique<Courier>(fmt::format("courier {}", couriers_.size()), host_,
                                                Courier::Carries::kv_caches, traffic_, failed_));
  couriers_.back()->send(std::move(flows), std::move(arrived), start);
}

}  // namespace weir
