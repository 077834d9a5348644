// requests.kind columns: any CSV by what its header calls the columns.
#include <catch2/catch.hpp>
#include <cmath>

#include "test/workloads/read_trace.h"
#include "test/workloads/samples.h"

using namespace weir;
using namespace weir::test;

namespace {

const ColumnMap lengths_alone = {.input_tokens = "in", .output_tokens = "out"};
const ColumnMap with_time = {.input_tokens = "in", .output_tokens = "out", .arrival = "when"};

Trace mapped(const std::string& text, const ColumnMap& map) {
  return read_mapped(text, "t", map);
}

std::string mapping_error(const std::string& text, const ColumnMap& map) {
  return error_of([&](auto all, auto& file) { return read_mapped(all, file, map); }, text);
}

ColumnMap in_unit(std::optional<double> unit_s, bool from_first) {
  ColumnMap map = with_time;
  map.unit_s = unit_s;
  map.from_first = from_first;
  return map;
}

// Requests of a scenario with these keys beside kind and file, of such a file.
std::string columns_of(const std::string& file, const std::string& keys) {
  return R"({"kind": "columns", "file": ")" + file + "\"" + (keys.empty() ? "" : ", ") + keys + "}";
}

}  // namespace

TEST_CASE("columns: each meaning has the name that the user gives it, wherever it stands") {
  const ColumnMap map = {
      .input_tokens = "prompt", .output_tokens = "answer", .arrival = "sent", .priority = "class"};
  const auto trace = mapped("id,answer,class,sent,prompt\na,2,7,0.5,10\nb,3,-1,1.5,20\n", map);
  CHECK(shown(trace) == "0.5:10/2 1.5:20/3");
  CHECK(trace.requests[0].priority == 7);
  CHECK(trace.requests[1].priority == -1);
  CHECK(trace.missing_arrivals.empty());
  CHECK(trace.notes.empty());
}

TEST_CASE("columns: names with blanks, commas, quotes, line feeds and letters of any script") {
  const ColumnMap map = {.input_tokens = "Prompt Len, tokens",
                         .output_tokens = "the \"answer\"",
                         .arrival = "到着 (Zürich)",
                         .priority = "two\nlines"};
  const std::string header = "\"Prompt Len, tokens\",\"the \"\"answer\"\"\", 到着 (Zürich) ,\"two\nlines\"";
  CHECK(shown(mapped(header + "\n10,2,0.5,3\n", map)) == "0.5:10/2");
  CHECK(shown(mapped("\xEF\xBB\xBF" + header + "\r\n\"10\",2,0.5,3\r\n", map)) == "0.5:10/2");
  CHECK(mapping_error(header + "\n10,2,0.5,3\n1,0,1,1\n", map)
            .starts_with("t: line 4: the \"answer\": expected a whole number of tokens"));
}

TEST_CASE("columns: a column that is missing is an error that shows the header") {
  const std::string found = R"( (found: "when", "in", "out"))";
  ColumnMap map = {.input_tokens = "In", .output_tokens = "ou", .arrival = "then", .priority = "urgency"};
  CHECK(mapping_error("when,in,out\n1,1,1\n", map) ==
        "t: line 1: no column \"In\"" + found + "\nt: line 1: no column \"ou\"" + found +
            "\nt: line 1: no column \"then\"" + found + "\nt: line 1: no column \"urgency\"" + found);
  map = lengths_alone;
  CHECK(mapping_error("入力,out\n1,1\n", map) == R"(t: line 1: no column "in" (found: "入力", "out"))");
  map.input_tokens = std::string(1000, 'x') + "\x01";
  CHECK(mapping_error("in,out\n1,1\n", map).size() < 120);
}

TEST_CASE("columns: a column that stands twice is an error where it is used") {
  CHECK(mapping_error("in,out,in\n1,1,2\n", lengths_alone) ==
        R"(t: line 1: two columns "in" (found: "in", "out", "in"))");
  CHECK(shown(mapped("in,x,out,x\n1,5,2,5\n", lengths_alone)) == "0:1/2");
}

