// Requests that wait for others: the file they are read from, and what is made of it.
#include <catch2/catch.hpp>
#include <map>
#include <random>
#include <set>

#include "test/workloads/read_trace.h"
#include "test/workloads/samples.h"

using namespace weir;
using namespace weir::test;

namespace {

const std::string all_columns =
    "session_id,turn,start_s,after,gap_s,input_tokens,output_tokens,shares_with,shared_tokens,measured\n";

std::string of_rows(const std::string& rows) {
  return error_of(read_sessions, all_columns + rows);
}

// "name:turn<awaited,awaited" of each request, and "@origin/tokens" where it shares.
std::string shown_turns(const Trace& trace) {
  const Sessions sessions(trace.turns);
  std::string text;
  for (std::int32_t i = 0; i < sessions.requests(); ++i) {
    text += fmt::format("{}{}:{}", i ? " " : "", sessions.name(i), sessions.turn(i));
    for (const std::int32_t awaited : sessions.awaited_by(i)) text += fmt::format("<{}", awaited);
    if (const Origin origin = trace.origins.empty() ? Origin{} : trace.origins[static_cast<std::size_t>(i)];
        origin.request >= 0)
      text += fmt::format("@{}/{}", origin.request, origin.tokens);
  }
  return text;
}

std::string in_sessions(const TemporaryFile& trace, const std::string& more = "") {
  return R"({"kind": "sessions", "file": ")" + trace.name() + "\"" + more + "}";
}

