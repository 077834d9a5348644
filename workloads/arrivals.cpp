#include "workloads/arrivals.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/random/exponential_distribution.hpp>
#include <boost/random/gamma_distribution.hpp>
#include <cmath>
#include <limits>

namespace weir {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr Range<double> rates{1e-9, 1e9};  // wide enough for anyone, and no sum of gaps can overflow

double read_rate(Params& params) {
  return params.number(
      {"rate_per_s", "requests (or sessions, of requests that wait for others) a second, on average"}, rates);
}

class AsTraced : public ArrivalProcess {
 public:
  explicit AsTraced(Params& params)
      : ArrivalProcess(params),
        rate_scale_(params.number({"rate_scale", "2: the same requests, or sessions, come in half the time"},
                                  {1e-6, 1e6}, 1)) {}

  bool needs_a_trace() const override { return true; }
  void schedule(Workload& workload, Rng&) const override {
    for (Request& request : workload.requests) request.arrival = request.arrival / rate_scale_;
  }

 private:
  double rate_scale_;
};

// Each request comes at the next time, or each session: its other requests that wait for none keep their
// distance from the first of them.
template <class Next>
void come(Workload& workload, Next next) {
  if (!workload.sessions) {
    for (Request& request : workload.requests) request.arrival = Seconds(next());
    return;
  }
  const Sessions& sessions = *workload.sessions;
  struct Come {
    Seconds first{infinite}, at{0};
  };
  std::vector<Come> all(static_cast<std::size_t>(sessions.count()));
  const auto for_each_first = [&](auto what) {
    for (std::int32_t i = 0; i < sessions.requests(); ++i)
      if (!sessions.waits(i))
        what(workload.requests[static_cast<std::size_t>(i)], all[static_cast<std::size_t>(sessions.of(i))]);
  };
  for_each_first([](const Request& request, Come& its) { its.first = std::min(its.first, request.arrival); });
  for (Come& its : all) its.at = Seconds(next());
  for_each_first([](Request& request, const Come& its) { request.arrival += its.at - its.first; });
}

// Gaps that are drawn independently; the first request comes after the first gap.
template <class Gap>
void draw_gaps(Workload& workload, Rng& rng, Gap gap) {
  double now_s = 0;
  come(workload, [&] { return now_s += gap(rng); });
}

void come_by_poisson(Workload& workload, Rng& rng, double rate) {
  draw_gaps(workload, rng, boost::random::exponential_distribution<double>(rate));
  workload.traffic = {rate, 1};
}

void come_by_gamma(Workload& workload, Rng& rng, double rate, double shape) {
  draw_gaps(workload, rng, boost::random::gamma_distribution<double>(shape, 1 / (shape * rate)));
  workload.traffic = {rate, shape};
}

void come_evenly(Workload& workload, double rate) {
  std::int64_t i = 0;
  come(workload, [&] { return static_cast<double>(i++) / rate; });
  workload.traffic = {rate, infinite};
}

void come_at_once(Workload& workload) {
  come(workload, [] { return 0; });
  workload.traffic = {infinite, {}};
}

class Poisson : public ArrivalProcess {
 public:
  explicit Poisson(Params& params) : ArrivalProcess(params), rate_(read_rate(params)) {}

  void schedule(Workload& workload, Rng& rng) const override { come_by_poisson(workload, rng, rate_); }

 private:
  double rate_;
};

class GammaGaps : public ArrivalProcess {
 public:
  explicit GammaGaps(Params& params)
      : ArrivalProcess(params),
        rate_(read_rate(params)),
        cv_(params.number({"cv", "deviation over mean of the gaps; 1 is poisson, more is burstier"},
                          {0.01, 100})) {}

  void schedule(Workload& workload, Rng& rng) const override {
    come_by_gamma(workload, rng, rate_, 1 / (cv_ * cv_));
  }

 private:
  double rate_, cv_;
};

class Constant : public ArrivalProcess {
 public:
  explicit Constant(Params& params) : ArrivalProcess(params), rate_(read_rate(params)) {}

  void schedule(Workload& workload, Rng&) const override { come_evenly(workload, rate_); }

 private:
  double rate_;
};

class AllAtOnce : public ArrivalProcess {
 public:
  using ArrivalProcess::ArrivalProcess;

  void schedule(Workload& workload, Rng&) const override { come_at_once(workload); }
};

class SessionsAtATime : public ArrivalProcess {
 public:
  explicit SessionsAtATime(Params& params)
      : ArrivalProcess(params),
        concurrency_(params.integer(
            {"concurrency",
             "sessions at a time: one whose last request has ended lets the next one begin. Of "
             "requests of one session that wait for none, those behind the first keep their "
             "distance from it"},
            {1, 10'000'000})) {}

  void schedule(Workload& workload, Rng&) const override {
    if (!workload.sessions)
      throw ConfigError("", "kind",
                        "\"sessions\" needs requests that wait for others (requests of kind sessions, say); "
                        "closed_loop keeps a number of requests in flight");
    workload.sessions_at_a_time = concurrency_;
  }

