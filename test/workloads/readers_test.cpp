#include "workloads/readers.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "test/workloads/samples.h"

using namespace weir;

namespace {

// One token a character, so that a test can count them.
class Letters : public TokenCounter {
 public:
  std::int64_t count(std::string_view text) const override { return std::ssize(text); }
  std::string note() const override { return "letters"; }
};

std::string shown(const Trace& trace) {
  std::string text;
  for (const Request& r : trace.requests)
    text += fmt::format("{}{:g}:{}/{}", text.empty() ? "" : " ", r.arrival.value(), r.input_tokens,
                        r.output_tokens);
  return text;
}

bool notes_say(const Trace& trace, const std::string& words) {
  for (const std::string& note : trace.notes)
    if (note.find(words) != std::string::npos) return true;
  return false;
}

template <class Read>
std::string error_of(Read read, std::string_view text) {
  try {
    read(text, "t");
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("csv: columns go by name and the others are ignored") {
  const auto trace = read_csv("model,output_tokens,arrival_s,input_tokens\nx,2,0.5,10\ny,3,1.5,20\n", "t");
  CHECK(shown(trace) == "0.5:10/2 1.5:20/3");
  CHECK(trace.missing_arrivals.empty());
  CHECK(trace.notes.empty());
}

TEST_CASE(
    "csv: CRLF, byte order mark, quotes, blanks, blank lines, integral floats and a missing last newline") {
  const auto trace = read_csv(
      "\xEF\xBB\xBF\"arrival_s\", input_tokens ,output_tokens,note\r\n"
      "\r\n0,\"10\",2.0,\"a, \"\"quoted\"\"\nnote\"\r\n \r\n1, 20 ,3,\r\n2,30,4,x",
      "t");
  CHECK(shown(trace) == "0:10/2 1:20/3 2:30/4");
}

TEST_CASE("csv: arrivals out of order are sorted, equal ones keep their order, and a note counts them") {
  const auto trace = read_csv("arrival_s,input_tokens,output_tokens\n3,1,1\n1,2,1\n1,3,1\n2,4,1\n", "t");
  CHECK(shown(trace) == "1:2/1 1:3/1 2:4/1 3:1/1");
  CHECK(notes_say(trace, "1 requests came before"));
}

TEST_CASE("csv: an empty arrival keeps the file's order and is told with its line") {
  const auto some = read_csv("arrival_s,input_tokens,output_tokens\n3,1,1\n,2,1\n,3,1\n", "t");
  CHECK(some.missing_arrivals == "line 3: the arrival is empty (2 of 3 requests)");
  CHECK(some.requests[0].input_tokens == 1);
  const auto none = read_csv("input_tokens,output_tokens\n1,1\n", "t");
  CHECK(none.missing_arrivals == R"(no column "arrival_s" (found: "input_tokens", "output_tokens"))");
}

TEST_CASE("csv: every kind of mistake is told with its line") {
  const std::string header = "arrival_s,input_tokens,output_tokens\n";
  const auto of = [&](const std::string& row) { return error_of(read_csv, header + row + "\n"); };
  CHECK(error_of(read_csv, "") == "t: is empty");
  CHECK(error_of(read_csv, "\xEF\xBB\xBF\n \n") == "t: is empty");
  CHECK(error_of(read_csv, header) == "t: holds no request");
  CHECK(error_of(read_csv, "arrival_s,in,out\n0,1,1\n") ==
        "t: line 1: no column \"input_tokens\" (found: \"arrival_s\", \"in\", \"out\")\n"
        "t: line 1: no column \"output_tokens\" (found: \"arrival_s\", \"in\", \"out\")");
  for (const char* bad : {"0", "-5", "nan", "inf", "1.5", "abc", "", "1e30", "99999999999999999999", "0x10",
                          "+1", "1 2", "100000001", "\xff\xfe"})
    CHECK(of(fmt::format("0,{},1", bad))
              .starts_with("t: line 2: input_tokens: expected a whole number of tokens from 1"));
  for (const char* bad : {"-1", "nan", "inf", "1e13", "soon"})
    CHECK(of(fmt::format("{},1,1", bad)).starts_with("t: line 2: arrival_s: expected a time >= 0"));
  CHECK(of("0,1") == "t: line 2: expected 3 fields, got 2");
  CHECK(of("0,1,2,3") == "t: line 2: expected 3 fields, got 4");
  CHECK(of("0,\"1\"2,3").starts_with("t: line 2: text after a closing quote"));
  CHECK(of("0,\"1,3").starts_with("t: line 2: text after a closing quote, or no closing quote"));
  CHECK(error_of(read_csv, std::string("\xFF\xFE") + "a").starts_with("t: is UTF-16"));
  CHECK(of("0,1\xff\x80,1").find("\"1\\xff\\x80\"") != std::string::npos);
}

TEST_CASE("csv: lines are those of an editor, blank and quoted ones included") {
  const std::string text = "arrival_s,input_tokens,output_tokens,x\r\n\r\n0,1,1,\"two\nlines\"\n0,bad,1,\n";
  CHECK(error_of(read_csv, text).starts_with("t: line 5: input_tokens"));
}

TEST_CASE("csv: of many mistakes ten are listed and the rest counted") {
  std::string text = "arrival_s,input_tokens,output_tokens\n";
  for (int i = 0; i < 500; ++i) text += "0,0,1\n";
  const std::string error = error_of(read_csv, text);
  CHECK(std::count(error.begin(), error.end(), '\n') == 10);
  CHECK(error.ends_with("t: and 490 more such lines"));
}

TEST_CASE("csv: what is written is read back, bit for bit") {
  std::mt19937_64 rng(7);
  std::string text = "arrival_s,input_tokens,output_tokens\n";
  std::vector<Request> written;
  double now = 0;
  for (int i = 0; i < 1000; ++i) {
    now += std::ldexp(static_cast<double>(rng() >> 11), -53);
    written.push_back({Seconds(now), 1 + static_cast<std::int64_t>(rng() % 100000),
                       1 + static_cast<std::int64_t>(rng() % 9)});
    text += fmt::format("{},{},{}\n", now, written.back().input_tokens, written.back().output_tokens);
  }
  const auto read = read_csv(text, "t").requests;
  REQUIRE(read.size() == written.size());
  for (std::size_t i = 0; i < read.size(); ++i) {
    CHECK(read[i].arrival == written[i].arrival);
    CHECK(read[i].input_tokens == written[i].input_tokens);
    CHECK(read[i].output_tokens == written[i].output_tokens);
  }
}

TEST_CASE("azure: dates with seven digits, over midnight and the year, the first request at 0") {
  const auto trace = read_azure(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-12-31 23:59:59.5000000,374,44\n"
      "2024-01-01 00:00:00.7500001,396,109\n2024-01-03 00:00:00,1,1\n2023-12-31 23:59:59.4999999,5,6\n",
      "t");
  REQUIRE(trace.requests.size() == 4);
  CHECK(trace.requests[0].input_tokens == 5);
  CHECK(trace.requests[0].arrival.value() == 0);
  CHECK(std::abs(trace.requests[1].arrival.value() - 1e-7) < 1e-12);
  CHECK(std::abs(trace.requests[2].arrival.value() - 1.2500002) < 1e-12);
  CHECK(std::abs(trace.requests[3].arrival.value() - 172800.5000001) < 1e-9);
}

TEST_CASE("azure: the offsets of the files of 2024") {
  const auto trace = read_azure(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n2024-05-10 "
      "00:00:00.009930+00:00,1,1\n2024-05-10T02:00:01.009930+02:00,2,1\n"
      "2024-05-09 22:30:02.009930-01:30,3,1\n2024-05-10 00:00:03.009930Z,4,1\n",
      "t");
  CHECK(shown(trace) == "0:1/1 1:2/1 2:3/1 3:4/1");
}

TEST_CASE("azure: what is no time is an error") {
  for (const char* bad :
       {"2023-02-30 00:00:00", "2023-13-01 00:00:00", "2023-01-01", "2023-01-01 24:00:00", "5",
        "2023-01-01 00:00:00 x", "2023-01-01 00:00:00+1", "2023-1-01 00:00:00", "-023-01-01 00:00:00"})
    CHECK(error_of(read_azure, fmt::format("TIMESTAMP,ContextTokens,GeneratedTokens\n{},1,1\n", bad))
              .starts_with("t: line 2: TIMESTAMP: expected a time such as"));
}

TEST_CASE("burstgpt: v1 and v3 by name, a request that failed is dropped and counted") {
  const auto v1 = read_burstgpt(
      "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log "
      "Type\n5,ChatGPT,472,18,490,Conversation log\n"
      "45,ChatGPT,1087,0,1087,API log\n46,ChatGPT,0,0,0,API log\n47,GPT-4,0,3,3,API "
      "log\n118,GPT-4,417,276,693,API log\n",
      "t");
  CHECK(shown(v1) == "5:472/18 118:417/276");
  CHECK(notes_say(v1, "dropped 2 of 4 requests that failed (Response tokens is 0)"));
  CHECK(notes_say(v1, "dropped 1 of 3 requests without a prompt"));
  const auto v3 = read_burstgpt(
      "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
      "0,,2.56,ChatGPT,523,52,575,API log\n779,007c4c18679777b3,6.16,ChatGPT,189,172,361,Conversation log\n",
      "t");
  CHECK(shown(v3) == "0:523/52 779:189/172");
  CHECK(error_of(read_burstgpt, "Timestamp,Request tokens,Response tokens\n1,5,0\n") ==
        "t: holds no request; 1 were dropped that failed (Response tokens is 0)");
}

TEST_CASE("vidur: with and without arrivals, under both names") {
  CHECK(shown(read_vidur("num_prefill_tokens,num_decode_tokens,pd_ratio\n3772,54,69.85\n", "t")) ==
        "0:3772/54");
  CHECK(!read_vidur("num_prefill_tokens,num_decode_tokens\n1,2\n", "t").missing_arrivals.empty());
  for (const char* name : {"arrived_at", "arrived_at_s"})
    CHECK(shown(read_vidur(fmt::format("id,{},num_prefill_tokens,num_decode_tokens\n0,0.5,395,112\n", name),
                           "t")) == "0.5:395/112");
}

TEST_CASE("splitwise and distserve: their own names") {
  CHECK(shown(read_splitwise(
            "request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size\n"
            "0,2,0,1,1,4096,32\n",
            "t")) == "1:4096/32");
  CHECK(shown(read_distserve(R"([{"prompt_len": 55, "output_len": 4, "start_time": 0.0},
     {"prompt_len": 829, "output_len": 170, "start_time": 0.5}])",
                             "t")) == "0:55/4 0.5:829/170");
}

TEST_CASE("mooncake: milliseconds, hash ids are told once") {
  const auto trace = read_mooncake(
      "{\"timestamp\": 0, \"input_length\": 6758, \"output_length\": 500, \"hash_ids\": [0, 1]}\n"
      "{\"timestamp\": 3000, \"input_length\": 7322, \"output_length\": 490, \"hash_ids\": [0, 14]}\n",
      "t");
  CHECK(shown(trace) == "0:6758/500 3:7322/490");
  CHECK(trace.notes.size() == 1);
  CHECK(notes_say(trace, "prefix caching is not modelled"));
}

TEST_CASE("llmservingsim: flat, unsorted, with ids, the vLLM runs and sessions") {
  const auto flat = read_llmservingsim(
      "{\"input_toks\": 305, \"output_toks\": 698, \"arrival_time_ns\": 2000000000, \"input_tok_ids\": [1, "
      "2]}\n\n"
      "{\"input_toks\": 264, \"output_toks\": 575, \"arrival_time_ns\": 500000000}\r\n",
      "t");
  CHECK(shown(flat) == "0.5:264/575 2:305/698");
  CHECK(notes_say(flat, "prefix caching"));
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
  CHECK(shown(session) == "1:10/1 1.5:20/2");
  CHECK(notes_say(session, "not modelled"));
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
  CHECK(second(std::string(100, '[')).starts_with("t: line 2: not valid JSON"));
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
