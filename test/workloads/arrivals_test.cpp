#include <cmath>

#include "test/workloads/samples.h"

using namespace weir;

namespace {

std::string fixed(int count) {
  return R"({"kind": "fixed", "input_tokens": 7, "output_tokens": 100, "count": )" + std::to_string(count) +
         "}";
}

Moments gaps(const std::vector<Request>& requests) {
  std::vector<Request> gap = requests;
  for (std::size_t i = requests.size() - 1; i > 0; --i)
    gap[i].arrival = requests[i].arrival - requests[i - 1].arrival;
  return moments(gap, [](const Request& r) { return r.arrival.value(); });
}

}  // namespace

TEST_CASE("arrivals: every kind keeps every request, in ascending order, the same for the same seed") {
  for (const char* arrivals :
       {R"({"kind": "poisson", "rate_per_s": 3})", R"({"kind": "gamma", "rate_per_s": 3, "cv": 2})",
        R"({"kind": "constant", "rate_per_s": 3})", R"({"kind": "all_at_once"})",
        R"({"kind": "closed_loop", "concurrency": 4})"}) {
    CAPTURE(arrivals);
    const auto a = workload_of(fixed(500), arrivals, 5), b = workload_of(fixed(500), arrivals, 5);
    REQUIRE(a.requests.size() == 500);
    Seconds before(0);
    for (std::size_t i = 0; i < 500; ++i) {
      REQUIRE(a.requests[i].arrival == b.requests[i].arrival);
      REQUIRE(a.requests[i].arrival >= before);
      before = a.requests[i].arrival;
    }
  }
}

TEST_CASE("arrivals: poisson, gamma and constant have the rate and the variation asked for") {
  const auto poisson = gaps(workload_of(fixed(200000), R"({"kind": "poisson", "rate_per_s": 8})").requests);
  CHECK(poisson.mean == Approx(1 / 8.).epsilon(0.01));
  CHECK(poisson.std / poisson.mean == Approx(1).epsilon(0.02));
  for (const double cv : {0.1, 0.5, 1.0, 2.0, 5.0}) {
    const Json arrivals = {{"kind", "gamma"}, {"rate_per_s", 0.25}, {"cv", cv}};
    const auto sample = gaps(workload_of(fixed(400000), arrivals.dump()).requests);
    CAPTURE(cv);
    CHECK(sample.mean == Approx(4).epsilon(0.03));
    CHECK(sample.std / sample.mean == Approx(cv).epsilon(0.04));
  }
  const auto constant = workload_of(fixed(5), R"({"kind": "constant", "rate_per_s": 2})").requests;
  for (std::size_t i = 0; i < 5; ++i) CHECK(constant[i].arrival == Seconds(0.5 * static_cast<double>(i)));
}

TEST_CASE("arrivals: lengths do not move with the arrivals, nor arrivals with the lengths") {
  const std::string lengths = R"({"kind": "named", "name": "alpaca", "count": 300})";
  const auto poisson = workload_of(lengths, R"({"kind": "poisson", "rate_per_s": 3})").requests;
  const auto gamma = workload_of(lengths, R"({"kind": "gamma", "rate_per_s": 3, "cv": 3})").requests;
  const auto equal = workload_of(fixed(300), R"({"kind": "poisson", "rate_per_s": 3})").requests;
  for (std::size_t i = 0; i < 300; ++i) {
    REQUIRE(poisson[i].input_tokens == gamma[i].input_tokens);
    REQUIRE(poisson[i].output_tokens == gamma[i].output_tokens);
    REQUIRE(poisson[i].arrival == equal[i].arrival);
  }
}

TEST_CASE("closed_loop: desynchronised, the first wave ends evenly and the rest is untouched") {
  const auto w =
      workload_of(fixed(12), R"({"kind": "closed_loop", "concurrency": 10, "desynchronise": true})");
  REQUIRE(w.closed_loop);
  CHECK(w.closed_loop->concurrency == 10);
  for (std::size_t i = 0; i < 12; ++i)
    CHECK(w.requests[i].output_tokens == (i < 10 ? 10 * static_cast<std::int64_t>(i + 1) : 100));
  CHECK(w.notes.size() == 1);
  const auto wide =
      workload_of(fixed(5), R"({"kind": "closed_loop", "concurrency": 1000, "desynchronise": true})");
  CHECK(wide.requests.front().output_tokens == 20);
  CHECK(wide.requests.back().output_tokens == 100);
  const auto plain = workload_of(fixed(12), R"({"kind": "closed_loop", "concurrency": 10})");
  for (const Request& r : plain.requests) CHECK(r.output_tokens == 100);
  CHECK(!workload_of(fixed(2), R"({"kind": "all_at_once"})").closed_loop);
}

