// Traces in JSON, a list or a record a line, and each dialect.
#include <catch2/catch.hpp>

#include "test/workloads/letters.h"
#include "test/workloads/read_trace.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("splitwise and distserve: their own names") {
  CHECK(shown(read_splitwise(
            "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
            "0,2,0,1,1,4096,32\n",
            "t")) == "1:4096/32");
  CHECK(shown(read_distserve(R"([{"prompt_len": 55, "output_len": 4, "start_time": 0.0},
     {"prompt_len": 829, "output_len": 170, "start_time": 0.5}])",
                             "t")) == "0:55/4 0.5:829/170");
}

TEST_CASE("mooncake: milliseconds, and prompts share the blocks whose ids are the same") {
  const auto trace = read_mooncake(
      "{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1]}\n"
      "{\"timestamp\": 3000, \"input_length\": 7322, \"output_length\": 490, \"hash_ids\": [0, 14]}\n",
      "t");
  CHECK(shown(trace) == "0:6758/500 3:7322/490");
  CHECK(trace.notes.empty());
  REQUIRE(trace.origins.size() == 2);
  CHECK((trace.origins[1].request == 0 && trace.origins[1].tokens == 512));
}

TEST_CASE("llmservingsim: flat, unsorted, with ids, the vLLM runs and sessions") {
  const auto flat = read_llmservingsim(
      "{\"input_toks\": 305, \"output_toks\": 698, \"arrival_time_ns\": 2000000000, \"input_tok_ids\": [1, "
      "2]}\n\n"
      "{\"input_toks\": 264, \"output_toks\": 575, \"arrival_time_ns\": 500000000}\r\n",
      "t");
  CHECK(shown(flat) == "0.5:264/575 2:305/698");
  CHECK(notes_say(flat, "input_tok_ids are not read"));
  CHECK(notes_say(flat, "sorted"));
  const auto bench = read_llmservingsim(
      "{\"request_id\": \"a\", \"input_toks\": 2, \"output_toks\": 3, \"arrival_time\": 1777142838.5}\n"
      "{\"request_id\": \"b\", \"input_toks\": 4, \"output_toks\": 5, \"arrival_time\": 1777142840.0}\n",
      "t");
  CHECK(shown(bench) == "0:2/3 1.5:4/5");
  const auto session = read_llmservingsim(
      "{\"session_id\": \"s\", \"arrival_time_ns\": 1000000000, \"sub_requests\": [{\"input_toks\": 10, "
      "\"output_toks\": 1, "
      "\"tool_duration_ns\": 500000000}, {\"input_toks\": 20, \"output_toks\": 2, \"tool_duration_ns\": "
      "0}]}\n",
      "t");
  CHECK(shown(session) == "1:10/1 0:20/2");
  CHECK(session.notes.empty());
  const Sessions turns(session.turns);
  CHECK(turns.count() == 1);
  CHECK((turns.awaited_by(1).size() == 1 && turns.awaited_by(1)[0] == 0 && turns.gap(1) == Seconds(0.5)));
  CHECK((turns.name(1) == "s" && turns.turn(1) == 1));
  CHECK(read_llmservingsim("{\"input_toks\": 1, \"output_toks\": 1}", "t").missing_arrivals ==
        "line 1: neither arrival_time_ns nor arrival_time");
}