 private:
  std::int64_t concurrency_;
};

class Loop : public AllAtOnce {
 public:
  explicit Loop(Params& params)
      : AllAtOnce(params),
        concurrency_(params.integer({"concurrency", "requests in flight: one that ends lets the next one in"},
                                    {1, 10'000'000})),
        desynchronise_(
            params.flag({"desynchronise",
                         "true: the first wave's output lengths are spread evenly over 1..output_tokens, so "
                         "that requests do not end in step and the steady state is there at once"},
                        false)),
        restart_after_warmup_(
            params.flag({"restart_after_warmup",
                         "true: the requests that are measured start anew, all at once, when the last of "
                         "warmup_requests has ended, as load generators do that warm a server up first"},
                        false)),
        round_trip_(params.quantity<Seconds>({"round_trip_ms",
                                              "of client and server: half passes before the server sees a "
                                              "request, half before the client sees "
                                              "a token; the next request leaves only then"},
                                             {0, 60'000}, 0)) {
    refuse_max_in_flight(params);
    if (!restart_after_warmup_) return;
    if (warmup_requests() == 0)
      params.fail("restart_after_warmup", "needs warmup_requests: without one there is nothing to end");
    if (desynchronise_)
      params.fail("restart_after_warmup",
                  "cannot stand beside desynchronise, whose first wave would be gone by then");
  }

  void schedule(Workload& workload, Rng& rng) const override {
    if (workload.sessions)
      throw ConfigError(
          "", "kind",
          "\"closed_loop\" keeps requests in flight, but these wait for each other: \"sessions\" "
          "keeps a number of sessions");
    AllAtOnce::schedule(workload, rng);
    workload.closed_loop = ClosedLoop{concurrency_, restart_after_warmup_, round_trip_};
    if (!desynchronise_) return;
    auto& requests = workload.requests;
    const std::int64_t wave = std::min<std::int64_t>(concurrency_, std::ssize(requests));
    for (std::int64_t i = 0; i < wave; ++i) {
      std::int64_t& tokens = requests[static_cast<std::size_t>(i)].output_tokens;
      const double share = static_cast<double>(i + 1) / static_cast<double>(wave);
      tokens = std::max<std::int64_t>(1, std::llround(share * static_cast<double>(tokens)));
    }
    workload.notes.push_back(fmt::format(
        "desynchronised: the first {} requests end early, evenly spread over their lengths", wave));
  }

 private:
  std::int64_t concurrency_;
  bool desynchronise_, restart_after_warmup_;
  Seconds round_trip_;
};

// Under the load that a benchmark's result says.
class AsBenchmarked : public ArrivalProcess {
 public:
  using ArrivalProcess::ArrivalProcess;

  void schedule(Workload& workload, Rng& rng) const override {
    const BenchmarkLoad& load = workload.load;
    if (!load.unknown.empty())
      throw ConfigError("", "kind", "\"benchmark\" needs the load of a benchmark, but " + load.unknown);
    const bool at_once = !std::isfinite(load.request_rate);
    if (at_once)
      come_at_once(workload);
    else if (!std::isfinite(load.burstiness))
      come_evenly(workload, load.request_rate);
    else if (load.burstiness == 1)
      come_by_poisson(workload, rng, load.request_rate);
    else
      come_by_gamma(workload, rng, load.request_rate, load.burstiness);
    const auto bound = max_in_flight() ? max_in_flight() : load.concurrency;
    if (bound && at_once && !workload.sessions)
      workload.closed_loop = ClosedLoop{.concurrency = *bound};
    else
      workload.max_in_flight = bound;
  }
};

template <class Process>
std::shared_ptr<const ArrivalProcess> make(Params& params) {
  return std::make_shared<Process>(params);
}

}  // namespace

ArrivalProcess::ArrivalProcess(Params& params)
    : warmup_requests_(
          params.integer({"warmup_requests", "the first so many by arrival are left out of every metric"},
                         {0, 100'000'000}, 0)),
      // vLLM's benchmark takes a semaphore around the call that starts a request's clock
      // (limited_request_func in vllm/benchmarks/serve.py), SGLang's and GuideLLM likewise.
      max_in_flight_(params.integer_or_null(
          {"max_in_flight",
           "requests beyond so many that are not answered yet wait at the client; a request's times count "
           "from when it is sent, as load generators' do (vLLM's --max-concurrency). null: no bound"},
          {1, 10'000'000})) {}

void ArrivalProcess::refuse_max_in_flight(Params& params) const {
  if (max_in_flight_) params.fail("max_in_flight", "cannot stand beside concurrency, which is such a bound");
}

std::shared_ptr<const ArrivalProcess> make_warm_batch(Params& params);

const Catalog<ArrivalProcess>& arrival_processes() {
  static const Catalog<ArrivalProcess> table = {
      {"trace", "as logged", make<AsTraced>},
      {"benchmark",
       "as the load generator of a benchmark's result sent them: at its rate, or so many in flight",
       make<AsBenchmarked>},
      {"poisson", "independent arrivals at a mean rate", make<Poisson>},
      {"gamma", "independent gaps of a given coefficient of variation", make<GammaGaps>},
      {"constant", "one every 1/rate seconds, the first at 0", make<Constant>},
      {"all_at_once", "all at time 0", make<AllAtOnce>},
      {"closed_loop", "a fixed number in flight", make<Loop>},
      {"sessions", "a fixed number of sessions at a time", make<SessionsAtATime>},
      {"warm_batch", "whole batches in the middle of their generation, KV cache in place", make_warm_batch},
  };
  return table;
}

}  // namespace weir
