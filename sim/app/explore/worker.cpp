#include "sim/app/explore/worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <thread>

#include "sim/app/child_process.h"
#include "sim/app/explore/packets.h"
#include "sim/core/memory/out_of_memory.h"

namespace weir {
namespace {

// A trace of millions of requests takes less. AddressSanitizer reserves more than any limit.
#ifdef __SANITIZE_ADDRESS__
constexpr std::optional<std::int64_t> most_memory;
#else
constexpr std::optional<std::int64_t> most_memory = std::int64_t{4} << 30;
#endif

struct PartToRun {
  std::int32_t job, part;
  std::shared_ptr<const Json> scenario;
};

class Jobs {
 public:
  Jobs(const Explored& explored, int socket, double patience_s)
      : explored_(explored),
        socket_(socket),
        at_once_(std::max(1u, std::thread::hardware_concurrency())),
        children_({.time_s = patience_s, .memory_bytes = most_memory, .keep_stderr = true}) {}

  void serve() {
    PacketReader reader(socket_);
    while (reader.receive(false)) {
      while (const auto packet = reader.next()) take(*packet);
      for (; !waiting_.empty() && children_.running() < at_once_; waiting_.pop_front())
        start(waiting_.front());
      for (auto& [id, result] : children_.wait(std::chrono::hours(1), socket_)) tell(id, result);
    }
  }

 private:
  struct Job {
    std::string page;
    int left = 0;  // parts that have not ended
  };

  void take(const Packet& packet) {
    if (packet.part == end_of_job) return drop(packet.job, "stopped");
    const Json asked = parse_json(packet.text, "job");
    const std::string page = asked.at("page");
    for (const auto& [job, known] : std::map(jobs_))
      if (known.page == page) drop(job, "newer");
    const auto scenario = std::make_shared<const Json>(asked.at("scenario"));
    jobs_[packet.job] = {page, load_parts + 1};
    for (int part = 0; part <= load_parts; ++part) waiting_.push_back({packet.job, part, scenario});
  }

  void start(const PartToRun& part) {
    running_[next_] = part;
    children_.start(next_++, [&] { return dumped(run_part(explored_, *part.scenario, part.part)); });
  }

  void tell(std::size_t id, const ChildResult& result) {
    const PartToRun part = running_.extract(id).mapped();
    const bool failed = !result.error.empty();
    send_packet(socket_,
                {part.job, part.part,
                 failed ? dumped({{"error", result.error}}) : R"({"answer":)" + result.output + "}"});
    // Without the scenario itself its other loads are nothing.
    const bool alone = part.part == 0 && (failed || result.output.starts_with(R"({"problems":)"));
    if (alone || --jobs_[part.job].left == 0) drop(part.job, "done");
  }

  void drop(std::int32_t job, const std::string& why) {
    if (jobs_.erase(job) == 0) return;
    std::erase_if(waiting_, [&](const PartToRun& part) { return part.job == job; });
    std::erase_if(running_, [&](const auto& known) {
      if (known.second.job == job) children_.kill(known.first);
      return known.second.job == job;
    });
    send_packet(socket_, {job, end_of_job, why});
  }

  const Explored& explored_;
  const int socket_;
  const std::size_t at_once_;
  Children children_;
  std::deque<PartToRun> waiting_;
  std::map<std::size_t, PartToRun> running_;  // by its child
  std::map<std::int32_t, Job> jobs_;
  std::size_t next_ = 0;
};

// Ctrl-C comes to every process of a terminal: the parent ends this one, when it is ready.
[[noreturn]] void be_worker(const Explored& explored, int socket, pid_t parent, double patience_s) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  try {
    Jobs(explored, socket, patience_s).serve();
  } catch (const std::exception& e) {
    std::fputs(("weir explore: " + words_of_error(e) + "\n").c_str(), stderr);
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

Worker::Worker(const Explored& explored, double patience_s) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw std::system_error(errno, std::generic_category(), "cannot make a pair of sockets");
  std::fflush(nullptr);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw std::system_error(errno, std::generic_category(), "cannot fork");
  if (process_ == 0) {
    ::close(ends[0]);
    be_worker(explored, ends[1], parent, patience_s);
  }
  ::close(ends[1]);
  socket_ = ends[0];
}

Worker::~Worker() {
  ::close(socket_);
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace weir
