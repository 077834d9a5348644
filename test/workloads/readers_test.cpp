// What holds of every reader. Each dialect: csv_readers_test.cpp, json_readers_test.cpp.
#include <catch2/catch.hpp>
#include <random>

#include "workloads/traces/readers.h"

using namespace weir;

TEST_CASE("readers: bytes of any kind give a trace or an error that names the file") {
  const std::vector<std::string> seeds = {
      "arrival_s,input_tokens,output_tokens\n0,1,2\n1,\"3\",4\n",
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n",
      R"([{"prompt_len": 55, "output_len": 4, "start_time": 0.0}])",
      R"([{"conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}])",
      R"({"arrival_time_ns": 4, "sub_requests": [{"input_toks": 1, "output_toks": 1, "tool_duration_ns": 5}]})"};
  std::mt19937_64 rng(11);
  for (int i = 0; i < 3000; ++i) {
    std::string text = seeds[rng() % seeds.size()];
    for (std::uint64_t n = rng() % 4; n > 0; --n) {
      const std::size_t at = rng() % text.size();
      if (rng() % 2)
        text[at] = static_cast<char>(rng());
      else
        text.erase(at, 1 + rng() % 8);
      if (text.empty()) text = "x";
    }
    for (auto read : {read_csv, read_azure, read_burstgpt, read_vidur, read_mooncake, read_llmservingsim,
                      read_distserve}) {
      try {
        const Trace trace = read(text, "t");
        REQUIRE(!trace.requests.empty());
        for (const Request& r : trace.requests) {
          REQUIRE(r.input_tokens >= 1);
          REQUIRE(r.output_tokens >= 1);
          REQUIRE(r.arrival >= Seconds(0));
        }
      } catch (const ConfigError& e) {
        REQUIRE(e.file() == "t");
      }
    }
  }
}

TEST_CASE("readers: bytes of a trace in a message are letters of any script, or escapes") {
  CHECK(printable("a\"b") == "\"a\"b\"");
  CHECK(printable("生成 Zürich 😀") == "\"生成 Zürich 😀\"");
  CHECK(printable("\x1b[1m\x7f\n") == R"("\x1b[1m\x7f\x0a")");
  CHECK(printable("\xc2\x85") == R"("\xc2\x85")");                          // a control character of Latin-1
  CHECK(printable("\xe2\x80\xae") == R"("\xe2\x80\xae")");                  // what follows is read backwards
  CHECK(printable("\xc0\xaf\xed\xa0\x80") == R"("\xc0\xaf\xed\xa0\x80")");  // too long; a surrogate
  CHECK(printable("\xf4\x90\x80\x80") == R"("\xf4\x90\x80\x80")");          // beyond Unicode
  CHECK(printable("a\xe7\x94") == R"("a\xe7\x94")");                        // cut off
  std::string many, shown;
  for (int i = 0; i < 41; ++i) many += "é";
  for (int i = 0; i < 40; ++i) shown += "é";
  CHECK(printable(many) == "\"" + shown + "...\"");
}