// Any sessions whatever that a file may hold, rows in any order.
std::string random_file(std::mt19937& random, int rows) {
  struct Row {
    int session, turn, input, output;
  };
  std::vector<Row> made;
  std::vector<std::string> lines;
  std::map<int, int> turns;
  for (int i = 0; i < rows; ++i) {
    const int session = static_cast<int>(random() % 6);
    const Row row{session, turns[session]++, 1 + static_cast<int>(random() % 500),
                  1 + static_cast<int>(random() % 50)};
    std::string start, after, shares, tokens;
    const auto any = [&] { return made[random() % made.size()]; };
    if (i > 0 && random() % 3 == 0)
      for (std::uint64_t n = 1 + random() % 3; n > 0; --n) {
        const Row other = any();
        after += fmt::format(" s{}:{}", other.session, other.turn);
      }
    if (after.empty() && (row.turn == 0 || random() % 5 == 0)) start = fmt::format("{}", random() % 100);
    if (i > 0 && random() % 3 == 0) {
      const Row other = any();
      shares = fmt::format("s{}:{}", other.session, other.turn);
      tokens = fmt::format(
          "{}", random() % static_cast<unsigned>(std::min(other.input + other.output, row.input) + 1));
    }
    const double gap = start.empty() ? static_cast<double>(random() % 100) / 8 : 0;
    lines.push_back(fmt::format("s{},{},{},{},{},{},{},{},{},{}\n", session, row.turn, start, after, gap,
                                row.input, row.output, shares, tokens, random() % 2));
    made.push_back(row);
  }
  std::shuffle(lines.begin(), lines.end(), random);
  std::string text = all_columns;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace

TEST_CASE(
    "sessions: a turn waits for the one before it and begins with what that said, unless it says otherwise") {
  const Trace trace = read_sessions(
      "session_id,start_s,gap_s,input_tokens,output_tokens\n"
      "a,1,0,100,10\nb,0.5,,50,5\na,,2.5,130,10\na,,,90,10\n",
      "t");
  CHECK(shown_turns(trace) == "a:0 b:0 a:1<0@0/110 a:2<2@2/90");
  const Sessions sessions(trace.turns);
  CHECK(sessions.count() == 2);
  CHECK((sessions.of(0) == 0 && sessions.of(1) == 1 && sessions.of(3) == 0));
  CHECK((sessions.gap(2) == Seconds(2.5) && sessions.gap(3) == Seconds(0)));
  CHECK((trace.requests[0].arrival == Seconds(1) && trace.requests[2].arrival == Seconds(0)));
}

TEST_CASE("sessions: a log that keeps every start is played as logged, which is said") {
  const Trace trace =
      read_sessions("session_id,start_s,input_tokens,output_tokens\na,1,9,1\na,2,9,1\nb,3,9,1\n", "t");
  CHECK(shown_turns(trace) == "a:0 a:1@0/9 b:0");
  CHECK(notes_say(trace, "1 requests behind the first of their session have a start_s"));
}

TEST_CASE("sessions: agents fork and join, and are one session with their sub-agents") {
  const Trace trace = read_sessions(all_columns +
                                        "a,0,3,,,100,10,,,\n"
                                        "a::x,0,,a:0,1,40,10,a:0,20,1\n"
                                        "a::y,7,,a:0,,60,10,,,1\n"
                                        "a,1,,a::x:0 a::y:7 a:0,2,150,10,a:0,,0\n"
                                        "a,2,9,,,150,10,a:1,0,1\n",
                                    "t");
  CHECK(shown_turns(trace) == "a:0 a::x:0<0@0/20 a::y:7<0 a:1<0<1<2@0/110 a:2");
  const Sessions sessions(trace.turns);
  CHECK((sessions.count() == 2 && sessions.of(3) == 0 && sessions.of(4) == 1));  // a:2 waits for nobody
  CHECK((trace.requests[2].measured && !trace.requests[3].measured));
}

TEST_CASE("sessions: rows may name rows below them, and come behind those that they name") {
  const Trace trace = read_sessions(all_columns +
                                        "a,1,,b:0,,100,10,,0,\n"
                                        "b,0,2,,,100,10,a:0,5,\n"
                                        "a,0,1,,,100,10,,,\n",
                                    "t");
  CHECK(shown_turns(trace) == "a:0 b:0@0/5 a:1<1");
}

TEST_CASE("sessions: every kind of mistake is told with its line and column") {
  CHECK(error_of(read_sessions, "") == "t: is empty");
  CHECK(error_of(read_sessions, all_columns) == "t: holds no request");
  CHECK(error_of(read_sessions, "session_id,input_tokens\na,1\n") ==
        "t: line 1: no column \"output_tokens\" (found: \"session_id\", \"input_tokens\")");
  CHECK(error_of(read_sessions, "session_id,input_tokens,output_tokens,turn,turn\na,1,1,0,0\n") ==
        "t: line 1: two columns \"turn\"");
  CHECK(of_rows("a,0,0,,,1,1\n") == "t: line 2: expected 10 fields, got 7");
  CHECK(of_rows("a b,0,0,,,1,1,,,\n") ==
        "t: line 2: session_id: expected a name without blanks, got \"a b\"");
  CHECK(of_rows("a,-1,0,,,1,1,,,\n") ==
        "t: line 2: turn: expected a whole number from 0 to 1000000000, got \"-1\"");
  CHECK(
      of_rows("a,0,0,,,0,1,,,\n").starts_with("t: line 2: input_tokens: expected a whole number of tokens"));
  CHECK(of_rows("a,0,-1,,,1,1,,,\n").starts_with("t: line 2: start_s: expected a time >= 0"));
  CHECK(of_rows("a,0,0,,,1,1,,,\na,1,,,-1,1,1,,,\n").starts_with("t: line 3: gap_s: expected a time >= 0"));
  CHECK(of_rows("a,0,0,,,1,1,,,2\n") ==
        "t: line 2: measured: expected a whole number from 0 to 1, got \"2\"");
  CHECK(of_rows("a,0,0,,,1,1,,,\na,0,,,,1,1,,,\n") ==
        "t: line 3: turn: turn 0 of session \"a\" is in line 2 already");
  CHECK(of_rows("a,0,0,,,1,1,,,\nb,0,0,,,1,1,,,\na,0,,,,1,1,,,\na,1,,,,1,1,,,\na,0,,,,1,1,,,\n") ==
        "t: line 4: turn: turn 0 of session \"a\" is in line 2 already\n"
        "t: line 6: turn: turn 0 of session \"a\" is in line 2 already");
  CHECK(of_rows("a,0,0,,,1,1,,,\na,1,,b:0,,1,1,,,\n") == "t: line 3: after: there is no request \"b:0\"");
  CHECK(of_rows("a,0,0,,,1,1,,,\na,1,,a:7,,1,1,,,\n") == "t: line 3: after: there is no request \"a:7\"");
  CHECK(of_rows("a,0,0,,,1,1,,,\na,1,,0,,1,1,,,\n") == "t: line 3: after: expected session:turn, got \"0\"");
  CHECK(of_rows("a,0,0,,,1,1,,,\na,1,,a:1,,1,1,,,\n") == "t: line 3: after: names its own row");
  CHECK(of_rows("a,0,0,,,1,1,,,\na,1,1,a:0,,1,1,,,\n") ==
        "t: line 3: start_s: expected none beside after: gap_s says how long it waits then");
  CHECK(of_rows("a,0,0,,2,1,1,,,\n") ==
        "t: line 2: gap_s: expected none of a request that waits for no other");
  CHECK(of_rows("a,0,0,,,1,1,,1,\n") ==
        "t: line 2: shared_tokens: there is neither shares_with nor a turn before");
  CHECK(of_rows("a,0,0,,,5,1,,,\na,1,,,,9,1,,7,\n") ==
        "t: line 3: shared_tokens: expected at most the 6 of prompt and answer in line 2, got 7");
  CHECK(of_rows("a,0,0,,,5,1,,,\na,1,,,,4,1,,5,\n") ==
        "t: line 3: shared_tokens: expected at most the 4 of input_tokens, got 5");
  CHECK(of_rows("a,0,0,,,1,1,,,\nb,0,,,,1,1,,,\n") ==
        "t: line 3: start_s: expected one of a request that waits for no other, as in line 2");
  const std::string several = of_rows("a,0,0,,,x,1,,,\nb,,0,,,1,1,,,\nb,1,,c:1,,1,1,a:9,,\n");
  CHECK(several.find("line 2: input_tokens") != std::string::npos);
  CHECK(several.find("line 3: turn") != std::string::npos);
  CHECK(several.find("there is no request") == std::string::npos);  // it may be the one in line 3
}

TEST_CASE("sessions: whoever waits for himself by way of others is told, and nobody else") {
  const std::string circle =
      of_rows("a,0,0,,,1,1,,,\na,1,,a:3,,1,1,,,\na,2,,,,1,1,,,\na,3,,,,1,1,,,\na,4,,,,1,1,,,\n");
  for (const int line : {3, 4, 5})
    CHECK(circle.find(fmt::format("line {}: after, shares_with", line)) != circle.npos);
  for (const int line : {2, 6}) CHECK(circle.find(fmt::format("line {}:", line)) == circle.npos);
  CHECK(of_rows("a,0,0,,,1,1,b:0,,\nb,0,0,,,1,1,a:0,,\n").find("line 2: after, shares_with") !=
        std::string::npos);
}

TEST_CASE("sessions: of any file each request comes behind those that it waits for or shares with") {
  std::mt19937 random(5);
  for (int i = 0; i < 300; ++i) {
    const std::string text = random_file(random, 1 + static_cast<int>(random() % 40));
    INFO(text);
    const Trace trace = read_sessions(text, "t");
    const Sessions sessions(trace.turns);  // throws if one waits for a later one
    if (!trace.origins.empty()) REQUIRE_NOTHROW(Contents(trace.origins, trace.requests));
    for (std::int32_t r = 0; r < sessions.requests(); ++r)
      for (const std::int32_t awaited : sessions.awaited_by(r))
        REQUIRE(sessions.of(awaited) == sessions.of(r));
  }
}

TEST_CASE("sessions: bytes of any kind give a trace or an error that names the file") {
  std::mt19937 random(12);
  int read = 0;
  for (int i = 0; i < 3000; ++i) {
    std::string text = random_file(random, 1 + static_cast<int>(random() % 6));
    for (std::uint64_t n = random() % 4; n > 0; --n) {
      const std::size_t at = random() % text.size();
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text[at] = "0123456789:,\n \""[random() % 15];
          break;
        case 2:
          text.erase(at, 1 + random() % 8);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 30));
      }
      if (text.empty()) text = "x";
    }
    try {
      const Trace trace = read_sessions(text, "t");
      REQUIRE(!trace.requests.empty());
      const Sessions sessions(trace.turns);
      REQUIRE(sessions.requests() == std::ssize(trace.requests));
      if (!trace.origins.empty()) REQUIRE_NOTHROW(Contents(trace.origins, trace.requests));
      ++read;
    } catch (const ConfigError& e) {
      REQUIRE(e.file() == "t");
      REQUIRE(e.problems().size() <= 11);
    }
  }
  CHECK(read > 500);
}

