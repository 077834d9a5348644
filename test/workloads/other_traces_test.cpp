// Traces of other forms, and files of another kind than the one named.
#include <catch2/catch.hpp>

#include "test/workloads/letters.h"
#include "test/workloads/read_trace.h"
#include "test/workloads/samples.h"
#include "workloads/traces/known_formats.h"

using namespace weir;
using namespace weir::test;

TEST_CASE("bailian: seconds, and not read as Mooncake's milliseconds") {
  const std::string text =
      R"({"chat_id": 1, "parent_chat_id": -1, "timestamp": 0.5, "input_length": 32, "output_length": 4, "turn": 1, "hash_ids": [1, 2]})"
      "\n"
      R"({"chat_id": 2, "parent_chat_id": 1, "timestamp": 61.25, "input_length": 40, "output_length": 5, "turn": 2, "hash_ids": [1, 2, 3]})"
      "\n";
  const Trace trace = read_bailian(text, "t");
  CHECK(shown(trace) == "0.5:32/4 61.25:40/5");
  CHECK(trace.origins[1].tokens == 32);  // two blocks of 16
  CHECK(error_of(read_mooncake, text) ==
        "t: line 1: chat_id, parent_chat_id: is a trace of Qwen-Bailian, whose times are seconds: requests "
        "of kind "
        "\"bailian\" read it; 2 such lines");
}

TEST_CASE("mooncake: a prompt may be a text") {
  const char* text = R"({"timestamp": 1500, "text_input": "abcd", "output_length": 3})";
  const Letters letters;
  CHECK(shown(read_mooncake_blocks(text, "t", 512, &letters)) == "1.5:4/3");
  CHECK_THAT(error_of(read_mooncake, text), Catch::Contains("no \"tokens\" to count it by"));
}

TEST_CASE("openai_batch: requests by their texts and limits, answers by their usage") {
  const char* requests =
      R"({"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": {"max_tokens": 7, "messages": [{"role": "user", "content": "abc"}, {"role": "user", "content": [{"type": "text", "text": "de"}]}]}})";
  const char* answers =
      R"({"id": "b", "custom_id": "a", "response": {"status_code": 200, "body": {"usage": {"prompt_tokens": 11, "completion_tokens": 12}}}, "error": null})";
  const Letters letters;
  CHECK(shown(read_openai_batch(requests, "t", &letters, {})) == "0:5/7");
  CHECK(shown(read_openai_batch(requests, "t", &letters, 9)) == "0:5/9");
  CHECK(shown(read_openai_batch(answers, "t", nullptr, {})) == "0:11/12");
}

TEST_CASE("conversations: under `conversation`, too; records without any are one error") {
  const Letters letters;
  const auto read = [&](std::string_view text, const std::string& file) {
    return read_conversations(text, file, letters, false);
  };
  CHECK(shown(read(
            R"({"conversation": [{"role": "user", "content": "ab"}, {"role": "assistant", "content": "c"}]})",
            "t")) == "0:2/1");
  std::string many;
  for (int i = 0; i < 50'000; ++i) many += "{\"x\": 1}\n";
  CHECK(error_of(read, many) == "t: line 1: no field \"conversations\" (found: \"x\"); 50000 such lines");
}

TEST_CASE("formats: a file of another kind is told by its keys") {
  const auto kind = [](std::string_view text) {
    const KnownFormat* format = known_format(text);
    return format ? std::string(format->kind) : "?";
  };
  CHECK(kind(R"({"input_length": 1, "output_length": 2})") == "mooncake");
  CHECK(kind(R"([{"from": "x", "conversations": []}])") == "sharegpt");
  CHECK(kind("TIMESTAMP,ContextTokens,GeneratedTokens\n1,2,3\n") == "azure");
  CHECK(kind("Timestamp,Model,Request tokens,Response tokens\n") == "burstgpt");
  CHECK(kind(R"({"custom_id": "a", "body": {}})") == "openai_batch");
  CHECK(kind("{\"a\": 1}") == "?");
  CHECK(kind("") == "?");
}
