#include "workloads/workload.h"

#include <ctime>

#include "test/workloads/samples.h"
#include "workloads/requests.h"
#include "workloads/traces/readers.h"

using namespace weir;

namespace {

std::string file(const TemporaryFile& trace, const std::string& more = "", const std::string& kind = "csv") {
  return R"({"kind": ")" + kind + R"(", "file": ")" + trace.name() + "\"" + more + "}";
}

constexpr const char* five = "arrival_s,input_tokens,output_tokens\n0,1,1\n10,2,1\n20,3,1\n30,4,1\n40,5,1\n";

std::vector<std::int64_t> inputs(const Workload& w) {
  std::vector<std::int64_t> tokens;
  for (const Request& r : w.requests) tokens.push_back(r.input_tokens);
  return tokens;
}

using Tokens = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("workload: a trace as it is, cut by count, cut by time, sped up") {
  const TemporaryFile trace(five);
  CHECK(inputs(workload_of(file(trace), as_traced)) == Tokens{1, 2, 3, 4, 5});
  CHECK(inputs(workload_of(file(trace, R"(, "count": 2)"), as_traced)) == Tokens{1, 2});
  const auto cut = workload_of(file(trace, R"(, "start_s": 10, "duration_s": 20)"), as_traced);
  CHECK(inputs(cut) == Tokens{2, 3});  // 30 is the end and not in it
  CHECK(cut.requests[1].arrival == Seconds(10));
  CHECK(cut.notes.back() == "start_s and duration_s keep 2 of 5 requests, 5 of 15 prompt tokens");
  CHECK(inputs(workload_of(file(trace, R"(, "start_s": 10.001, "duration_s": 20, "count": 1)"), as_traced)) ==
        Tokens{3});
  const auto fast = workload_of(file(trace), R"({"kind": "trace", "rate_scale": 4})");
  CHECK(fast.requests[4].arrival == Seconds(10));
}

TEST_CASE("workload: other arrivals override the trace's") {
  const TemporaryFile trace(five);
  const auto w = workload_of(file(trace), R"({"kind": "constant", "rate_per_s": 1})");
  CHECK(inputs(w) == Tokens{1, 2, 3, 4, 5});
  CHECK(w.requests[4].arrival == Seconds(4));
}

TEST_CASE("workload: a trace with an empty arrival is an error unless other arrivals are given") {
  const TemporaryFile bare("arrival_s,input_tokens,output_tokens\n0,9,1\n,8,1\n");
  CHECK(problems_of(file(bare), as_traced) ==
        "scenario.json: /arrivals/kind: \"trace\" needs an arrival for each request, but line 3: the arrival "
        "is empty");
  CHECK(problems_of(file(bare, R"(, "start_s": 1)"), as_traced)
            .starts_with("scenario.json: /requests/start_s: cannot cut a trace without arrivals: line 3"));
  CHECK(inputs(workload_of(file(bare), R"({"kind": "poisson", "rate_per_s": 1})")) == Tokens{9, 8});
}

TEST_CASE("workload: problems of a trace go to /requests/file with their lines, beside all the others") {
  const TemporaryFile bad("arrival_s,input_tokens,output_tokens\n0,1,1\n0,x,1\n1,2,0\n");
  const std::string problems =
      problems_of(file(bad, R"(, "cuont": 3)"), R"({"kind": "poisson", "rate_per_s": 0})");
  CHECK(problems.find("scenario.json: /requests/file: " + bad.name() + ": line 3: input_tokens: expected") !=
        std::string::npos);
  CHECK(problems.find("scenario.json: /requests/file: " + bad.name() + ": line 4: output_tokens: expected") !=
        std::string::npos);
  CHECK(problems.find("/requests/cuont: unknown key; did you mean \"count\"?") != std::string::npos);
  CHECK(problems.find("/arrivals/rate_per_s: expected") != std::string::npos);
}

TEST_CASE("workload: a file that is missing, a directory, empty, or too short") {
  const TemporaryFile trace(five);
  CHECK(problems_of(R"({"kind": "csv", "file": "/no/such.csv"})", as_traced) ==
        "scenario.json: /requests/file: /no/such.csv: cannot be opened: No such file or directory");
  CHECK(problems_of(R"({"kind": "csv", "file": "/tmp"})", as_traced) ==
        "scenario.json: /requests/file: /tmp: is a directory, not a file");
  CHECK(problems_of(R"({"kind": "csv"})", as_traced) ==
        "scenario.json: /requests/file: required, but missing");
  CHECK(problems_of(file(trace, R"(, "count": 6)"), as_traced) ==
        "scenario.json: /requests/count: expected at most the 5 requests there are, got 6");
  CHECK(problems_of(file(trace, R"(, "start_s": 41)"), as_traced)
            .find("/requests/start_s: no request arrives") != std::string::npos);
  CHECK(problems_of(R"({"kind": "cvs", "file": "x"})", as_traced).find("did you mean \"csv\"?") !=
        std::string::npos);
  const TemporaryFile empty("");
  CHECK(problems_of(file(empty), as_traced).ends_with(": is empty"));
}