TEST_CASE("sessions: count is of sessions, and what the others share stays") {
  const TemporaryFile trace(all_columns +
                            "a,0,0,,,100,10,,,\na,1,,,,120,10,,,\nb,0,1,,,100,10,a:0,50,\n"
                            "b,1,,,,130,10,,,\nc,0,2,,,100,10,b:0,40,\n");
  const Workload two = workload_of(in_sessions(trace, R"(, "count": 2)"), as_traced);
  CHECK(two.requests.size() == 4);
  CHECK(two.sessions->count() == 2);
  CHECK((two.contents.origin(2).request == 0 && two.contents.origin(2).tokens == 50));
  CHECK(problems_of(in_sessions(trace, R"(, "count": 4)"), as_traced)
            .starts_with("scenario.json: /requests/count: expected at most the 3 sessions there are"));
}

TEST_CASE("sessions: arrivals are of sessions, whose other beginnings keep their distance") {
  const TemporaryFile trace(all_columns +
                            "a,0,5,,,9,1,,,\na,1,,,3,9,1,,,\nb,0,7,,,9,1,,,\na,2,6,a:1,,9,1,,,\n");
  CHECK(problems_of(in_sessions(trace), as_traced).find("line 5: start_s") != std::string::npos);
  const TemporaryFile good(
      all_columns + "a,0,5,,,9,1,,,\na,1,,,3,9,1,,,\nb,0,7,,,9,1,,,\nc,0,6,,,9,1,,,\na,2,,a:1 c:0,,9,1,,,\n");
  const Workload fast = workload_of(in_sessions(good), R"({"kind": "trace", "rate_scale": 2})");
  CHECK((fast.requests[0].arrival == Seconds(2.5) && fast.requests[3].arrival == Seconds(3)));
  const Workload even = workload_of(in_sessions(good), R"({"kind": "constant", "rate_per_s": 0.1})");
  CHECK((even.requests[0].arrival == Seconds(0) && even.requests[3].arrival == Seconds(1)));
  CHECK(even.requests[2].arrival == Seconds(10));
  CHECK(!even.traffic.request_rate);
  CHECK(workload_of(in_sessions(good), R"({"kind": "sessions", "concurrency": 3})").sessions_at_a_time == 3);
  CHECK(problems_of(in_sessions(good), R"({"kind": "closed_loop", "concurrency": 3})")
            .starts_with("scenario.json: /arrivals/kind: \"closed_loop\" keeps requests in flight"));
  CHECK(problems_of(R"({"kind": "fixed", "count": 3, "input_tokens": 1, "output_tokens": 1})",
                    R"({"kind": "sessions", "concurrency": 3})")
            .starts_with("scenario.json: /arrivals/kind: \"sessions\" needs requests that wait for others"));
  const Workload batches =
      workload_of(in_sessions(TemporaryFile(all_columns + "a,0,5,,,9,5,,,\na,1,,,,9,5,,,\n")),
                  R"({"kind": "warm_batch", "concurrency": 2})");
  CHECK((!batches.sessions && !batches.contents.shared()));
}

TEST_CASE("sessions: without a start they come where arrivals say, and not as logged") {
  const TemporaryFile trace("session_id,input_tokens,output_tokens\na,9,1\nb,9,1\na,9,1\n");
  CHECK(problems_of(in_sessions(trace), as_traced)
            .find("\"trace\" needs an arrival for each request, but line 2: it waits for no other") !=
        std::string::npos);
  CHECK(workload_of(in_sessions(trace), R"({"kind": "sessions", "concurrency": 1})").sessions->count() == 2);
  const TemporaryFile unmeasured("session_id,input_tokens,output_tokens,measured\na,9,1,0\n");
  CHECK(problems_of(in_sessions(unmeasured), R"({"kind": "all_at_once"})") ==
        "scenario.json: /requests: not one request is measured");
}
