#include "sim/app/mpi/ranks.h"

#include <fmt/format.h>
#include <mpi.h>
#include <poll.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;
using Ended = std::function<void(std::size_t, const EndedPoint&)>;

// To rank 0: a result, or nothing as a sign of life. Rank 0 sends the others.
enum Tag { to_rank_0, run_this, sign_of_life, go_home, go_home_at_once };

constexpr std::chrono::seconds between_signs(1), patience(10), patience_with_rank_0(60);  // it may be writing

class Nap {  // ever longer while nothing happens, up to 5 ms
 public:
  bool until(int readable) {
    pollfd one{readable, POLLIN, 0};
    const timespec time{0, nanoseconds_};
    const bool ready = ::ppoll(&one, 1, &time, nullptr) > 0;
    nanoseconds_ = ready ? shortest : std::min(2 * nanoseconds_, 5'000'000L);
    return ready;
  }
  void be_short() { nanoseconds_ = shortest; }

 private:
  static constexpr long shortest = 100'000;
  long nanoseconds_ = shortest;
};

struct Announced {
  int from, tag;
  std::size_t size;
};

std::optional<Announced> announced(int from, int tag) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(from, tag, MPI_COMM_WORLD, &there, &status);
  if (!there) return std::nullopt;
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  return Announced{status.MPI_SOURCE, status.MPI_TAG, static_cast<std::size_t>(size)};
}

}  // namespace

struct Ranks::Said {
  std::string text;
  MPI_Request request;
};

struct Ranks::Heard {
  int from;
  std::string text;
  MPI_Request request;
};

Ranks::Ranks(PointServer& own, const std::vector<Point>& points, int ranks, int jobs)
    : own_(own),
      points_(points),
      ranks_(static_cast<std::size_t>(ranks)),
      jobs_(static_cast<std::size_t>(jobs)) {
  for (Rank& rank : ranks_) rank.heard = Clock::now();
}

Ranks::~Ranks() try {
  send_home(go_home);
  // MPI may read a text until it has gone, and write one until it is there.
  static std::deque<std::unique_ptr<Said>> going;
  static std::deque<std::unique_ptr<Heard>> coming;
  going.swap(said_);
  coming.swap(heard_);
} catch (const std::exception&) {  // no memory for the words: mpirun ends the ranks
  return;
}

bool Ranks::all_alive() const {
  return std::none_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.lost; });
}

// Does not wait: a dead rank would never take it. What has gone is forgotten; what a dead rank does not take
// is a sign a second until it is given up.
void Ranks::say(std::size_t rank, int tag, const std::string& text) {
  std::erase_if(said_, [](const std::unique_ptr<Said>& said) {
    int gone = 0;
    MPI_Test(&said->request, &gone, MPI_STATUS_IGNORE);
    return gone != 0;
  });
  Said& said = *said_.emplace_back(std::make_unique<Said>(Said{text, MPI_REQUEST_NULL}));
  MPI_Isend(said.text.data(), static_cast<int>(text.size()), MPI_CHAR, static_cast<int>(rank), tag,
            MPI_COMM_WORLD, &said.request);
}

// A point to each rank first, then a second one to each, so that few points are spread.
void Ranks::hand_out() {
  for (std::size_t round = 0; round < jobs_; ++round)
    for (std::size_t i = 0; i < ranks_.size() && !waiting_.empty(); ++i) {
      Rank& rank = ranks_[i];
      if (rank.lost || rank.running.size() > round) continue;
      const std::size_t point = waiting_.front();
      waiting_.pop_front();
      rank.running.push_back(point);
      const std::string text = packed(points_[point]);
      i == 0 ? own_.start(text) : say(i, run_this, text);
    }
}

void Ranks::take(int from, const std::string& bytes, const Ended& ended) {
  const auto [point, result] = unpacked(bytes);
  std::erase(ranks_[static_cast<std::size_t>(from)].running, point);
  hand_out();                           // before the result is written: the rank shall not wait for that
  if (open_.erase(point) == 0) return;  // ended by another rank, when this one was given up
  std::erase(waiting_, point);
  ended(point, result);
}

