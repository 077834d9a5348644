// Readers by hand: fields beside the usual ones, what is left out and counted, and numbers at their bounds.
#include <catch2/catch.hpp>

#include "test/workloads/letters.h"
#include "test/workloads/read_trace.h"
#include "test/workloads/samples.h"
#include "workloads/traces/known_formats.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("traces: the largest numbers are read, and the next ones are mistakes") {
  const auto csv = [](const std::string& row) {
    return error_of(read_csv, "arrival_s,input_tokens,output_tokens\n" + row + "\n");
  };
  CHECK(csv("1e12,100000000,100000000") == "");
  CHECK_THAT(csv("0,100000001,1"), Catch::Contains("input_tokens"));
  CHECK_THAT(csv("0,1,100000001.0"), Catch::Contains("output_tokens"));
  CHECK_THAT(csv("1000000000001,1,1"), Catch::Contains("arrival_s"));
  const auto turn = [](const std::string& number) {
    return error_of(read_sessions,
                    "session_id,turn,start_s,input_tokens,output_tokens\na," + number + ",0,1,1\n");
  };
  CHECK(turn("1000000000") == "");
  CHECK_THAT(turn("1000000001"), Catch::Contains("turn: expected a whole number"));
}

TEST_CASE("mooncake: a block stands for as many tokens as the key says, and an empty text is a token") {
  const TemporaryFile trace(
      R"({"timestamp": 0, "input_length": 100, "output_length": 1, "hash_ids": [0, 1, 2]})"
      "\n"
      R"({"timestamp": 2000, "input_length": 100, "output_length": 1, "hash_ids": [0, 1, 3]})"
      "\n");
  const Workload w = workload_of(
      R"({"kind": "mooncake", "hash_block_tokens": 40, "file": ")" + trace.name() + "\"}", as_traced);
  CHECK((w.contents.origin(1).request == 0 && w.contents.origin(1).tokens == 80));
  const Letters letters;
  CHECK(shown(read_mooncake_blocks(R"({"timestamp": 0, "text_input": "", "output_length": 3})", "t", 512,
                                   &letters)) == "0:1/3");
  CHECK(shown(read_mooncake_blocks(
            R"({"timestamp": 0, "text_input": "abcd", "input_length": 9, "output_length": 3})", "t", 512,
            &letters)) == "0:9/3");
}

TEST_CASE("openai_batch: either limit counts, prompts of completions too, and what failed is left out") {
  const Letters letters;
  const auto body = [](const std::string& fields) {
    return R"({"custom_id": "a", "body": {)" + fields + "}}\n";
  };
  const std::string chat = R"("messages": [{"role": "system", "content": "ab"}, {"role": "user"},
    {"role": "user", "content": [{"type": "image_url"}, {"type": "text", "text": "cde"}]}])";
  std::string line;
  for (const char c : body(R"("max_completion_tokens": 8, )" + chat)) line += c == '\n' ? ' ' : c;
  CHECK(shown(read_openai_batch(line, "t", &letters, {})) == "0:5/8");
  CHECK(shown(read_openai_batch(body(R"("max_tokens": 6, "max_completion_tokens": 8, "prompt": "abcd")"), "t",
                                &letters, {})) == "0:4/6");
  const Trace some = read_openai_batch(
      body(R"("max_tokens": 6, "prompt": "")") + body(R"("max_tokens": 7, "prompt": "abc")"), "t", &letters,
      {});
  CHECK(shown(some) == "0:3/7");
  CHECK(notes_say(some, "dropped 1 of 2 requests whose prompt is empty"));
  CHECK(notes_say(some, "answers are taken to be as long as their requests allow"));
  CHECK(some.missing_arrivals == "a batch comes without arrivals");
  CHECK_THAT(error_of([&](auto text, auto& file) { return read_openai_batch(text, file, &letters, {}); },
                      body(R"("prompt": "abc")")),
             Catch::Contains("max_tokens") && Catch::Contains("the scenario has no \"output_tokens\""));
  const Trace answers = read_openai_batch(
      R"({"custom_id": "a", "response": {"body": {"error": "x"}}})"
      "\n"
      R"({"custom_id": "b", "response": {"body": {"usage": {"prompt_tokens": 21, "completion_tokens": 2}}}})"
      "\n",
      "t", nullptr, 99);
  CHECK(shown(answers) == "0:21/2");
  CHECK(notes_say(answers, "dropped 1 of 2 requests that failed (no usage)"));
}