TEST_CASE("closed_loop: a start anew needs a warm-up that ends, and no wave that ends early") {
  const auto loop = [](const std::string& more) {
    return R"({"kind": "closed_loop", "concurrency": 4)" + more + "}";
  };
  const auto w = workload_of(
      fixed(12), loop(R"(, "warmup_requests": 8, "restart_after_warmup": true, "round_trip_ms": 5)"));
  REQUIRE(w.closed_loop);
  CHECK(w.closed_loop->restart_after_warmup);
  CHECK(w.closed_loop->round_trip.value() == Approx(0.005));
  const auto plain = workload_of(fixed(12), loop("")).closed_loop;
  CHECK(!plain->restart_after_warmup);
  CHECK(plain->round_trip == Seconds(0));
  CHECK(
      problems_of(fixed(12), loop(R"(, "restart_after_warmup": true)")) ==
      "scenario.json: /arrivals/restart_after_warmup: needs warmup_requests: without one there is nothing to "
      "end");
  CHECK(problems_of(fixed(12), loop(R"(, "warmup_requests": 8, "restart_after_warmup": true,
                                        "desynchronise": true)"))
            .starts_with("scenario.json: /arrivals/restart_after_warmup: cannot stand beside desynchronise"));
  CHECK(problems_of(fixed(12), loop(R"(, "round_trip_ms": -1)"))
            .starts_with("scenario.json: /arrivals/round_trip_ms: expected"));
}

TEST_CASE("warmup_requests: any kind takes it, and something must remain") {
  CHECK(workload_of(fixed(12), R"({"kind": "poisson", "rate_per_s": 1, "warmup_requests": 11})")
            .warmup_requests == 11);
  CHECK(workload_of(fixed(12), R"({"kind": "all_at_once"})").warmup_requests == 0);
  CHECK(problems_of(fixed(12), R"({"kind": "all_at_once", "warmup_requests": 12})") ==
        "scenario.json: /arrivals/warmup_requests: expected fewer than the 12 requests there are, got 12");
}

TEST_CASE("arrivals: mistakes are told at their keys") {
  const auto of = [](const std::string& arrivals) { return problems_of(fixed(5), arrivals); };
  CHECK(of(R"({"kind": "poisson", "rate_per_s": -1})")
            .starts_with("scenario.json: /arrivals/rate_per_s: expected a number"));
  CHECK(of(R"({"kind": "poisson"})") == "scenario.json: /arrivals/rate_per_s: required, but missing");
  CHECK(of(R"({"kind": "gamma", "rate_per_s": 1, "cv": 0})")
            .starts_with("scenario.json: /arrivals/cv: expected a number"));
  CHECK(
      of(R"({"kind": "closed_loop", "concurrency": 0})").starts_with("scenario.json: /arrivals/concurrency"));
  CHECK(of(R"({"kind": "poison", "rate_per_s": 1})").find("did you mean \"poisson\"?") != std::string::npos);
  CHECK(of(R"({"kind": "constant", "rate_per_s": 1, "cv": 2})")
            .starts_with("scenario.json: /arrivals/cv: unknown key"));
  CHECK(of(R"({"kind": "trace"})") ==
        "scenario.json: /arrivals/kind: \"trace\" needs an arrival for each request, but these requests are "
        "drawn, not "
        "logged");
  CHECK(problems_of(R"({"kind": "fixed", "input_tokens": 7, "output_tokens": 1, "count": 5})",
                    R"({"kind": "warm_batch", "concurrency": 4})") ==
        "scenario.json: /arrivals/kind: a warm batch needs requests that decode: no output has two tokens");
  CHECK(of("{}") == "scenario.json: /arrivals/kind: required, but missing");
}

TEST_CASE("warm_batch: requests stand anywhere in their generation, drawn by how long they decode") {
  const auto w =
      workload_of(fixed(3), R"({"kind": "warm_batch", "concurrency": 500, "batches": 40, "steps": 2})");
  REQUIRE(w.requests.size() == 20000);
  REQUIRE(w.closed_loop);
  CHECK(w.closed_loop->concurrency == 500);
  CHECK(w.in_generation);
  std::vector<int> positions(100);
  for (const Request& r : w.requests) {
    REQUIRE(r.output_tokens == 2);
    ++positions.at(static_cast<std::size_t>(r.input_tokens - 7));
  }
  CHECK(positions[0] == 0);  // the first token comes out of the prefill
  for (std::size_t p = 1; p < 100; ++p)
    CHECK(std::abs(positions[p] - 20000 / 99.) < 5 * std::sqrt(20000 / 99.));

  const TemporaryFile trace("arrival_s,input_tokens,output_tokens\n,1000,11\n,5000,31\n,9000,1\n");
  const auto mixed = workload_of(R"({"kind": "csv", "file": ")" + trace.name() + "\"}",
                                 R"({"kind": "warm_batch", "concurrency": 8000, "batches": 1})");
  const auto longer = std::count_if(mixed.requests.begin(), mixed.requests.end(),
                                    [](const Request& r) { return r.input_tokens > 5000; });
  CHECK(std::abs(static_cast<double>(longer) - 6000) < 5 * std::sqrt(8000 * 0.25 * 0.75));  // 30 to 10
  const auto limited =
      workload_of(R"({"kind": "csv", "file": ")" + trace.name() + "\"}",
                  R"({"kind": "warm_batch", "concurrency": 100, "batches": 1, "max_tokens": 1004})");
  for (const Request& r : limited.requests) CHECK((r.input_tokens > 1000 && r.input_tokens <= 1003));
}
