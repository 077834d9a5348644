// The part of a request's cache that goes from one rank to another, by hand in bytes: latents, heads cut or
// replicated, windows, states of linear attention.
#include "models/llm/kv_parts.h"

#include <catch2/catch.hpp>
#include <map>

#include "test/models/llm/models.h"

namespace weir::test::kv_parts_by_hand {
namespace {

using Ends = std::pair<int, int>;  // rank that sends, rank that gets

Architecture of_layers(std::vector<AttentionKind> kinds) {
  Architecture m;
  m.name = "by hand";
  m.hidden = 1024;
  m.vocabulary = 1024;
  for (const AttentionKind& kind : kinds) {
    LayerKind layer{.intermediate = 1024, .moe = {}};
    layer.attention = kind;
    m.layers.push_back(layer);
  }
  return m;
}

HeadAttention heads(std::int64_t kv_heads, std::int64_t window = 0) {
  HeadAttention a;
  a.query_heads = 16;
  a.kv_heads = kv_heads;
  a.head_dim = 128;
  a.window = window;
  return a;
}

std::map<Ends, double> per_token(const Architecture& m, int from, int to, const Precision& precision = {}) {
  std::map<Ends, double> bytes;
  for (const KvPart& part : kv_parts(m, precision, {from}, {to}))
    bytes[{part.from_rank, part.to_rank}] += part.token.value();
  return bytes;
}

double sum(const std::map<Ends, double>& bytes) {
  double all = 0;
  for (const auto& [ends, part] : bytes) all += part;
  return all;
}

}  // namespace

TEST_CASE("kv parts: every tensor rank of the receiver gets all 576 elements of a latent, from one sender") {
  const Architecture m = catalog_model("deepseek-r1");
  constexpr double layer = 576 * 2, all = 61 * layer;  // 70,272 B a token
  for (const int from : {1, 2, 4, 8, 16})
    for (const int to : {1, 2, 4, 8, 16}) {
      INFO(from << " to " << to);
      const auto parts = per_token(m, from, to);
      CHECK(parts.size() == static_cast<std::size_t>(to));
      for (const auto& [ends, bytes] : parts) {
        CHECK(bytes == all);
        CHECK(ends.first == ends.second * from / to);
      }
    }
  CHECK(sum(per_token(m, 8, 8, {DataType::fp8, DataType::fp8, DataType::fp8})) == 8 * all / 2);
}

TEST_CASE("kv parts: an indexer's key of 132 bytes goes with each latent") {
  CHECK(sum(per_token(catalog_model("glm-5"), 4, 2)) == 2 * 78 * (576 * 2 + 132));
}

TEST_CASE("kv parts: heads that are cut are sent once, replicated ones to each rank that has them") {
  const Architecture m = of_layers({heads(4)});
  constexpr double head = 2 * 128 * 2;  // K and V in 16 bits
  CHECK(per_token(m, 4, 4) ==
        std::map<Ends, double>{{{0, 0}, head}, {{1, 1}, head}, {{2, 2}, head}, {{3, 3}, head}});
  CHECK(per_token(m, 4, 2) ==
        std::map<Ends, double>{{{0, 0}, head}, {{1, 0}, head}, {{2, 1}, head}, {{3, 1}, head}});
  CHECK(per_token(m, 1, 2) == std::map<Ends, double>{{{0, 0}, 2 * head}, {{0, 1}, 2 * head}});
  const auto to_eight = per_token(m, 4, 8);  // two ranks for each head
  CHECK(sum(to_eight) == 8 * head);
  CHECK(to_eight.at({1, 2}) == head);
  CHECK(to_eight.at({1, 3}) == head);
  const auto of_eight = per_token(m, 8, 4);  // of two that have a head either sends half
  CHECK(sum(of_eight) == 4 * head);
  CHECK(of_eight.at({5, 2}) == head / 2);
  CHECK(per_token(of_layers({heads(1)}), 4, 2) == std::map<Ends, double>{{{0, 0}, head}, {{2, 1}, head}});
}

TEST_CASE("kv parts: windows and states are sent once a request, a rank's heads of them") {
  const LinearAttention linear{
      .key_heads = 4, .value_heads = 8, .key_dim = 128, .value_dim = 64, .convolution = 4};
  const Architecture m = of_layers({heads(2, 128), heads(2), linear});
  // A window: 128 tokens of two heads of K and V in 16 bits. A state: 8 heads of 128 x 64 in 32 bits, and
  // three tokens' q, k and v (2 x 4 x 128 + 8 x 64) in 16.
  constexpr double window = 128 * 2 * 2 * 128 * 2, state = 8 * 128 * 64 * 4 + 3 * 1536 * 2;
  for (const int to : {1, 2, 4}) {
    double token = 0, request = 0;
    for (const KvPart& part : kv_parts(m, {}, {2}, {to}))
      token += part.token.value(), request += part.request.value();
    const double copies = to == 4 ? 2 : 1;  // of the two heads
    CHECK(token == copies * 2 * 2 * 128 * 2);
    CHECK(request == copies * window + state);
  }
}

TEST_CASE("kv parts: each stage sends its own layers to the stages that have them") {
  const Architecture m = of_layers({heads(4), heads(4), heads(4), heads(4), heads(4), heads(4)});
  constexpr double layer = 4 * 2 * 128 * 2;
  std::map<Ends, double> stages;
  for (const KvPart& part : kv_parts(m, {}, {1, 2}, {2, 3}))
    stages[{part.from_stage, part.to_stage}] += part.token.value();
  CHECK(stages ==
        std::map<Ends, double>{{{0, 0}, 2 * layer}, {{0, 1}, layer}, {{1, 1}, layer}, {{1, 2}, 2 * layer}});
}

// A rank gets what it keeps, which is what it also moves to and from the tiers behind it.
TEST_CASE("kv parts: what each rank gets adds up to what it keeps, of any model cut in any two ways") {
  std::mt19937 random(7);
  for (const Architecture& m : catalog_and_random_models()) {
    const std::vector<Sharding> cuts = shardings(m);
    if (cuts.empty()) continue;
    const auto any = [&] { return cuts[random() % cuts.size()]; };
    const Sharding from = any(), to = any();
    INFO(m.name << ", " << to_string(from) << " to " << to_string(to));
    std::map<Ends, KvBytes> got;  // by stage and rank
    for (const KvPart& part : kv_parts(m, {}, from, to)) {
      got[{part.to_stage, part.to_rank}].token += part.token;
      got[{part.to_stage, part.to_rank}].request += part.request;
    }
    for (int stage = 0; stage < to.pipeline; ++stage)
      for (int rank = 0; rank < to.tensor; ++rank) {
        const KvBytes& bytes = got[{stage, rank}];  // nothing, where no layer keeps anything
        const double token = kv_bytes_per_token(m, {}, to, stage).value(),
                     request = kv_bytes_per_request(m, {}, to, stage).value();
        CHECK(bytes.token.value() == Approx(token).epsilon(1e-12));
        CHECK(bytes.request.value() == Approx(request).epsilon(1e-12));
      }
    CHECK(got.size() == static_cast<std::size_t>(to.pipeline * to.tensor));  // and nothing goes elsewhere
  }
}

}  // namespace weir::test::kv_parts_by_hand