TEST_CASE("columns: empty files, rows that are too short and numbers that are none") {
  CHECK(mapping_error("", lengths_alone) == "t: is empty");
  CHECK(mapping_error("in,out\n", lengths_alone) == "t: holds no request");
  CHECK(mapping_error("when,in,out\n-1,0,1.5\n1,2\nx,1,1\n", with_time) ==
        "t: line 2: in: expected a whole number of tokens from 1 to 100000000, got \"0\"\n"
        "t: line 2: out: expected a whole number of tokens from 1 to 100000000, got \"1.5\"\n"
        "t: line 2: when: expected a time >= 0 (at most 1000000000000 s), got \"-1\"\n"
        "t: line 3: expected 3 fields, got 2\n"
        "t: line 4: when: expected a time >= 0 (at most 1000000000000 s), got \"x\"");
}

TEST_CASE("columns: arrivals in each unit") {
  for (const auto& [unit_s, written] :
       {std::pair{1., "1.5"}, std::pair{1e-3, "1500"}, std::pair{1e-6, "1500000"}, std::pair{1e-9, "1.5e9"}})
    CHECK(shown(mapped(fmt::format("when,in,out\n0,1,1\n{},2,2\n", written), in_unit(unit_s, false))) ==
          "0:1/1 1.5:2/2");
  const auto dates =
      mapped("when,in,out\n2023-11-16 18:15:46.5,1,1\n2023-11-16T18:15:48Z,2,2\n", in_unit({}, false));
  CHECK(shown(dates) == "0:1/1 1.5:2/2");
  CHECK(mapping_error("when,in,out\n5,1,1\n", in_unit({}, false))
            .starts_with("t: line 2: when: expected a time such as"));
}

TEST_CASE("columns: the dates of Azure's files are read as that kind reads them") {
  const std::string text =
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-12-31 23:59:59.5000000,374,44\n"
      "2024-01-01 02:00:00.7500001+02:00,396,109\n2023-12-31 23:59:59.4999999,5,6\n";
  ColumnMap map = {
      .input_tokens = "ContextTokens", .output_tokens = "GeneratedTokens", .arrival = "TIMESTAMP"};
  map.unit_s = {};
  const auto by_kind = read_azure(text, "t").requests, by_name = mapped(text, map).requests;
  REQUIRE(by_name.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(by_name[i].arrival == by_kind[i].arrival);
    CHECK(by_name[i].input_tokens == by_kind[i].input_tokens);
  }
}

TEST_CASE("columns: from_first keeps what a double of the times since 1970 would lose") {
  const auto of = [](double unit_s, const char* first, const char* second) {
    return mapped(fmt::format("when,in,out\n{},2,2\n{},1,1\n", second, first), in_unit(unit_s, true))
        .requests;
  };
  const std::tuple<double, const char*, const char*> epochs[] = {
      {1e-3, "1700000000123", "1700000002124"},
      {1e-9, "1700000000123456789", "1700000002124456789"},
      {1, "1700000000.123456", "1700000002.124456"}};
  for (const auto& [unit_s, first, second] : epochs) {
    const auto requests = of(unit_s, first, second);
    CHECK(requests[0].arrival == Seconds(0));
    CHECK(requests[0].input_tokens == 1);  // though it stands second
    CHECK(std::abs(requests[1].arrival.value() - 2.001) < 2e-10);
  }
  const auto near = of(1e-9, "1700000000000000001", "1700000000000000002");
  CHECK(std::abs(near[1].arrival.value() - 1e-9) < 1e-18);
}

TEST_CASE("columns: times since 1970 that are left as they are have a note") {
  const std::string text = "when,in,out\n1700000000,1,1\n";
  CHECK(notes_say(mapped(text, with_time), "from_first: true makes it 0 s"));
  CHECK(mapped(text, in_unit(1, true)).notes.empty());
  CHECK(mapped("when,in,out\n86400,1,1\n", with_time).notes.empty());
}