TEST_CASE("conversations: two answers in a row, answers to nothing and questions without one, all counted") {
  // 2 and 3 tokens asked, 4 and 5 answered, 6 asked and never answered.
  const std::string text =
      R"({"conversations": [{"from": "system", "value": "ab"}, {"from": "human", "value": "abc"},
      {"from": "chatgpt", "value": "abcd"}, {"from": "bing", "value": "abcde"},
      {"from": "user", "value": "abcdef"}]})";
  const std::string list = "[" + text + "]";
  const Trace messages = read_conversations(list, "t", Letters(), false),
              history = read_conversations(list, "t", Letters(), true);
  CHECK(shown(messages) == "0:5/4");
  CHECK(notes_say(messages, "dropped 1 of 2 requests that answer nothing"));
  CHECK(notes_say(messages, "dropped 1 of 2 requests that are never answered (6 prompt tokens)"));
  CHECK(shown(history) == "0:5/4 0:9/5");
  CHECK_FALSE(notes_say(history, "answer nothing"));
  CHECK(notes_say(history, "dropped 1 of 3 requests that are never answered (20 prompt tokens)"));
  for (const char* answers :
       {"gpt", "chatgpt", "assistant", "model", "bing", "bard", "function_call", "claude"})
    CHECK(shown(read_conversations(
              fmt::format(
                  R"({{"messages": [{{"from": "x", "value": "abc"}}, {{"from": "{}", "value": "ab"}}]}})",
                  answers),
              "t", Letters(), false)) == "0:3/2");
  // Lists under two names: `conversations` goes before.
  CHECK(
      shown(read_conversations(
          R"({"messages": [], "conversations": [{"from": "x", "value": "abc"}, {"from": "gpt", "value": "a"}]})",
          "t", Letters(), false)) == "0:3/1");
}

TEST_CASE("texts: what has no answer is left out with its prompt's tokens") {
  const Trace bench = read_longbench(
      R"([{"context": "abcd", "input": "e", "answers": []}, {"context": "ab", "input": "cd", "answers": [5]},
          {"context": "a", "input": "bc", "answers": ["def", "g"]}])",
      "t", Letters());
  CHECK(shown(bench) == "0:3/3");
  CHECK(notes_say(bench, "dropped 2 of 3 requests whose prompt or answer is empty (9 prompt tokens)"));
}

TEST_CASE("formats: each kind's file is recognised by its own keys") {
  const auto kind = [](std::string_view text) {
    const KnownFormat* format = known_format(text);
    return format ? std::string(format->kind) : "?";
  };
  const std::pair<const char*, const char*> files[] = {
      {R"({"chat_id": 1, "parent_chat_id": 2, "input_length": 3, "output_length": 4})", "bailian"},
      {R"({"text_input": "a", "output_length": 4})", "mooncake"},
      {R"({"custom_id": "a", "response": {}})", "openai_batch"},
      {R"({"problem": "a", "generations": []})", "openr1"},
      {R"({"context": "a", "input": "b", "answers": []})", "longbench"},
      {R"({"messages": [], "reasoning": "a", "answer": "b"})", "dolphin_r1"},
      {R"({"messages": []})", "sharegpt"},
      {R"({"conversation": []})", "sharegpt"},
      {R"({"instruction": "a", "output": "b"})", "alpaca"},
      {R"({"input_toks": 1, "output_toks": 2})", "llmservingsim"},
      {R"({"sub_requests": []})", "llmservingsim"},
      {R"([{"start_time": 0, "prompt_len": 1, "output_len": 2}])", "distserve"},
      {R"({"metadata": {}, "benchmarks": []})", "guidellm"},
      {R"({"metadata": {}, "metrics": {}})", "aiperf"},
      {R"({"total_output_tokens_retokenized": 1, "total_input_tokens": 1, "request_throughput": 1})",
       "sglang_bench"},
      {R"({"total_input_tokens": 1, "request_throughput": 1})", "vllm_bench"},
      {R"([{"start_time": 0, "end_time": 1, "info": {}}])", "inference_perf"},
      {R"({"load_summary": {}, "successes": {}})", ""},
      {R"({"number_input_tokens": 1, "number_output_tokens": 2, "ttft_s": 3})", "llmperf"},
      {R"({"results_ttft_s_mean": 1})", ""},
      {R"({"request_info": {}, "performance": {}})", ""},
      {R"({"prompt": "a"})", "jsonl"},
      {R"({"input_tokens": 1, "output_tokens": 2})", "jsonl"},
      {"num_prefill_tokens,num_decode_tokens,arrived_at\n", "vidur"},
      {"request_id,prompt_size,token_size\n", "splitwise"},
      {"request id,input,output,arrival,end_time\n", ""},
      {"session_id,input_tokens,output_tokens\n", "sessions"},
      {"arrival_s,input_tokens,output_tokens,timestamp\n", "csv"},
      {"timestamp,input_tokens,output_tokens\n", "servegen"},
      {"input_tokens,output_tokens\n", "csv"},
      {"\xEF\xBB\xBF\"TIMESTAMP\",\"ContextTokens\",\"GeneratedTokens\"\r\n", "azure"},
      {"MLPerf Results Summary\n", ""},
      {"<?xml version=\"1.0\"?>", ""},
      {"PK\x03\x04", ""},
      {"PAR1", ""},
      {"SQLite format 3", ""},
      {R"({"input_length": 1})", "?"},
      {"input_tokens\n", "?"}};
  for (const auto& [text, expected] : files) {
    INFO(text);
    CHECK(kind(text) == expected);
  }
}

