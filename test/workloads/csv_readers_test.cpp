// Traces in CSV: rows and fields as editors and spreadsheets write them, and each dialect.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "test/workloads/read_trace.h"

using namespace weir;
using namespace weir::test;

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

TEST_CASE("csv: a column of priorities, 0 where there is none") {
  const std::string header = "arrival_s,input_tokens,output_tokens,priority\n";
  const auto of = [&](const std::string& row) { return error_of(read_csv, header + row + "\n"); };
  const auto trace = read_csv(header + "1,1,1,-3\n0,1,1,2147483647\n", "t");
  CHECK(trace.requests[0].priority == 2147483647);
  CHECK(trace.requests[1].priority == -3);
  CHECK(read_csv("arrival_s,input_tokens,output_tokens\n0,1,1\n", "t").requests[0].priority == 0);
  for (const char* bad : {"", "1.5", "high", "2147483648", "-2147483649"})
    CHECK(of(fmt::format("0,1,1,{}", bad))
              .starts_with("t: line 2: priority: expected a whole number from -2147483648 to 2147483647"));
  CHECK(error_of(read_csv, "arrival_s,input_tokens,output_tokens,priority,priority\n0,1,1,1,2\n") ==
        "t: line 1: two columns \"priority\" (found: \"arrival_s\", \"input_tokens\", \"output_tokens\", "
        "\"priority\", \"priority\")");
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
