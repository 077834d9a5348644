#pragma once
// How the tokens of a step fall on the experts of a layer and on the ranks that hold them. Called by devices/
// for each grouped GEMM and by whoever prices the exchange of tokens between ranks; pure, and after its
// construction constant: one object serves all threads.
#include <compare>
#include <cstdint>
#include <vector>

namespace weir {

struct ExpertShape {
  std::int64_t here = 0, active = 0, total = 0;  // experts on this rank; of a token; in the layer
};

// The fullest of the ranks has this to do; the others wait for it. Under skew the rank with the most copies
// need not be the one that reads the most weights; both maxima are here.
struct RankLoad {
  double copies = 0;     // of tokens, one for each expert that a token goes to
  double hit = 0;        // experts that at least one token goes to
  double imbalance = 1;  // copies over their mean over the ranks
};

// How many of `here` experts at least one of the tokens is routed to, when each chooses `active` of `total`
// at random.
double expected_active_experts(const ExpertShape& experts, double tokens);
// Routers balance: every rank has the same share of the layer's `tokens` x active copies. Measured servers
// fit this (docs/accuracy.md).
RankLoad even_load(const ExpertShape& experts, double tokens);

// Which experts' weights each rank holds; an expert that lies on several ranks shares its tokens evenly
// among them.
struct ExpertPlacement {
  std::vector<std::vector<int>> ranks;  // the expert in each slot of each rank
  std::vector<int> copies;              // of each expert: 1 + its redundant ones
};

// DeepSeek's EPLB (github.com/deepseek-ai/EPLB): a redundant copy goes to the expert with the most tokens a
// copy, one after another; then slots, the heaviest first, go to the emptiest rank that still has a free one.
// Slots are dealt out as evenly as they divide. No load may be negative; at least one rank.
ExpertPlacement place_greedily(const std::vector<double>& loads, int ranks, int redundant);
// Without a balancer: experts in their order, as evenly as they divide.
ExpertPlacement place_in_order(int experts, int ranks);

enum class ExpertDistribution { uniform, power_law };

struct ExpertLoadSpec {
  int experts = 1, active = 1;  // in the layer; of a token
  int ranks = 1;                // that share them
  int redundant = 0;            // copies beside the experts themselves, over all ranks
  ExpertDistribution distribution = ExpertDistribution::uniform;
  double exponent = 1.2;  // of the power law; at least 0
  std::uint64_t seed = 1;

  bool operator==(const ExpertLoadSpec&) const = default;
};

// Where loads are skewed, the popularity of experts is drawn for several layers of their own (popular experts
// lie elsewhere in each), and a load is the mean over them: that is what a step of many layers waits for. The
// shape of the law is that of AIConfigurator's collector (collector/helper.py, sample_power_law and
// _generate_power_law_distribution, systems data 095f58a): densities x^-exponent between 1 and 0.8 tokens,
// and over a range of 200 where tokens are few; no expert has more copies than there are tokens.
class ExpertLoads {
 public:
  explicit ExpertLoads(const ExpertLoadSpec& spec);
  // `tokens` of all ranks together, of one step; not negative.
  RankLoad fullest(double tokens) const;
  // Slots of a rank, the fullest where they do not divide: whose weights it holds.
  int slots_per_rank() const;
  const ExpertLoadSpec& spec() const { return spec_; }

 private:
  struct Point {  // at a power of two of tokens
    double copies = 0, hit = 0;
  };

  RankLoad even(double tokens) const;

  ExpertLoadSpec spec_;
  std::vector<Point> points_;  // by the power; empty where routers balance
};

// The same object for the same spec, made once in the process.
const ExpertLoads& expert_loads(const ExpertLoadSpec& spec);

}  // namespace weir
