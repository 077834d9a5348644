// Mooncake's conversation trace, one request after another: what an endless cache of its blocks finds is
// counted beside the trace; what smaller ones find, a cache of named blocks says.
#include <catch2/catch.hpp>

#include <map>
#include <numeric>
#include <sstream>
#include <unordered_map>

#include "sim/app/results/csv.h"
#include "sim/studies/validation/packed.h"
#include "test/app/run_weir.h"
#include "test/workloads/samples.h"

using namespace weir;
using namespace weir::test;

namespace {

constexpr std::size_t ids_block = 512;  // tokens

std::vector<std::vector<std::int64_t>> ids_of_rows(const std::filesystem::path& file) {
  std::vector<std::vector<std::int64_t>> rows;
  std::istringstream lines(contents(file));
  for (std::string line, word; std::getline(lines, line);) {
    rows.emplace_back();
    for (std::istringstream words(line); words >> word;) {
      const std::int64_t first = std::stoll(word);
      const std::size_t dash = word.find('-');
      const std::int64_t last = dash == std::string::npos ? first : std::stoll(word.substr(dash + 1));
      for (std::int64_t id = first; id <= last; ++id) rows.back().push_back(id);
    }
  }
  return rows;
}

// Blocks by their ids, copies of one id in the order in which they were computed. One request at a time: all
// of them are idle when it comes, and it gives its own back from the last to the first.
class BlocksByIds {
 public:
  explicit BlocksByIds(std::size_t blocks) : blocks_(blocks) {}

  // How many of its blocks it finds.
  std::size_t serve(const std::vector<std::int64_t>& ids, std::size_t input, std::size_t output) {
    std::vector<std::size_t> own;
    for (std::size_t i = 0; i < (input - 1) / ids_block && !copies_of_[ids[i]].empty(); ++i) {
      own.push_back(copies_of_[ids[i]].front());
      idle_.erase(copies_[own.back()].since);
    }
    const std::size_t found = own.size();
    const std::size_t all = (input + output - 1 + ids_block - 1) / ids_block;  // the last token has no KV
    while (idle_.size() + all > blocks_) drop_oldest();
    for (std::size_t i = found; i < all; ++i) {
      own.push_back(copies_.size());
      copies_.push_back({i < input / ids_block ? ids[i] : nameless, 0});
      if (copies_.back().id != nameless) copies_of_[ids[i]].push_back(own.back());
    }
    for (auto copy = own.rbegin(); copy != own.rend(); ++copy) idle_[copies_[*copy].since = ++clock_] = *copy;
    return found;
  }

 private:
  static constexpr std::int64_t nameless = -1;
  struct Copy {
    std::int64_t id, since;
  };
  void drop_oldest() {
    const std::size_t oldest = idle_.begin()->second;
    if (copies_[oldest].id != nameless) std::erase(copies_of_[copies_[oldest].id], oldest);
    idle_.erase(idle_.begin());
  }

  std::size_t blocks_;
  std::int64_t clock_ = 0;
  std::vector<Copy> copies_;
  std::map<std::int64_t, std::size_t> idle_;  // copies by since when
  std::unordered_map<std::int64_t, std::vector<std::size_t>> copies_of_;
};

// A device with all the memory that is asked for.
Json one_after_another(const std::filesystem::path& trace, std::size_t blocks, const std::string& index) {
  const Json device = {{"kind", "h100_sxm"}, {"count", 1}, {"memory_capacity_gib", 60'000'000}};
  const Json cache = {{"block_tokens", ids_block}, {"blocks", blocks}, {"prefix_index", index}};
  return {{"model", "llama3.1-8b"},
          {"cluster", {{"nodes", {{{"devices", {device}}}}}}},
          {"serving", {{"replicas", {{{"batching", {{"kind", "chunked_prefill"}}}, {"kv_cache", cache}}}}}},
          {"workload",
           {{"requests", {{"kind", "csv"}, {"file", trace.string()}, {"hash_ids", "ids.txt"}}},
            {"arrivals", {{"kind", "constant"}, {"rate_per_s", 0.002}}}}}};
}

}  // namespace

TEST_CASE("weir run: of Mooncake's trace every prompt finds what its ids say, and less in smaller caches") {
  const auto trace = shared_traces() / "mooncake_conversation.csv";
  const auto packed = shared_traces() / "mooncake_conversation_hash_ids.txt.gz";
  if (!std::filesystem::exists(trace) || !std::filesystem::exists(packed)) {
    WARN("skipped: set WEIR_REFERENCE to shared/reference (or WEIR_TRACES) to read them");
    return;
  }
  const ScratchDirectory scratch;
  unpack(packed, scratch / "ids.txt");
  const auto ids = ids_of_rows(scratch / "ids.txt");
  const auto rows = read_columns(trace, {"input_tokens", "output_tokens", "prefix_hit_blocks_infcache"});
  REQUIRE(rows[0].size() == 12'031);
  REQUIRE(ids.size() == rows[0].size());

  const auto found_tokens = [&](std::size_t blocks, const std::string& index) {
    write(scratch / "scenario.json", one_after_another(trace, blocks, index).dump());
    const Ended ended = run_weir({"run", "scenario.json", "--out", "out"}, {.folder = scratch.path()});
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    const auto found = read_columns(scratch / "out/prompts.csv", {"local_hit_tokens"})[0];
    REQUIRE(found.size() == rows[0].size());
    return found;
  };
  const auto input = [&](std::size_t i) { return static_cast<std::size_t>(rows[0][i]); };

  constexpr std::size_t endless = 400'000;
  for (const char* index : {"blocks", "radix_tree"}) {
    double before = 1e18;
    for (const std::size_t blocks : {endless, std::size_t(16'000), std::size_t(4'000), std::size_t(500)}) {
      INFO(index << ", " << blocks << " blocks");
      const auto found = found_tokens(blocks, index);
      BlocksByIds named(blocks);
      int whole = 0;  // prompts that were there before: their last block is computed
      for (std::size_t i = 0; i < found.size(); ++i) {
        INFO("row " << i);
        if (blocks == endless) {
          const double counted = rows[2][i] * ids_block;
          const bool all = counted >= rows[0][i];
          REQUIRE(found[i] == counted - (all ? ids_block : 0));
          whole += all;
        }
        if (std::string(index) != "blocks") continue;  // other leaves give way there
        const std::size_t by_ids = named.serve(ids[i], input(i), static_cast<std::size_t>(rows[1][i]));
        REQUIRE(found[i] == static_cast<double>(ids_block * by_ids));
      }
      CHECK(whole == (blocks == endless ? 118 : 0));
      const double sum = std::accumulate(found.begin(), found.end(), 0.0);
      CHECK(sum < 0.8 * before);  // sizes far apart
      before = sum;
    }
  }
}
