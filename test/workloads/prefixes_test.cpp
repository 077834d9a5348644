// Which prompts begin alike: ids of blocks, and what becomes of it when a trace is sorted and cut.
#include <catch2/catch.hpp>
#include <numeric>
#include <random>

#include "test/workloads/read_trace.h"
#include "test/workloads/samples.h"

using namespace weir;
using namespace weir::test;

namespace {

using Written = std::vector<int>;

std::int64_t common(const Written& a, const Written& b) {
  return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
}

// Texts written out: prompt and answer of each request, which begins as its origin says.
std::vector<Written> texts_of(const Trace& trace) {
  std::vector<Written> texts;
  int next = 0;
  for (std::size_t i = 0; i < trace.requests.size(); ++i) {
    Written text;
    if (const Origin& origin = trace.origins[i]; origin.request >= 0) {
      const Written& of = texts[static_cast<std::size_t>(origin.request)];
      text.assign(of.begin(), of.begin() + origin.tokens);
    }
    while (std::ssize(text) < trace.requests[i].input_tokens + trace.requests[i].output_tokens)
      text.push_back(++next);
    texts.push_back(text);
  }
  return texts;
}

Trace random_trace(std::mt19937& random, int count) {
  Trace trace;
  for (int i = 0; i < count; ++i) {
    const Request request{Seconds(static_cast<double>(random() % 20)), 1 + static_cast<int>(random() % 12),
                          1 + static_cast<int>(random() % 4)};
    Origin origin;
    if (i > 0 && random() % 5 != 0) {
      origin.request = static_cast<std::int32_t>(random() % static_cast<unsigned>(i));
      const Request& of = trace.requests[static_cast<std::size_t>(origin.request)];
      origin.tokens = static_cast<std::int64_t>(
          random() %
          static_cast<unsigned>(std::min(of.input_tokens + of.output_tokens, request.input_tokens) + 1));
      if (origin.tokens == 0) origin = {};
    }
    trace.requests.push_back(request);
    trace.origins.push_back(origin);
  }
  return trace;
}

std::string lines_of(const std::vector<std::vector<std::int64_t>>& ids) {
  std::string text;
  for (const auto& row : ids) {
    for (const std::int64_t id : row) text += fmt::format("{} ", id);
    text += "\n";
  }
  return text;
}

std::string ids_beside(const TemporaryFile& trace, const TemporaryFile& ids, const std::string& more = "") {
  return R"({"kind": "csv", "file": ")" + trace.name() + R"(", "hash_ids": ")" + ids.name() + "\"" + more +
         "}";
}

}  // namespace

TEST_CASE(
    "prefixes: in any other order, and with some left out, each shares all that an earlier one has of it") {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    Trace trace = random_trace(random, 1 + static_cast<int>(random() % 30));
    const std::vector<Written> texts = texts_of(trace);
    std::vector<std::int32_t> order(trace.requests.size());
    std::iota(order.begin(), order.end(), 0);
    if (random() % 2) std::shuffle(order.begin(), order.end(), random);
    order.resize(1 + random() % order.size());
    rearrange(trace, order);
    REQUIRE(trace.origins.size() == order.size());
    for (std::size_t at = 0; at < order.size(); ++at) {
      const Written& text = texts[static_cast<std::size_t>(order[at])];
      std::int64_t most = 0;
      for (std::size_t before = 0; before < at; ++before)
        most = std::max(most, common(text, texts[static_cast<std::size_t>(order[before])]));
      most = std::min(most, trace.requests[at].input_tokens);
      REQUIRE(trace.origins[at].tokens == most);
      if (most == 0) continue;
      const auto of = static_cast<std::size_t>(trace.origins[at].request);
      REQUIRE(of < at);
      REQUIRE(common(text, texts[static_cast<std::size_t>(order[of])]) >= most);
    }
    REQUIRE_NOTHROW(Contents(trace.origins, trace.requests));
  }
}

TEST_CASE("prefixes: a sorted trace keeps them with its requests") {
  std::mt19937 random(4);
  Trace trace = random_trace(random, 50);
  std::vector<std::int64_t> inputs;
  for (const Request& r : trace.requests) inputs.push_back(r.input_tokens);
  sort_by_arrival(trace);
  for (std::size_t i = 1; i < 50; ++i) CHECK(trace.requests[i].arrival >= trace.requests[i - 1].arrival);
  CHECK_NOTHROW(Contents(trace.origins, trace.requests));
}

TEST_CASE(
    "hash ids: prompts share as many blocks as their ids are the same, the last one as far as it goes") {
  const TemporaryFile trace(
      "arrival_s,input_tokens,output_tokens,prefix_blocks\n0,1100,9,1\n1,1500,9,1\n2,1030,9,1\n3,600,9,1\n4,"
      "1100,9,1\n");
  const TemporaryFile ids("0-2\n0 1 9\n0-1 5\r\n7 8\n0 1 2");
  const Workload w = workload_of(ids_beside(trace, ids), as_traced);
  CHECK(w.notes.empty());
  const std::pair<std::int32_t, std::int64_t> expected[] = {
      {-1, 0}, {0, 1024}, {0, 1024}, {-1, 0}, {0, 1100}};
  for (std::int32_t i = 0; i < 5; ++i) {
    const auto [request, tokens] = expected[i];
    CHECK((w.contents.origin(i).request == request && w.contents.origin(i).tokens == tokens));
  }
  const Workload small = workload_of(ids_beside(trace, ids, R"(, "hash_block_tokens": 500)"), as_traced);
  CHECK(small.contents.origin(1).tokens == 1000);
}

