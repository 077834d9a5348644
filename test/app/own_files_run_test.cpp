// weir run of a user's own files, as a user has it.
#include <catch2/catch.hpp>

#include "sim/app/results/csv.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

Ended run_own_file(const ScratchDirectory& scratch, const std::string& requests,
                   const std::string& arrivals) {
  write(scratch / "s.json", R"({"model": "llama3.1-8b",
      "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm"}]}]},
      "workload": {"requests": )" +
                                requests + R"(, "arrivals": {"kind": ")" + arrivals + "\"}}}");
  return run_weir({"run", "s.json", "--out", "out"}, {.folder = scratch.path()});
}

}  // namespace

TEST_CASE(
    "weir run: columns of a log with times since 1970, and its scenario runs again as it was resolved") {
  const ScratchDirectory scratch;
  write(scratch / "log.csv",
        "when,\"Prompt, tokens\",生成\n1700000000123,120,30\n1700000000623,130,20\n1700000002123,90,25\n");
  const Ended ended = run_own_file(scratch, R"({"kind": "columns", "file": "log.csv",
      "columns": {"arrival": "when", "input_tokens": "Prompt, tokens", "output_tokens": "生成"},
      "arrival_unit": "ms", "from_first": true})",
                                   "trace");
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  const auto rows =
      read_columns(scratch / "out/requests.csv", {"arrival_s", "input_tokens", "output_tokens"});
  CHECK(rows[0] == std::vector<double>{0, 0.5, 2});
  CHECK(rows[1] == std::vector<double>{120, 130, 90});
  CHECK(rows[2] == std::vector<double>{30, 20, 25});

  const std::string first = contents(scratch / "out/requests.csv");
  write(scratch / "resolved.json", read_json_file(scratch / "out/summary.json")["scenario"].dump());
  REQUIRE(run_weir({"run", "resolved.json", "--out", "again"}, {.folder = scratch.path()}).code == 0);
  CHECK(contents(scratch / "again/requests.csv") == first);

  const Ended missing = run_own_file(scratch, R"({"kind": "columns", "file": "log.csv",
      "columns": {"input_tokens": "Prompt", "output_tokens": "生成"}})",
                                     "all_at_once");
  CHECK(missing.code == 2);
  CHECK_THAT(missing.err, Catch::Contains("/workload/requests/file: log.csv: line 1: no column \"Prompt\" "
                                          "(found: \"when\", \"Prompt, tokens\", \"生成\")"));
}

TEST_CASE("weir run: jsonl of vLLM's custom data sets") {
  const ScratchDirectory scratch;
  write(scratch / "custom.jsonl",
        "{\"prompt\": \"What is the capital of India?\", \"output_tokens\": 10}\n{\"prompt\": \"Hi\"}\n");
  const std::string tokens =
      R"({"kind": "jsonl", "file": "custom.jsonl", "tokens": {"kind": "estimate", "characters_per_token": 4})";
  const Ended ended = run_own_file(scratch, tokens + R"(, "output_tokens": 7})", "all_at_once");
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  CHECK_THAT(ended.err, Catch::Contains("token counts are an estimate"));
  const auto rows = read_columns(scratch / "out/requests.csv", {"input_tokens", "output_tokens"});
  CHECK(rows[0] == std::vector<double>{8, 1});
  CHECK(rows[1] == std::vector<double>{10, 7});
  const Ended without = run_own_file(scratch, tokens + "}", "all_at_once");
  CHECK(without.code == 2);
  CHECK_THAT(without.err, Catch::Contains("custom.jsonl: line 2: no field \"output_tokens\""));
}