TEST_CASE("workload: without requests or arrivals one problem each") {
  Reading reading("s.json");
  const Json document = {{"requests", 5}};
  read_workload(Params(reading, document), 1);
  CHECK_THROWS_WITH(reading.finish(),
                    "s.json: /requests: expected an object, got 5\ns.json: /arrivals: required, but missing");
}

TEST_CASE("mooncake: ticks are spread when asked, the same for the same seed") {
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += R"({"timestamp": )" + std::to_string(i / 10 * 3000) + R"(, "input_length": )" +
            std::to_string(i + 1) + R"(, "output_length": 1})" + "\n";
  const TemporaryFile trace(text);
  const auto ticks = workload_of(file(trace, "", "mooncake"), as_traced);
  CHECK(ticks.requests[9].arrival == Seconds(0));
  const std::string spread = file(trace, R"(, "tick_spread_s": 3)", "mooncake");
  const auto a = workload_of(spread, as_traced, 1), b = workload_of(spread, as_traced, 1),
             c = workload_of(spread, as_traced, 2);
  bool others = false;
  for (std::size_t i = 0; i < 300; ++i) {
    const double tick = static_cast<double>((a.requests[i].input_tokens - 1) / 10) * 3;
    REQUIRE(a.requests[i].arrival >= Seconds(tick));
    REQUIRE(a.requests[i].arrival < Seconds(tick + 3));
    REQUIRE((i == 0 || a.requests[i].arrival >= a.requests[i - 1].arrival));
    REQUIRE(a.requests[i].arrival == b.requests[i].arrival);
    others = others || a.requests[i].arrival != c.requests[i].arrival;
  }
  CHECK(others);
}

TEST_CASE("workload: texts need a stated way to count their tokens") {
  const TemporaryFile texts(R"([{"instruction": "abcdefgh", "input": "", "output": "äöü"}])");
  const auto tokens = [&](const std::string& how) {
    return workload_of(file(texts, R"(, "tokens": )" + how, "alpaca"), R"({"kind": "all_at_once"})");
  };
  const auto w = tokens(R"({"kind": "estimate", "characters_per_token": 4.0})");
  CHECK(w.requests[0].input_tokens == 2);
  CHECK(w.requests[0].output_tokens == 1);  // three characters in six bytes
  CHECK(w.notes == std::vector<std::string>{
                       "token counts are an estimate: 4 characters a token, rounded up for each text"});
  CHECK(problems_of(file(texts, "", "alpaca"), R"({"kind": "all_at_once"})") ==
        "scenario.json: /requests/tokens: required, but missing");
  CHECK(problems_of(file(texts, R"(, "tokens": {"kind": "estimate"})", "alpaca"),
                    R"({"kind": "all_at_once"})") ==
        "scenario.json: /requests/tokens/characters_per_token: required, but missing");
  CHECK(problems_of(file(texts, R"(, "tokens": {"kind": "tokenizer", "file": "/no/t.json"})", "alpaca"),
                    R"({"kind": "all_at_once"})") ==
        "scenario.json: /requests/tokens/file: /no/t.json: cannot be opened: No such file or directory");
}

TEST_CASE("workload: the schema names every kind and needs no file") {
  Reading reading = Reading::describe();
  const Json nothing = Json::object();
  const Workload w = read_workload(Params(reading, nothing), 1);
  CHECK(w.requests.empty());
  CHECK_NOTHROW(reading.finish());
  const auto kinds = [&](const char* family) {
    std::vector<std::string> names;
    for (const Json& each : reading.schema["properties"][family]["oneOf"])
      names.push_back(each["properties"]["kind"]["const"]);
    return names;
  };
  CHECK(kinds("requests") == names_of(request_kinds()));
  CHECK(kinds("arrivals") == names_of(arrival_kinds()));
  for (const char* fixed : {"csv", "sharegpt", "alpaca", "openr1", "azure", "mooncake", "burstgpt", "vidur",
                            "llmservingsim", "columns", "jsonl", "fixed", "lognormal", "gamma", "named"})
    CHECK(std::ranges::count(kinds("requests"), std::string(fixed)) == 1);
}

TEST_CASE("workload: what was read is resolved with its defaults") {
  Reading reading("s.json");
  const Json document =
      parse_json(R"({"requests": {"kind": "fixed", "count": 3, "input_tokens": 1, "output_tokens": 2},
      "arrivals": {"kind": "closed_loop", "concurrency": 2}})",
                 "s.json");
  read_workload(Params(reading, document), 1);
  reading.finish();
  CHECK(reading.resolved["arrivals"]["desynchronise"] == false);
  CHECK(reading.resolved["arrivals"]["warmup_requests"] == 0);
  CHECK(reading.resolved["requests"] == document["requests"]);
}