TEST_CASE("columns: semicolons and tabs, and a hint where they are not the separator that was said") {
  ColumnMap map = with_time;
  map.separator = ';';
  CHECK(shown(mapped("when;in;\"out\"\n0.5;1;2\n", map)) == "0.5:1/2");
  CHECK(mapping_error("when;in;out\n0,5;1;2\n", map).starts_with("t: line 2: when: expected a time >= 0"));
  CHECK_THAT(mapping_error("when,in,out\n1,1,1\n", map), Catch::Contains(R"("separator": "comma")"));
  map.separator = '\t';
  CHECK(shown(mapped("when\t in\tx\t\"out\"\n0.5\t1\t\t\"2\"\n", map)) == "0.5:1/2");
  const auto hint = [](const std::string& text) {
    return mapping_error(text, {.input_tokens = "in", .output_tokens = "out"});
  };
  CHECK_THAT(hint("in;out\n1;1\n"), Catch::Contains(R"("separator": "semicolon")"));
  CHECK_THAT(hint("in\tout\n1\t1\n"), Catch::Contains(R"("separator": "tab")"));
  CHECK_THAT(hint("inout\n11\n"), !Catch::Contains("separator"));
  CHECK_THAT(error_of(read_azure, "TIMESTAMP;ContextTokens;GeneratedTokens\n"),
             Catch::Contains(R"(requests of kind "columns" with "separator": "semicolon")"));
}

TEST_CASE("columns: one that speaks of prefixes is told unless it is used") {
  const std::string text = "cached,in,prefix_id\n5,1,7\n";
  const auto trace = mapped(text, {.input_tokens = "in", .output_tokens = "cached"});
  CHECK(notes_say(trace, R"(the column "prefix_id" is not read)"));
  CHECK_FALSE(notes_say(trace, R"(the column "cached")"));
}

TEST_CASE("columns: a scenario names them, and whatever has no arrivals takes other arrivals") {
  const TemporaryFile file("when,in,out,class\n2000,10,1,4\n3500,20,2,5\n");
  const std::string named = R"("columns": {"input_tokens": "in", "output_tokens": "out")";
  const auto timed = workload_of(
      columns_of(file.name(), named + R"(, "arrival": "when", "priority": "out"}, "arrival_unit": "ms")"),
      as_traced);
  REQUIRE(timed.requests.size() == 2);
  CHECK(timed.requests[1].arrival == Seconds(3.5));
  CHECK(timed.requests[1].priority == 2);
  const auto cut = workload_of(
      columns_of(file.name(),
                 named + R"(, "arrival": "when"}, "arrival_unit": "ms", "from_first": true, "start_s": 1)"),
      as_traced);
  REQUIRE(cut.requests.size() == 1);
  CHECK(cut.requests[0].arrival == Seconds(0.5));
  CHECK_THAT(problems_of(columns_of(file.name(), named + "}"), as_traced),
             Catch::Contains("/arrivals/kind: \"trace\" needs an arrival for each request, but "
                             "columns.arrival is null (2 of 2 requests)"));
  CHECK(workload_of(columns_of(file.name(), named + "}"), R"({"kind": "poisson", "rate_per_s": 2})")
            .requests.size() == 2);
}

TEST_CASE("columns: what cannot be meant is told at its key, and no file is opened for it") {
  const auto problems = [](const std::string& keys) {
    return problems_of(columns_of("/nowhere.csv", keys), R"({"kind": "all_at_once"})");
  };
  CHECK(problems("") == "scenario.json: /requests/columns: required, but missing");
  CHECK(problems(R"("columns": {"input_tokens": "a"})") ==
        "scenario.json: /requests/columns/output_tokens: required, but missing");
  CHECK(problems(
            R"("columns": {"input_tokens": "a", "output_tokens": "a", "arrival": "a", "priority": "a"})") ==
        "scenario.json: /requests/columns/output_tokens: names the same column as input_tokens\n"
        "scenario.json: /requests/columns/arrival: names the same column as input_tokens\n"
        "scenario.json: /requests/columns/arrival: names the same column as output_tokens\n"
        "scenario.json: /requests/columns/priority: names the same column as arrival");
  CHECK_THAT(problems(R"("columns": {"input_tokens": "a", "output_tokens": "b"}, "from_first": true)"),
             Catch::Contains("/requests/from_first: has no effect where columns.arrival is null"));
  CHECK_THAT(problems(R"("columns": {"input_tokens": "a", "output_tokens": "b"}, "arrival_unit": "h")"),
             Catch::Contains("/requests/arrival_unit: no such arrival_unit (got \"h\", known: s, ms, us, "
                             "ns, time)"));
}