TEST_CASE("json: every kind of mistake is told with its line") {
  const std::string good = R"({"timestamp": 0, "input_length": 1, "output_length": 1})";
  const auto second = [&](const std::string& line) {
    return error_of(read_mooncake, good + "\n" + line + "\n" + good);
  };
  CHECK(error_of(read_mooncake, "") == "t: holds no request");
  CHECK(error_of(read_mooncake, "[]") == "t: holds no request");
  CHECK(second(R"({"timestamp": 0, "input_len)").starts_with("t: line 2: not valid JSON: "));
  CHECK(second("{\"timestamp\": 0, \"x\": \"\xff\"}").starts_with("t: line 2: not valid JSON: "));
  CHECK(second("5") == "t: line 2: expected an object, got \"5\"");
  CHECK(second(R"({"timestamp": 0, "output_length": 1})") ==
        "t: line 2: no field \"input_length\" (found: \"output_length\", \"timestamp\")");
  for (const char* bad : {"0", "-1", "1.5", "\"12\"", "[]", "true", "1e300", "18446744073709551615"})
    CHECK(second(fmt::format(R"({{"timestamp": 0, "input_length": {}, "output_length": 1}})", bad))
              .starts_with("t: line 2: input_length: expected a whole number"));
  for (const char* bad : {"-1", "\"1\"", "1e300"})
    CHECK(second(fmt::format(R"({{"timestamp": {}, "input_length": 1, "output_length": 1}})", bad))
              .starts_with("t: line 2: timestamp: expected a time"));
  CHECK(second(std::string(64, '[')).starts_with("t: line 2: not valid JSON"));
  CHECK(second(std::string(65, '[')) == "t: line 2: nested deeper than 64 levels");
  const std::string deep = std::string(100, '[') + std::string(100, ']');
  CHECK(second(R"({"x": )" + deep + "}") == "t: line 2: nested deeper than 64 levels");
}

TEST_CASE("json: one list reads as its lines would, and a list cut off is an error") {
  const std::string a = R"({"timestamp": 0, "input_length": 1, "output_length": 2, "x": "],[}{\"\\"})";
  const std::string b = R"({"timestamp": 1000, "input_length": 3, "output_length": 4, "x": [[1, 2], {}]})";
  const std::string lines = shown(read_mooncake(a + "\n" + b, "t"));
  CHECK(lines == "0:1/2 1:3/4");
  CHECK(shown(read_mooncake("\xEF\xBB\xBF [" + a + ",\n\n" + b + "]\n", "t")) == lines);
  CHECK(error_of(read_mooncake, "[" + a + ",\n" + b).find("the list is not closed") != std::string::npos);
  CHECK(error_of(read_mooncake, "[" + a + ",\n" + b + ",").find("the list is not closed") !=
        std::string::npos);
  CHECK(error_of(read_mooncake, "[" + a + ",\n" + b.substr(0, 30)).find("t: line 2: not valid JSON") == 0);
  CHECK(error_of(read_mooncake, "[" + a + "]\n" + b).find("t: line 2: text after the list") == 0);
  CHECK(error_of(read_mooncake, "[\n" + a + ",\n\n5]") == "t: line 4: expected an object, got \"5\"");
}

TEST_CASE("sharegpt: each answer is a request, its prompt the message before it or the whole conversation") {
  const std::string text = R"([{"id": "a", "conversations": [
      {"from": "system", "value": "ss"}, {"from": "human", "value": "abc"}, {"from": "gpt", "value": "defg"},
      {"from": "human", "value": "h"}, {"from": "gpt", "value": "ij"}]},
    {"id": "b", "conversations": [{"from": "gpt", "value": "xx"}, {"from": "human", "value": "left alone"}]},
    {"id": "c", "conversations": [{"from": "human", "value": ""}, {"from": "gpt", "value": "x"}]},
    {"id": "d", "conversations": []}])";
  const auto single = read_conversations(text, "t", Letters(), false);
  CHECK(shown(single) == "0:5/4 0:1/2");
  CHECK(notes_say(single, "requests that answer nothing"));
  CHECK(notes_say(single, "requests that are never answered"));
  CHECK(notes_say(single, "requests whose prompt or answer is empty"));
  CHECK(notes_say(single, "letters"));
  CHECK(!single.missing_arrivals.empty());
  CHECK(shown(read_conversations(text, "t", Letters(), true)) == "0:5/4 0:10/2");
  const std::string open_ai =
      R"({"messages": [{"role": "user", "content": "abc"}, {"role": "assistant", "content": "d"}]})";
  CHECK(shown(read_conversations(open_ai, "t", Letters(), false)) == "0:3/1");
}

TEST_CASE("texts: alpaca, openr1, dolphin-r1 and longbench put prompt and answer together") {
  CHECK(shown(read_alpaca(R"([{"instruction": "abc", "input": "", "output": "d"},
      {"instruction": "abc", "input": "de", "output": "f"}, {"instruction": "abc", "output": "gg"}])",
                          "t", Letters())) == "0:3/1 0:5/1 0:3/2");
  CHECK(shown(read_openr1(R"({"problem": "abc", "generations": ["de", "fghi", null]})", "t", Letters())) ==
        "0:3/2 0:3/4");
  CHECK(
      shown(read_dolphin_r1(
          R"({"messages": [{"role": "system", "content": "ab"}, {"role": "user", "content": "c"}], "reasoning": "de", "answer": "f"})",
          "t", Letters())) == "0:3/3");
  CHECK(shown(read_longbench(R"({"context": "abcd", "input": "e", "answers": ["fg", "h"]})", "t",
                             Letters())) == "0:5/2");
  const auto alpaca = [](std::string_view text, const std::string& file) {
    return read_alpaca(text, file, Letters());
  };
  CHECK(error_of(alpaca, R"({"instruction": 5, "output": "x"})") ==
        "t: line 1: instruction: expected a text, got number");
}
