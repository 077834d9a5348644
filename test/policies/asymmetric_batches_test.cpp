// NEO's choice of a step's batches, against its rules written down a second time, sums and all, and by hand.
#include <catch2/catch.hpp>

#include "policies/batching/asymmetric_batches.h"
#include "test/policies/adaptive_state.h"

using namespace weir;
using test::Times;

namespace {

constexpr int host = 0, own = 1;

struct Plain {  // a sub-batch
  std::vector<PrefillChunk> prompts;
  std::vector<DecodeContext> own, host;
};

double tokens_of(const std::vector<DecodeContext>& decodes) {
  double tokens = 0;
  for (const DecodeContext& decode : decodes) tokens += static_cast<double>(decode.tokens);
  return tokens;
}

class PlainTimes {
 public:
  explicit PlainTimes(const Times& t) : t_(t) {}
  double rows(const Plain& b) const {
    double sum = static_cast<double>(b.own.size() + b.host.size());
    for (const PrefillChunk& p : b.prompts) sum += static_cast<double>(p.tokens);
    return sum;
  }
  double attention(const Plain& b) const {
    double sum = t_.read * tokens_of(b.own);
    for (const PrefillChunk& p : b.prompts)
      sum += t_.pair * static_cast<double>(p.tokens) * static_cast<double>(p.context + p.tokens / 2);
    return sum;
  }
  double gpu(const Plain& b) const { return t_.row * rows(b) + attention(b); }
  // The GPU beside the host's part of `b`, less that.
  double slack(const Plain& b, const Plain& other) const {
    double stored = 0;
    for (const PrefillChunk& p : other.prompts)
      stored += p.channel == host ? static_cast<double>(p.tokens) : 0;
    return t_.row * rows(other) + attention(b) - t_.attended * tokens_of(b.host) - t_.stored * stored;
  }
  double least_slack(const Plain& a, const Plain& b) const { return std::min(slack(a, b), slack(b, a)); }

 private:
  const Times& t_;
};

double requests(const Plain& b) {
  return static_cast<double>(b.prompts.size() + b.own.size() + b.host.size());
}

AsymmetricBatches plainly(const Times& times, const AsymmetricCandidates& c) {
  const PlainTimes t(times);
  Plain alone{c.prompts, c.own, {}}, first = alone, second;
  const auto without_last = [](Plain b) {
    b.prompts.pop_back();
    return b;
  };
  const auto may_go = [&](const Plain& b) {
    return !b.prompts.empty() && b.prompts.back().channel == host && t.rows(without_last(b)) >= 128;
  };
  while (may_go(alone)) alone = without_last(alone);
  std::vector<std::int8_t> joined(c.host.size(), -1);
  std::int64_t longest = test::many, left = c.most_host;
  bool to_second = true;
  for (std::size_t i = 0; i < c.host.size() && left > 0; ++i) {
    if (c.host[i].tokens >= longest) continue;
    Plain a = first, b = second;
    (to_second ? b : a).host.push_back(c.host[i]);
    if (t.least_slack(a, b) < 0) {
      longest = c.host[i].tokens;
      continue;
    }
    first = a, second = b, joined[i] = to_second, --left;
    to_second = t.slack(b, a) > t.slack(a, b);
  }
  while (may_go(first) && t.least_slack(without_last(first), second) >= 0) first = without_last(first);
  const double two = (requests(first) + requests(second)) / (t.gpu(first) + t.gpu(second)),
               one = requests(alone) / t.gpu(alone);
  const bool pays = !second.host.empty() && two > one;
  return {pays, (pays ? first : alone).prompts.size(), joined};
}

// Of which sums are exact, whatever their order.
Times exact_times() {
  Times times;
  times.row = 1, times.pair = 1. / 8192, times.stored = 1. / 8, times.attended = 1. / 64,
  times.read = 1. / 256;
  return times;
}

AsymmetricCandidates random_candidates(Dice& dice) {
  AsymmetricCandidates c;
  c.spare_channel = own;
  const std::int64_t longest = dice(2, 4000), prompts = dice(0, 1) ? dice(0, 8) : 0, kept = dice(0, prompts);
  for (std::int64_t i = 0; i < prompts; ++i)
    c.prompts.push_back({2 * dice(1, 200), 2 * dice(0, 100), i < kept ? own : host});
  for (std::int64_t i = dice(prompts == 0, 200); i > 0; --i) c.own.push_back({dice(1, longest), own});
  for (std::int64_t i = dice(0, 60); i > 0; --i) c.host.push_back({dice(1, longest), host});
  c.most_host = dice(0, 100);
  return c;
}

std::int64_t joined(const AsymmetricBatches& batches, int sub_batch) {
  return std::ranges::count(batches.host, static_cast<std::int8_t>(sub_batch));
}

}  // namespace

TEST_CASE("asymmetric batches: they are what NEO's rules, carried out plainly, give", "[asymmetric]") {
  const Times times = exact_times();
  int two = 0, alone = 0, held_back = 0;
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Dice dice(seed);
    const AsymmetricCandidates candidates = random_candidates(dice);
    const AsymmetricBatches formed = form_asymmetric_batches(times, candidates);
    INFO("seed " << seed);
    REQUIRE(formed == plainly(times, candidates));
    formed.two ? ++two : ++alone;
    held_back += formed.prompts < candidates.prompts.size();
  }
  CHECK(two > 500);
  CHECK(alone > 200);
  CHECK(held_back > 200);
}

TEST_CASE("asymmetric batches: the host's decodes join as long as the GPU hides them", "[asymmetric]") {
  AsymmetricCandidates candidates;
  candidates.spare_channel = own;
  candidates.own.assign(100, {1000, own});
  candidates.host.assign(60, {1000, host});
  candidates.most_host = 60;
  // The GPU: 1 a row and 500 of attention, beside which the first sub-batch's are attended to, 20 each: 25 of
  // them. The second's have the first's rows: 6 in 125.
  const AsymmetricBatches formed = form_asymmetric_batches(Times(), candidates);
  CHECK(formed.two);
  CHECK(joined(formed, 0) == 25);
  CHECK(joined(formed, 1) == 6);
  // Eight that a slower host has time for are not worth reading the weights once more: 108 in 1,608, against
  // 100 in 1,100.
  Times weights;
  weights.weights = 500, weights.attended = 0.2;
  CHECK_FALSE(form_asymmetric_batches(weights, candidates).two);
}

TEST_CASE("asymmetric batches: prompts for the host are held back where the GPU's rows are full",
          "[asymmetric]") {
  AsymmetricCandidates candidates;
  candidates.spare_channel = own;
  candidates.prompts.assign(3, {100, 0, host});
  CHECK(form_asymmetric_batches(Times(), candidates).prompts == 2);  // 200 rows; 100 would be too few
  candidates.prompts.assign(3, {100, 0, own});
  CHECK(form_asymmetric_batches(Times(), candidates).prompts == 3);
}
