// Requests that wait for others, played: each is sent once, when all that it waits for have been answered and
// its gap is over.
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <random>

#include "test/serving/random_scenario.h"
#include "test/workloads/samples.h"

using namespace weir;
using weir::test::Outcome;
using weir::test::random_scenario;
using weir::test::small_scenario;

namespace {

const std::string columns =
    "session_id,turn,start_s,after,gap_s,input_tokens,output_tokens,shares_with,shared_tokens,measured\n";

// Sessions of a few turns, some with sub-agents, whose ends the next turn waits for; some not measured.
std::string random_sessions(unsigned seed, int sessions, int longest = 3000) {
  std::mt19937 random(seed);
  std::string text = columns;
  const auto lengths = [&] {
    return fmt::format("{},{}", 1 + random() % static_cast<unsigned>(longest), 1 + random() % 60);
  };
  for (int s = 0; s < sessions; ++s) {
    const auto turns = 1 + random() % 5;
    std::string after;
    for (unsigned t = 0; t < turns; ++t) {
      const double start = static_cast<double>(random() % 1000) / 500,
                   gap = random() % 3 ? static_cast<double>(random() % 800) / 1000 : 0;
      const bool first = t == 0;
      text += fmt::format("s{},{},{},{},{},{},,,{}\n", s, t, first ? fmt::format("{}", start) : "", after,
                          first ? 0 : gap, lengths(), first || random() % 4 ? 1 : 0);
      after = "";
      if (random() % 3 == 0) {
        text += fmt::format("s{}::a,{},,s{}:{},{},{},,0,1\n", s, t, s, t, gap, lengths());
        after = fmt::format("s{}:{} s{}::a:{}", s, t, s, t);
      }
    }
  }
  return text;
}

Json with_sessions(Json scenario, const TemporaryFile& file, const Json& arrivals) {
  scenario["workload"] = {{"requests", {{"kind", "sessions"}, {"file", file.name()}}},
                          {"arrivals", arrivals}};
  return scenario;
}

const Json at_their_starts = {{"kind", "trace"}};
Json at_a_time(int sessions) {
  return {{"kind", "sessions"}, {"concurrency", sessions}};
}

Workload workload_in(const Json& scenario) {
  return workload_of(scenario["workload"]);
}

Seconds end_of(const RequestRecord& r) {
  return r.status == RequestStatus::rejected ? r.request.arrival : r.finished;
}

double first_arrival(const Workload& w, std::int32_t session) {
  double first = 1e300;
  for (std::int32_t i = 0; i < w.sessions->requests(); ++i)
    if (w.sessions->of(i) == session && !w.sessions->waits(i))
      first = std::min(first, w.requests[static_cast<std::size_t>(i)].arrival.value());
  return first;
}

// Sent once, when it may be; and of sessions never more at once than there are places.
void check_sent(const Json& scenario, const Outcome& o) {
  REQUIRE(o.error == "");
  const Workload w = workload_in(scenario);
  const Sessions& sessions = *w.sessions;
  REQUIRE(std::ssize(o.requests) == sessions.requests());
  std::map<std::int32_t, std::pair<double, double>> spans;
  for (std::int32_t i = 0; i < sessions.requests(); ++i) {
    const RequestRecord& r = o.requests[static_cast<std::size_t>(i)];
    REQUIRE((r.status == RequestStatus::completed || r.status == RequestStatus::rejected));
    Seconds due = w.requests[static_cast<std::size_t>(i)].arrival;
    for (const std::int32_t awaited : sessions.awaited_by(i))
      due = std::max(due, end_of(o.requests[static_cast<std::size_t>(awaited)]) + sessions.gap(i));
    if (sessions.waits(i) || !w.sessions_at_a_time)
      REQUIRE(r.request.arrival.value() == Approx(due.value()).epsilon(1e-12).margin(1e-12));
    auto& [begin, end] = spans.try_emplace(sessions.of(i), 1e300, 0.0).first->second;
    begin = std::min(begin, r.request.arrival.value());
    end = std::max(end, end_of(r).value());
  }
  if (!w.sessions_at_a_time) return;
  std::vector<double> ends;
  for (const auto& [session, span] : spans) {
    const auto places = static_cast<std::size_t>(*w.sessions_at_a_time);
    const auto place = static_cast<std::size_t>(session);
    // A session begins in the very moment when one more than are left of the places has ended.
    std::ranges::sort(ends);
    CHECK(span.first == Approx(place < places ? 0.0 : ends[place - places]).margin(1e-12));
    ends.push_back(span.second);
  }
  for (std::int32_t i = 0; i < sessions.requests(); ++i)
    if (!sessions.waits(i))
      CHECK(o.requests[static_cast<std::size_t>(i)].request.arrival.value() - spans[sessions.of(i)].first ==
            Approx(w.requests[static_cast<std::size_t>(i)].arrival.value() - first_arrival(w, sessions.of(i)))
                .margin(1e-9));
}

}  // namespace

