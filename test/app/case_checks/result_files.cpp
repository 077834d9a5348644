// Result files of load generators, and traces.
#include <catch2/catch.hpp>

#include "test/app/case_checks/case_checks.h"

namespace weir::test {

// Its times are seconds; the last request comes at 17.558 s (in our own copy at 2.25 s, of another length).
void check_bailian_seconds(const CaseRun& run) {
  if (run.refused()) {
    CHECK(lines(run.ended.err) == 1);
    CHECK_THAT(run.ended.err, Catch::Contains("Bailian") && Catch::Contains("\"bailian\""));
    return;
  }
  CHECK(run.ended.code == 0);
  const std::string last = contents(run.folder / "trace.jsonl");
  const auto at = last.rfind("\"timestamp\": ");
  REQUIRE(at != last.npos);
  CHECK(run.summary()["duration"].get<double>() > 0.9 * std::stod(last.substr(at + 13)));
}

void check_conversation_key(const CaseRun& run) {
  INFO(run.printed());
  REQUIRE(run.ended.code == 0);
  const std::string chats = contents(run.folder / "chats.jsonl");
  CHECK(run.summary()["completed"] == lines(chats));
}

// DRAMsim3 has 64 activations and a mean read latency of 58.6 cycles, a copy in Weir's form 58.7.
void check_dramsim3_ini_and_trace(const CaseRun& run) {
  INFO(run.ended.err);
  if (run.ended.code != 0) {
    CHECK(run.ended.code == 2);
    CHECK_THAT(run.ended.err, Catch::Contains("DRAMsim3") && Catch::Contains("weir list memories"));
    return;
  }
  CHECK_THAT(run.ended.err, Catch::Contains("64 activations"));
}

void check_guidellm_rate_and_bound(const CaseRun& run) {
  INFO(run.printed());
  REQUIRE(run.ended.code == 0);
  const nlohmann::json summary = run.summary();
  const double requests = summary["num_prompts"];
  CHECK(summary["completed"] == requests);
  CHECK(summary["max_concurrency"] == 10'240);
  CHECK(summary["request_rate"] == 2);
  // One every half second, and the last one's answer.
  CHECK(summary["duration"].get<double>() > (requests - 1) / 2);
  CHECK(summary["duration"].get<double>() < (requests - 1) / 2 + 2);
}

void check_inference_perf_summary(const CaseRun& run) {
  INFO(run.printed());
  REQUIRE(run.ended.code == 0);
  const auto row = [&](const std::string& name, const std::string& value) {
    CHECK_THAT(run.ended.out, Catch::Matches("[\\s\\S]*\\b" + name + " +" + value + " [\\s\\S]*"));
  };
  row("mean_ttft_ms", "103");
  row("mean_tpot_ms", "10.49");
  row("request_throughput", "9.9");
  row("output_throughput", "1,890");
}

// An answer of 0 tokens needs its prompt computed all the same.
void check_vllm_bench_empty_answers(const CaseRun& run) {
  INFO(run.printed());
  REQUIRE(run.ended.code == 0);
  const nlohmann::json result = nlohmann::json::parse(contents(run.folder / "result.json"));
  const nlohmann::json summary = run.summary();
  CHECK(summary["completed"] == result["completed"]);
  CHECK(summary["total_input_tokens"] == result["total_input_tokens"]);
  CHECK_THAT(run.printed(), !Catch::Contains("that failed"));
  std::int64_t empty = 0;
  for (const nlohmann::json& tokens : result["output_lens"]) empty += tokens == 0;
  CHECK(summary["total_output_tokens"] == result["total_output_tokens"].get<std::int64_t>() + empty);
}

}  // namespace weir::test
