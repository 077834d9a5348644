// requests.kind jsonl: prompts as vLLM's custom data sets have them, or token counts.
#include <catch2/catch.hpp>

#include "test/workloads/letters.h"
#include "test/workloads/read_trace.h"
#include "test/workloads/samples.h"

using namespace weir;
using namespace weir::test;

namespace {

// One letter is one token, and no line may be without output_tokens.
Trace lines_read(std::string_view text, const std::string& file) {
  static const Letters letters;
  return read_jsonl(text, file, &letters, {});
}

}  // namespace

TEST_CASE("jsonl: prompts are counted, counts are taken, and a file may have both") {
  const auto trace = lines_read(
      "\xEF\xBB\xBF{\"prompt\": \"abc\", \"output_tokens\": 10, \"model\": \"x\"}\r\n\r\n"
      "{\"input_tokens\": 700, \"output_tokens\": 20}\n{\"prompt\": \"\", \"output_tokens\": 5}",
      "t");
  CHECK(shown(trace) == "0:3/10 0:700/20");
  CHECK(notes_say(trace, "letters"));
  CHECK(notes_say(trace, "dropped 1 of 3 requests whose prompt is empty"));
  CHECK(trace.missing_arrivals == "line 1: no field \"arrival_s\" (2 of 2 requests)");
  CHECK(shown(lines_read(R"([{"input_tokens": 1, "output_tokens": 2}, {"prompt": "ab", "output_tokens": 3}])",
                         "t")) == "0:1/2 0:2/3");
}

TEST_CASE("jsonl: of counts alone nobody counts, and a count goes before the text") {
  const std::string counts = R"({"input_tokens": 7, "output_tokens": 2, "arrival_s": 1.5, "priority": -2})";
  const auto trace = read_jsonl(counts, "t", nullptr, {});
  CHECK(shown(trace) == "1.5:7/2");
  CHECK(trace.requests[0].priority == -2);
  CHECK(trace.notes.empty());
  CHECK(trace.missing_arrivals.empty());
  const auto both = lines_read(R"({"prompt": "abc", "input_tokens": 9, "output_tokens": 2})", "t");
  CHECK(shown(both) == "0:9/2");
  CHECK(notes_say(both, "input_tokens are taken where a line has a prompt, too"));
  CHECK_FALSE(notes_say(both, "letters"));
}

TEST_CASE("jsonl: the scenario's output_tokens is of lines that have none") {
  const Letters letters;
  const std::string text =
      "{\"prompt\": \"abc\"}\n{\"prompt\": \"ab\", \"output_tokens\": 4}\n"
      "{\"prompt\": \"a\", \"output_tokens\": null}\n";
  CHECK(shown(read_jsonl(text, "t", &letters, 128)) == "0:3/128 0:2/4 0:1/128");
  CHECK(error_of(lines_read, text) ==
        "t: line 1: no field \"output_tokens\" (found: \"prompt\"), and the scenario has no "
        "\"output_tokens\" for such lines; 2 such lines");
}

TEST_CASE("jsonl: every line that is wrong is told") {
  CHECK(error_of(lines_read, "") == "t: holds no request");
  CHECK(error_of(
            lines_read,
            "{\"output_tokens\": 3}\n{\"prompt\": 5, \"output_tokens\": \"9\"}\n"
            "{\"prompt\": [\"a\"], \"output_tokens\": 1.5}\n{\"input_tokens\": 0, \"output_tokens\": 1}\n"
            "{\"prompt\": \"a\", \"output_tokens\": 1, \"arrival_s\": \"now\", \"priority\": true}\n{\n") ==
        "t: line 1: no field \"prompt\" (found: \"output_tokens\"), nor \"input_tokens\" instead\n"
        "t: line 2: prompt: expected a text, got number\n"
        "t: line 2: output_tokens: expected a whole number of tokens from 1 to 100000000, got \"string\"\n"
        "t: line 3: prompt: expected a text, got array\n"
        "t: line 3: output_tokens: expected a whole number of tokens from 1 to 100000000, got \"1.5\"\n"
        "t: line 4: input_tokens: expected a whole number of tokens from 1 to 100000000, got \"0\"\n"
        "t: line 5: priority: expected a whole number from -2147483648 to 2147483647 (lower: more urgent), "
        "got \"boolean\"\n"
        "t: line 5: arrival_s: expected a time >= 0 (at most 1000000000000 s), got \"string\"\n"
        "t: line 6: not valid JSON: syntax error while parsing object key - unexpected end of input; "
        "expected string literal");
  CHECK(error_of([](auto text, auto& file) { return read_jsonl(text, file, nullptr, {}); },
                 R"({"prompt": "abc", "output_tokens": 1})") ==
        "t: line 1: prompt: is a text, and the scenario has no \"tokens\" to count it by");
}

TEST_CASE("jsonl: arrivals that some lines have are no trace, and are told with a line") {
  const auto trace = lines_read(
      "{\"input_tokens\": 1, \"output_tokens\": 1, \"arrival_s\": 2}\n{\"input_tokens\": 2, "
      "\"output_tokens\": 1}\n",
      "t");
  CHECK(trace.missing_arrivals == "line 2: no field \"arrival_s\"");
}

TEST_CASE("jsonl: a scenario says how tokens are counted, where there is a text to count") {
  const TemporaryFile file(
      "{\"prompt\": \"abcdefgh\"}\n{\"input_tokens\": 50, \"output_tokens\": 6, \"arrival_s\": 2}\n");
  const auto requests = [&](const std::string& keys) {
    return R"({"kind": "jsonl", "file": ")" + file.name() + "\"" + keys + "}";
  };
  const std::string at_once = R"({"kind": "all_at_once"})";
  const auto workload = workload_of(
      requests(R"(, "tokens": {"kind": "estimate", "characters_per_token": 4}, "output_tokens": 256)"),
      at_once);
  REQUIRE(workload.requests.size() == 2);
  CHECK(workload.requests[0].input_tokens == 2);
  CHECK(workload.requests[0].output_tokens == 256);
  CHECK(workload.requests[1].output_tokens == 6);
  CHECK_THAT(problems_of(requests(R"(, "output_tokens": 0)"), at_once),
             Catch::Contains("/requests/output_tokens: expected") &&
                 Catch::Contains("line 1: prompt: is a text, and the scenario has no \"tokens\""));
  const std::string unknown =
      problems_of(requests(R"(, "tokens": {"kind": "guess"}, "output_tokens": 1)"), at_once);
  CHECK_THAT(unknown, Catch::Contains("/requests/tokens/kind"));
  CHECK_THAT(unknown, !Catch::Contains("line 1"));  // it is not that no `tokens` were given
}