TEST_CASE("hash ids: what is left of a trace that was cut still shares") {
  const TemporaryFile trace("arrival_s,input_tokens,output_tokens\n5,1024,9\n0,1024,9\n6,1024,9\n");
  const TemporaryFile ids("1 2\n1 3\n1 2\n");
  const Workload all = workload_of(ids_beside(trace, ids), as_traced);  // the second row comes first
  CHECK((all.contents.origin(1).request == 0 && all.contents.origin(1).tokens == 512));
  CHECK((all.contents.origin(2).request == 1 && all.contents.origin(2).tokens == 1024));
  const Workload cut = workload_of(ids_beside(trace, ids, R"(, "start_s": 1)"), as_traced);
  CHECK(cut.requests.size() == 2);
  CHECK((cut.contents.origin(1).request == 0 && cut.contents.origin(1).tokens == 1024));
}

TEST_CASE("hash ids: they share what the texts that they were made of share") {
  std::mt19937 random(8);
  for (int i = 0; i < 200; ++i) {
    // Texts of blocks: a tree of block contents, each path to a node with an id.
    std::map<Written, std::int64_t> id_of;
    std::vector<Written> blocks;
    std::vector<std::int64_t> tokens;
    std::vector<std::vector<std::int64_t>> ids;
    std::string rows = "arrival_s,input_tokens,output_tokens\n";
    for (int r = 0; r < 25; ++r) {
      Written text;
      std::vector<std::int64_t> own;
      for (std::uint64_t n = 1 + random() % 5; n > 0; --n) {
        text.push_back(static_cast<int>(random() % 3));
        own.push_back(id_of.try_emplace(text, std::ssize(id_of)).first->second);
      }
      tokens.push_back(4 * std::ssize(text) -
                       static_cast<std::int64_t>(random() % 4));  // a last block in part
      rows += fmt::format("{},{},1\n", r, tokens.back());
      blocks.push_back(text);
      ids.push_back(own);
    }
    const Trace trace = read_csv_with_ids(rows, "t", BlockIdLines(lines_of(ids), "ids", 4));
    for (std::size_t r = 0; r < blocks.size(); ++r) {
      std::int64_t most = 0;
      for (std::size_t before = 0; before < r; ++before)
        most = std::max(most, std::min({4 * common(blocks[r], blocks[before]), tokens[before], tokens[r]}));
      REQUIRE((trace.origins.empty() ? 0 : trace.origins[r].tokens) == most);
    }
  }
}

TEST_CASE("hash ids: every kind of mistake is told with its line") {
  const std::string rows = "arrival_s,input_tokens,output_tokens\n0,1024,1\n1,1024,1\n";
  const auto of = [&](std::string_view lines) {
    try {
      read_csv_with_ids(rows, "t", BlockIdLines(lines, "ids", 512));
    } catch (const ConfigError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  CHECK(of("1\n2\n") == "");
  CHECK(of("\n\n") == "");
  CHECK(of("1\n") == "ids: expected a line of ids for each of 2 requests, got 1");
  CHECK(of("1\n2\n3\n") == "ids: expected a line of ids for each of 2 requests, got 3");
  CHECK(of("1 x\n2\n") == "ids: line 1: expected ids of blocks, as 3 or 14-27, got \"x\"");
  for (const char* bad : {"-1", "3-", "5-3", "1.5", "99999999999999999999", "1-2-3", "\xff"})
    CHECK(of(std::string(bad) + "\n2\n").starts_with("ids: line 1: expected ids of blocks"));
  CHECK(of("1-3\n2\n").starts_with("ids: line 1: 3 ids of 512 tokens each, for a prompt of 1024 tokens"));
  CHECK(of("0-9000000000000000000\n2\n").starts_with("ids: line 1: 1025 ids"));
  CHECK(of("1 2\n2\n")
            .starts_with("ids: line 2: block 0 has the id 2, which stood behind other blocks before"));
  CHECK(of("1 1\n2\n").starts_with("ids: line 1: block 1 has the id 1"));
  CHECK(error_of(read_mooncake,
                 R"({"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [-1]})") ==
        "t: line 1: hash_ids: expected whole numbers from 0, got \"-1\"");
  const TemporaryFile trace(rows), packed("\x1F\x8B\x08 whatever");
  CHECK(problems_of(ids_beside(trace, packed), as_traced) ==
        "scenario.json: /requests/file: " + packed.name() + ": is compressed (gzip): unpack it first");
}

TEST_CASE("hash ids: of Mooncake's trace as many blocks are shared as its conversion to CSV counts") {
  const auto traces = shared_traces();
  const auto file = traces / "native" / "mooncake_conversation_head200.jsonl";
  std::ifstream counted(traces / "mooncake_conversation.csv");
  if (traces.empty() || !std::filesystem::exists(file) || !counted) {
    WARN("skipped: set WEIR_REFERENCE to shared/reference (or WEIR_TRACES) to read them");
    return;
  }
  const Workload w = workload_of(R"({"kind": "mooncake", "file": ")" + file.string() + "\"}", as_traced);
  REQUIRE(w.requests.size() == 200);
  std::string row;
  std::getline(counted, row);
  REQUIRE(row == "arrival_s,input_tokens,output_tokens,prefix_blocks,prefix_hit_blocks_infcache");
  for (std::int32_t i = 0; i < 200; ++i) {
    std::getline(counted, row);
    const std::int64_t blocks = std::stoll(row.substr(row.rfind(',') + 1));
    REQUIRE((w.contents.origin(i).tokens + 511) / 512 == blocks);
  }
}