TEST_CASE("workload: the published native files read whole") {
  const auto traces = shared_traces();
  if (traces.empty()) {
    WARN("skipped: set WEIR_REFERENCE to shared/reference (or WEIR_TRACES) to read them");
    return;
  }
  const std::string estimate = R"(, "tokens": {"kind": "estimate", "characters_per_token": 4})";
  struct Native {
    std::string kind, file, more;
    std::size_t requests;
    bool arrivals;
  };
  const std::vector<Native> natives = {
      {"azure", "azure2023_conv_head200.csv", "", 200, true},
      {"burstgpt", "burstgpt_v1_first3rows_real.csv", "", 3, true},
      {"burstgpt", "SYNTHETIC_burstgpt_v1_format_200.csv", "", 0, true},
      {"burstgpt", "SYNTHETIC_burstgpt_v3_format_200.csv", "", 0, true},
      {"vidur", "vidur_arxiv_head200.csv", "", 200, false},
      {"splitwise", "splitwise_sim_test_trace.csv", "", 3, true},
      {"distserve", "distserve_workload_head200.json", "", 200, true},
      {"mooncake", "mooncake_conversation_head200.jsonl", "", 200, true},
      {"llmservingsim", "llmservingsim_flat_noids_head200.jsonl", "", 200, true},
      {"llmservingsim", "llmservingsim_burstgpt_weekly_head20_unsorted.jsonl", "", 20, true},
      {"llmservingsim", "llmservingsim_vllm_bench_requests_head50.jsonl", "", 50, true},
      {"llmservingsim", "llmservingsim_agentic_doc_example.jsonl", "", 5, true},
      {"sharegpt", "sharegpt_fastchat_dummy_head200.json", estimate, 0, false},
      {"sharegpt", "SYNTHETIC_schema_openthoughts.jsonl", estimate, 5, false},
      {"openr1", "SYNTHETIC_schema_openr1_math.jsonl", estimate, 0, false},
      {"dolphin_r1", "SYNTHETIC_schema_dolphin_r1.jsonl", estimate, 5, false},
      {"longbench", "SYNTHETIC_schema_longbench.jsonl", estimate, 0, false},
  };
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(traces / "native"))
    files += entry.is_regular_file();
  CHECK(files == natives.size());
  for (const Native& native : natives) {
    CAPTURE(native.file);
    const std::string requests = R"({"kind": ")" + native.kind + R"(", "file": ")" +
                                 (traces / "native" / native.file).string() + "\"" + native.more + "}";
    const auto w = workload_of(requests, native.arrivals ? as_traced : R"({"kind": "all_at_once"})");
    CHECK(w.requests.size() >= std::max<std::size_t>(1, native.requests));
    if (native.requests > 0) CHECK(w.requests.size() == native.requests);
    if (!native.arrivals)
      CHECK(problems_of(requests, as_traced).find("/arrivals/kind: \"trace\" needs") != std::string::npos);
  }
}

TEST_CASE("workload: native files give what their published conversions to CSV say") {
  const auto traces = shared_traces();
  if (traces.empty()) {
    WARN("skipped: set WEIR_REFERENCE to shared/reference (or WEIR_TRACES) to read them");
    return;
  }
  for (const auto& [kind, native, converted] :
       {std::tuple{"azure", "azure2023_conv_head200.csv", "azure2023_conv.csv"},
        std::tuple{"mooncake", "mooncake_conversation_head200.jsonl", "mooncake_conversation.csv"},
        std::tuple{"distserve", "distserve_workload_head200.json", "distserve_sharegpt_opt13b.csv"}}) {
    CAPTURE(kind);
    const auto path = [&](const std::filesystem::path& name) {
      return "\"" + (traces / name).string() + "\"";
    };
    const auto a = workload_of(std::string(R"({"kind": ")") + kind + R"(", "file": )" +
                                   path(std::filesystem::path("native") / native) + "}",
                               as_traced);
    const auto b =
        workload_of(R"({"kind": "csv", "count": 200, "file": )" + path(converted) + "}", as_traced);
    REQUIRE(a.requests.size() == b.requests.size());
    for (std::size_t i = 0; i < a.requests.size(); ++i) {
      CHECK(std::abs(a.requests[i].arrival.value() - b.requests[i].arrival.value()) < 1e-6);
      CHECK(a.requests[i].input_tokens == b.requests[i].input_tokens);
      CHECK(a.requests[i].output_tokens == b.requests[i].output_tokens);
    }
  }
}