// Nor does this wait: of a rank that died while it sent, the rest never comes.
bool Ranks::receive(const Ended& ended) {
  while (const std::optional<Announced> message = announced(MPI_ANY_SOURCE, to_rank_0)) {
    Heard& heard = *heard_.emplace_back(
        std::make_unique<Heard>(Heard{message->from, std::string(message->size, '\0'), MPI_REQUEST_NULL}));
    MPI_Irecv(heard.text.data(), static_cast<int>(message->size), MPI_CHAR, message->from, message->tag,
              MPI_COMM_WORLD, &heard.request);
  }
  const auto whole = std::ranges::find_if(heard_, [](const std::unique_ptr<Heard>& heard) {
    int there = 0;
    MPI_Test(&heard->request, &there, MPI_STATUS_IGNORE);
    return there != 0;
  });
  if (whole == heard_.end()) return false;
  const std::unique_ptr<Heard> heard = std::move(*whole);
  heard_.erase(whole);
  ranks_[static_cast<std::size_t>(heard->from)].heard = Clock::now();
  if (!heard->text.empty()) take(heard->from, heard->text, ended);
  return true;
}

void Ranks::exchange_signs_of_life() {
  const auto now = Clock::now();
  if (now - signed_ < between_signs) return;
  signed_ = now;
  for (std::size_t i = 1; i < ranks_.size(); ++i) {
    Rank& rank = ranks_[i];
    if (rank.lost) continue;
    if (now - rank.heard < patience) {
      say(i, sign_of_life);
      continue;
    }
    rank.lost = true;
    fmt::print(stderr, "weir: rank {} is silent; {} of its points go to others\n", i, rank.running.size());
    for (const std::size_t point : rank.running) waiting_.push_front(point);
  }
}

RunPoints Ranks::run_points(AfterBatch then) {
  return [this, then](const auto& points, const auto& ended, const auto& go_on) {
    waiting_.assign(points.begin(), points.end());
    open_ = {points.begin(), points.end()};
    for (Rank& rank : ranks_) rank.heard = Clock::now();  // nobody listened since the last batch
    Nap nap;
    while (!open_.empty() && go_on()) {
      hand_out();
      if (nap.until(own_.results())) take(0, own_.take(), ended);
      while (receive(ended)) nap.be_short();
      exchange_signs_of_life();
    }
    if (open_.empty() && then == AfterBatch::go_home) send_home(all_alive() ? go_home : go_home_at_once);
  };
}

void Ranks::send_home(int tag) {
  if (sent_home_) return;
  sent_home_ = true;
  for (std::size_t i = 1; i < ranks_.size(); ++i)
    if (!ranks_[i].lost) say(i, tag);
}

void Ranks::part_at_once() {
  if (sent_home_) return;
  send_home(go_home_at_once);
  const auto until = Clock::now() + std::chrono::milliseconds(100);
  for (Nap nap; Clock::now() < until; nap.until(-1)) {  // as MPI sends only while it is called
    int there = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, to_rank_0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
  }
}

bool serve_rank_0(PointServer& own) {
  Nap nap;
  auto signed_at = Clock::now(), heard = signed_at;
  while (true) {
    if (const std::optional<Announced> message = announced(0, MPI_ANY_TAG)) {
      std::string text(message->size, '\0');
      MPI_Recv(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, message->tag, MPI_COMM_WORLD,
               MPI_STATUS_IGNORE);
      if (message->tag == go_home || message->tag == go_home_at_once) return message->tag == go_home;
      if (message->tag == run_this) own.start(text);
      heard = Clock::now();
      nap.be_short();
    }
    if (nap.until(own.results())) {
      const std::string bytes = own.take();
      MPI_Send(bytes.data(), static_cast<int>(bytes.size()), MPI_CHAR, 0, to_rank_0, MPI_COMM_WORLD);
    }
    const auto now = Clock::now();
    if (now - heard > patience_with_rank_0) throw std::runtime_error("rank 0 is silent");
    if (now - signed_at < between_signs) continue;
    signed_at = now;
    MPI_Send(nullptr, 0, MPI_CHAR, 0, to_rank_0, MPI_COMM_WORLD);
  }
}

}  // namespace weir
