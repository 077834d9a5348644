#include "sim/app/mpi/ranks.h"

#include <fmt/format.h>
#include <mpi.h>
#include <poll.h>

#include <algorithm>
#include <stdexcept>

namespace weir {
namespace {

using Clock = std::chrono::steady_clock;
using Ended = std::function<void(std::size_t, const EndedPoint&)>;

enum Tag { from_rank_0, to_rank_0 };  // to rank 0: a result, or nothing as a sign of life
enum Word : std::int64_t { go_home = -1, go_home_at_once = -2, sign_of_life = -3 };  // others are points

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

}  // namespace

Ranks::Ranks(PointServer& own, int ranks, int jobs)
    : own_(own), ranks_(static_cast<std::size_t>(ranks)), jobs_(static_cast<std::size_t>(jobs)) {
  for (Rank& rank : ranks_) rank.heard = Clock::now();
}

Ranks::~Ranks() try {
  send_home();
  static std::deque<std::unique_ptr<Said>> under_way;  // MPI may read a word until it has gone
  under_way.swap(said_);
} catch (const std::exception&) {  // no memory for the words: mpirun ends the ranks
  return;
}

bool Ranks::all_alive() const {
  return std::none_of(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.lost; });
}

struct Ranks::Said {
  std::int64_t word;
  MPI_Request request;
};

// Does not wait: a dead rank would never take it. What has gone is forgotten; what a dead rank does not take
// is a word a second until it is given up.
void Ranks::say(std::size_t rank, std::int64_t word) {
  std::erase_if(said_, [](const std::unique_ptr<Said>& said) {
    int gone = 0;
    MPI_Test(&said->request, &gone, MPI_STATUS_IGNORE);
    return gone != 0;
  });
  Said& said = *said_.emplace_back(std::make_unique<Said>(word, MPI_REQUEST_NULL));
  MPI_Isend(&said.word, 1, MPI_INT64_T, static_cast<int>(rank), from_rank_0, MPI_COMM_WORLD, &said.request);
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
      i == 0 ? own_.start(point) : say(i, static_cast<std::int64_t>(point));
    }
}

void Ranks::take(int from, const std::string& bytes, const Ended& ended) {
  const auto [point, result] = unpacked(bytes);
  std::erase(ranks_[static_cast<std::size_t>(from)].running, point);
  hand_out();                 // before the result is written: the rank shall not wait for that
  if (ended_[point]) return;  // by another rank, when this one was given up
  ended_[point] = true;
  --left_;
  std::erase(waiting_, point);
  ended(point, result);
}

bool Ranks::receive(const Ended& ended) {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, to_rank_0, MPI_COMM_WORLD, &there, &status);
  if (!there) return false;
  int size = 0;
  MPI_Get_count(&status, MPI_CHAR, &size);
  std::string bytes(static_cast<std::size_t>(size), '\0');
  MPI_Recv(bytes.data(), size, MPI_CHAR, status.MPI_SOURCE, to_rank_0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  ranks_[static_cast<std::size_t>(status.MPI_SOURCE)].heard = Clock::now();
  if (size > 0) take(status.MPI_SOURCE, bytes, ended);
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

RunPoints Ranks::run_points() {
  return [this](const auto& points, const auto& ended, const auto& go_on) {
    waiting_.assign(points.begin(), points.end());
    left_ = points.size();
    ended_.assign(points.empty() ? 0 : *std::max_element(points.begin(), points.end()) + 1, false);
    Nap nap;
    while (left_ > 0 && go_on()) {
      hand_out();
      if (nap.until(own_.results())) take(0, own_.take(), ended);
      while (receive(ended)) nap.be_short();
      exchange_signs_of_life();
    }
    if (left_ == 0) send_home();
  };
}

void Ranks::send_home() {
  if (sent_home_) return;
  sent_home_ = true;
  for (std::size_t i = 1; i < ranks_.size(); ++i)
    if (!ranks_[i].lost) say(i, all_alive() ? go_home : go_home_at_once);
}

bool serve_rank_0(PointServer& own) {
  Nap nap;
  auto signed_at = Clock::now(), heard = signed_at;
  while (true) {
    int there = 0;
    MPI_Iprobe(0, from_rank_0, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    if (there) {
      std::int64_t word = 0;
      MPI_Recv(&word, 1, MPI_INT64_T, 0, from_rank_0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (word == go_home || word == go_home_at_once) return word == go_home;
      if (word >= 0) own.start(static_cast<std::size_t>(word));
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
