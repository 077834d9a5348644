#pragma once
// How ranks of MPI share points, one batch after another: all that a sweep has, or a plan's next round. Rank
// 0 alone knows them. It hands them out, as the others get free, and is told the results; it runs points
// itself, too. A rank sleeps between messages: MPI's own waiting
// would burn the core that the points need.
//
// Every rank says once a second that it lives. One that is silent for long is given up, and its points go to
// the others: so a command outlives a dead rank where mpirun lets it (docs/sweeps_on_a_cluster.md); elsewhere
// mpirun ends all, and --resume goes on.
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "sim/app/mpi/point_server.h"

namespace weir {

enum class AfterBatch { wait, go_home };  // for points: rank 0 may be silent for a minute

class Ranks {  // as rank 0 sees them
 public:
  Ranks(PointServer& own, const std::vector<Point>& points, int ranks, int jobs);
  ~Ranks();  // sends home those that wait for points still
  RunPoints run_points(AfterBatch then);
  bool all_alive() const;  // if not, nobody may call MPI_Finalize: it would wait for the dead
  void part_at_once();     // whatever they do: before an exit without MPI_Finalize

 private:
  struct Rank {
    std::vector<std::size_t> running;
    std::chrono::steady_clock::time_point heard;
    bool lost = false;
  };
  void say(std::size_t rank, int tag, const std::string& text = "");
  void hand_out();
  void take(int rank, const std::string& bytes,
            const std::function<void(std::size_t, const EndedPoint&)>& ended);
  bool receive(const std::function<void(std::size_t, const EndedPoint&)>& ended);  // was there anything?
  void exchange_signs_of_life();
  void send_home(int tag);

  PointServer& own_;
  const std::vector<Point>& points_;
  std::vector<Rank> ranks_;
  std::size_t jobs_;
  std::deque<std::size_t> waiting_;
  struct Said;
  struct Heard;
  std::deque<std::unique_ptr<Said>> said_;    // messages that may be under way still
  std::deque<std::unique_ptr<Heard>> heard_;  // likewise, to here
  std::set<std::size_t> open_;                // points of the batch without a result
  std::chrono::steady_clock::time_point signed_;
  bool sent_home_ = false;
};

// Any other rank does this, until rank 0 sends it home. False if MPI_Finalize would wait for a dead rank.
bool serve_rank_0(PointServer& own);

}  // namespace weir