TEST_CASE("sessions: each request is sent once, when all it waits for have ended, and its gap", "[engine]") {
  for (unsigned seed = 0; seed < 24; ++seed) {
    const TemporaryFile file(random_sessions(seed, 12));
    const Json scenario =
        with_sessions(random_scenario(seed, true), file,
                      seed % 2 ? at_their_starts : at_a_time(1 + static_cast<int>(seed) % 5));
    INFO(scenario.dump());
    check_sent(scenario, test::run(scenario));
  }
}

TEST_CASE("sessions: fast-forward gives every request the times of stepping one by one", "[engine]") {
  for (unsigned seed = 100; seed < 124; ++seed) {
    const TemporaryFile file(random_sessions(seed, 12));
    Json scenario = with_sessions(random_scenario(seed, true), file,
                                  seed % 2 ? at_their_starts : at_a_time(1 + static_cast<int>(seed) % 5));
    const Outcome fast = test::run(scenario);
    scenario["fast_forward"] = false;
    INFO(scenario.dump());
    test::check_same(fast, test::run(scenario));
  }
}

TEST_CASE("sessions: the same scenario gives the same bits", "[engine]") {
  const TemporaryFile file(random_sessions(7, 30));
  test::check_same_bits(with_sessions(random_scenario(7, true), file, at_a_time(4)));
  test::check_same_bits(with_sessions(random_scenario(8, true), file, at_their_starts));
}

TEST_CASE("sessions: a rejected request counts as ended, however many there are", "[engine]") {
  std::string rows = columns;
  for (int turn = 0; turn < 20'000; ++turn)
    rows += fmt::format("a,{},{},,,{},1,,0,\n", turn, turn == 0 ? "3" : "", turn == 19'999 ? 10 : 90'000'000);
  for (int session = 0; session < 20'000; ++session)
    rows += fmt::format("b{},0,0,,,{},1,,0,\n", session, session == 19'999 ? 10 : 90'000'000);
  const TemporaryFile file(rows);
  for (const Json& arrivals : {at_their_starts, at_a_time(1)}) {
    const Json scenario = with_sessions(small_scenario(), file, arrivals);
    const Outcome o = test::run(scenario);
    REQUIRE(o.error == "");
    const auto completed = std::ranges::count(o.requests, RequestStatus::completed, &RequestRecord::status);
    CHECK(completed == 2);
    CHECK(o.requests[19'999].request.arrival == Seconds(arrivals == at_their_starts ? 3 : 0));
  }
}

TEST_CASE("sessions: a run that ends early has unfinished requests, and those never sent have no arrival",
          "[engine]") {
  const TemporaryFile file(columns + "a,0,0,,,100,50,,,\na,1,,,100,100,50,,,\nb,0,200,,,100,50,,,\n");
  Json scenario = with_sessions(small_scenario(), file, at_their_starts);
  scenario["simulated_time_limit_s"] = 50;
  const Outcome o = test::run(scenario);
  REQUIRE(o.error == "");
  CHECK(o.requests[0].status == RequestStatus::completed);
  for (const std::size_t i : {1u, 2u}) {
    CHECK(o.requests[i].status == RequestStatus::unfinished);
    CHECK(o.requests[i].request.arrival < Seconds(0));
  }
}

TEST_CASE("sessions: the first that are sent are the warm-up, and rows that are not measured no less",
          "[engine]") {
  const TemporaryFile file(columns +
                           "a,0,2,,,100,5,,,\na,1,,,,100,5,,,0\nb,0,0,,,100,5,,,\nb,1,,,1,100,5,,,\n");
  const Json scenario = with_sessions(small_scenario(), file, {{"kind", "trace"}, {"warmup_requests", 1}});
  const Outcome o = test::run(scenario);
  REQUIRE(o.error == "");
  CHECK(o.requests[0].request.measured);
  CHECK_FALSE(o.requests[1].request.measured);
  CHECK_FALSE(o.requests[2].request.measured);  // it comes first
  CHECK(o.requests[3].request.measured);
  CHECK(o.gap_count == 2 * 4);
}

TEST_CASE("sessions: of one class whoever comes first is served first, whatever its place in the file",
          "[engine]") {
  // Written backwards, so that file order and order of arrival are opposite.
  std::string rows = columns;
  for (int i = 0; i < 40; ++i) rows += fmt::format("s{},0,{},,,2000,20,,,\n", i, (40 - i) * 0.001);
  const TemporaryFile file(rows);
  Json scenario = with_sessions(small_scenario(), file, at_their_starts);
  scenario["serving"]["replicas"][0]["batching"] = {{"kind", "priority"}, {"max_batch_requests", 4}};
  const Outcome by_priority = test::run(scenario);
  scenario["serving"]["replicas"][0]["batching"] = {{"kind", "chunked_prefill"}, {"max_batch_requests", 4}};
  test::check_same(by_priority, test::run(scenario));
}