TEST_CASE("traces: ten mistakes are all listed, of eleven one is counted") {
  const auto lines = [](int wrong) {
    std::string text = "arrival_s,input_tokens,output_tokens\n";
    for (int i = 0; i < wrong; ++i) text += "0,0,1\n";
    return error_of(read_csv, text);
  };
  CHECK_THAT(lines(10), Catch::Contains("line 11") && !Catch::Contains("more such lines"));
  CHECK_THAT(lines(11), !Catch::Contains("line 12") && Catch::Contains("and 1 more such lines"));
}

TEST_CASE("traces: messages show twenty names of columns, and forty characters of a text") {
  const auto header = [](int columns) {
    std::string text = "c0";
    for (int i = 1; i < columns; ++i) text += fmt::format(",c{}", i);
    return error_of(read_azure, text + "\n");
  };
  CHECK_THAT(header(20), Catch::Contains("\"c19\")") && !Catch::Contains("..."));
  CHECK_THAT(header(21), Catch::Contains("\"c19\", ...)") && !Catch::Contains("c20"));
  CHECK(printable(std::string(40, 'x')) == "\"" + std::string(40, 'x') + "\"");
  CHECK(printable(std::string(41, 'x')) == "\"" + std::string(40, 'x') + "...\"");
  CHECK(printable("a\nb\x7F\xC2\xA0") == "\"a\\x0ab\\x7f\xC2\xA0\"");
  CHECK(printable("\xE2\x80\x8F\xC2\x9F") == "\"\\xe2\\x80\\x8f\\xc2\\x9f\"");  // turns, and controls
}

TEST_CASE("azure: a leap second is read, and comes where the next day begins") {
  CHECK(shown(read_azure("TIMESTAMP,ContextTokens,GeneratedTokens\n2016-12-31 23:59:58,1,1\n"
                         "2016-12-31 23:59:60,2,1\n2017-01-01 00:00:01,3,1\n",
                         "t")) == "0:1/1 2:2/1 3:3/1");
  CHECK(error_of(read_azure, "TIMESTAMP,ContextTokens,GeneratedTokens\n2016-12-31 23:59:61,1,1\n") != "");
  CHECK(error_of(read_azure, "TIMESTAMP,ContextTokens,GeneratedTokens\n2016-12-31 23:60:00,1,1\n") != "");
}

TEST_CASE("burstgpt: prompts of requests that failed are counted in tokens") {
  const Trace trace = read_burstgpt(
      "Timestamp,Request tokens,Response tokens\n5,472,18\n45,1087,0\n46,0,0\n47,13,0\n48,0,3\n", "t");
  CHECK(notes_say(trace, "dropped 3 of 4 requests that failed (Response tokens is 0) (1100 prompt tokens)"));
  CHECK(notes_say(trace, "dropped 1 of 2 requests without a prompt (Request tokens is 0)"));
}
