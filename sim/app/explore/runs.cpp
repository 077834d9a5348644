#include "sim/app/explore/runs.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include "sim/app/explore/packets.h"

namespace weir {

Runs::Runs(int worker) : worker_(worker), reader_([this] { read(); }) {}

Runs::~Runs() {
  ::shutdown(worker_, SHUT_RDWR);
  reader_.join();
}

bool Runs::alive() {
  const std::lock_guard lock(mutex_);
  return !lost_;
}

std::int32_t Runs::start(const std::string& page, const Json& scenario) {
  std::unique_lock lock(mutex_);
  const std::int32_t job = jobs_so_far_++;
  jobs_[job];
  lock.unlock();
  if (!send({job, 0, dumped({{"page", page}, {"scenario", scenario}})}))
    put(job, {R"({"end":"lost"})", true});
  return job;
}

std::optional<Runs::Line> Runs::next(std::int32_t job, std::chrono::milliseconds most) {
  std::unique_lock lock(mutex_);
  std::deque<Line>& lines = jobs_.at(job);
  if (!came_.wait_for(lock, most, [&] { return !lines.empty(); })) return {};
  Line line = std::move(lines.front());
  lines.pop_front();
  if (line.last) jobs_.erase(job);
  return line;
}

void Runs::stop(std::int32_t job) {
  std::unique_lock lock(mutex_);
  const bool known = jobs_.erase(job) > 0;
  lock.unlock();
  if (known) send({job, end_of_job, ""});
}

bool Runs::send(const Packet& packet) {
  const std::lock_guard lock(sending_);
  return send_packet(worker_, packet);
}

void Runs::put(std::int32_t job, Line line) {
  const std::lock_guard lock(mutex_);
  if (const auto known = jobs_.find(job); known != jobs_.end()) known->second.push_back(std::move(line));
  came_.notify_all();
}

void Runs::read() {
  PacketReader reader(worker_);
  while (reader.receive(true))
    while (const auto packet = reader.next())
      if (packet->part == end_of_job)
        put(packet->job, {fmt::format(R"({{"end":"{}"}})", packet->text), true});
      else  // a part's text is an object
        put(packet->job, {fmt::format(R"({{"part":{},{})", packet->part, packet->text.substr(1)), false});
  const std::lock_guard lock(mutex_);
  lost_ = true;
  for (auto& [job, lines] : jobs_) lines.push_back({R"({"end":"lost"})", true});
  came_.notify_all();
}

}  // namespace weir
