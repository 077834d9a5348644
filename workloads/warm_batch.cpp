// Batches in the middle of their generation, as the evaluation of NeuPIMs has them (ASPLOS 2024, Section
// 8.1): an iteration of a server that has long been busy. At any moment a request runs in proportion to the
// steps that it takes, and each of its steps is as likely as another; so requests are drawn from the trace in
// proportion to the tokens that they decode, and stand at any of those.
#include <boost/random/discrete_distribution.hpp>
#include <boost/random/uniform_int_distribution.hpp>
#include <limits>

#include "workloads/arrivals.h"

namespace weir {
namespace {

class WarmBatch final : public ArrivalProcess {
 public:
  explicit WarmBatch(Params& params)
      : ArrivalProcess(params),
        concurrency_(params.integer({"concurrency", "requests of a batch"}, {1, 10'000'000})),
        batches_(params.integer({"batches", "so many batches, one after another"}, {1, 100'000}, 10)),
        steps_(params.integer({"steps", "tokens that each request of a batch decodes"}, {1, 100'000}, 1)),
        max_tokens_(params.integer_or_null(
            {"max_tokens", "what the server allows a request (vLLM's max_model_len): its output ends there"},
            {2, 100'000'000})) {
    refuse_max_in_flight(params);
  }

  void schedule(Workload& workload, Rng& rng) const override {
    std::vector<double> weights;
    double sum = 0;
    for (const Request& request : workload.requests)
      sum += weights.emplace_back(static_cast<double>(decoded(request)));
    if (sum == 0)
      throw ConfigError("", "kind", "a warm batch needs requests that decode: no output has two tokens");
    const boost::random::discrete_distribution<std::size_t, double> which(weights);
    std::vector<Request> running(static_cast<std::size_t>(concurrency_ * batches_));
    for (Request& request : running) {
      const Request& drawn = workload.requests[which(rng)];
      const boost::random::uniform_int_distribution<std::int64_t> position(1, decoded(drawn));
      request = {Seconds(0), drawn.input_tokens + position(rng), steps_};
    }
    workload.requests = std::move(running);
    if (workload.contents.shared() || workload.sessions)
      workload.notes.push_back(
          "warm batches draw their requests one by one: none waits for another, and no two "
          "share a prompt");
    workload.contents = {};
    workload.sessions = nullptr;
    workload.closed_loop = ClosedLoop{concurrency_};
    workload.traffic = {std::numeric_limits<double>::infinity(), {}};
    workload.in_generation = true;
    workload.notes.push_back(
        "warm batches: input_tokens are those already in the KV cache, output_tokens the decoded ones");
  }

 private:
  // The first token comes out of the prefill.
  std::int64_t decoded(const Request& r) const {
    const std::int64_t room = max_tokens_ ? *max_tokens_ - r.input_tokens : r.output_tokens;
    return std::max<std::int64_t>(0, std::min(r.output_tokens, room) - 1);
  }

  std::int64_t concurrency_, batches_, steps_;
  std::optional<std::int64_t> max_tokens_;
};

}  // namespace

std::shared_ptr<const ArrivalProcess> make_warm_batch(Params& params) {
  return std::make_shared<WarmBatch>(params);
}

}  // namespace weir
