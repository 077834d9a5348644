#include "policies/batching/predict/learned_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/container/small_vector.hpp>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "policies/batching/predict/regression.h"

namespace weir {
namespace {

using Features = std::vector<double>;

class MeanError {
 public:
  void add(double predicted, double real) {
    sum_ += std::abs(real - predicted) / real;
    ++count_;
  }
  std::optional<double> percent() const {
    return count_ > 0 ? std::optional(100 * sum_ / static_cast<double>(count_)) : std::nullopt;
  }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

class Operation {
 public:
  Operation(const Training& training, Fit* fit) : training_(training), fit_(fit) {}

  bool trained() const { return model_ != nullptr; }

  std::string lacking(const char* name) const {
    return trained() ? "" : fmt::format(", {} of {} of {}", seen_, training_.enough, name);
  }

  Seconds predict(const Features& work) const {
    if (!model_) throw std::logic_error("a time is asked of a model that has not seen enough batches");
    return Seconds((*model_)(work));
  }

  void observe(const Features& work, Seconds took) {
    if (!(took > Seconds(0)) || !std::isfinite(took.value()))
      throw std::invalid_argument("a batch was measured to take no time");
    if (model_) error_.add((*model_)(work), took.value());
    remember(work, took.value());
    const std::size_t due = model_ ? std::min(trained_at_, training_.renewal) : training_.enough;
    if (seen_ - trained_at_ < due) return;
    model_ = fit_(samples_);
    trained_at_ = seen_;
  }

  std::optional<double> error() const { return error_.percent(); }

  std::optional<double> held_out_error(std::uint64_t seed) const {
    const std::size_t all = samples_.work.size(), train = all * 8 / 10;
    if (train == 0) return std::nullopt;
    const std::vector<std::size_t> order = shuffled(all, seed);
    Samples seen;
    for (std::size_t i = 0; i < train; ++i) {
      seen.work.push_back(samples_.work[order[i]]);
      seen.seconds.push_back(samples_.seconds[order[i]]);
    }
    const auto model = fit_(seen);
    MeanError error;
    for (std::size_t i = train; i < all; ++i)
      error.add((*model)(samples_.work[order[i]]), samples_.seconds[order[i]]);
    return error.percent();
  }

 private:
  void remember(const Features& work, double seconds) {
    if (samples_.work.size() < training_.batches) {
      samples_.work.push_back(work);
      samples_.seconds.push_back(seconds);
    } else {
      samples_.work[seen_ % training_.batches] = work;
      samples_.seconds[seen_ % training_.batches] = seconds;
    }
    ++seen_;
  }

  // Not std::shuffle, whose order is each library's own.
  static std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
    std::vector<std::size_t> order(count);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::mt19937_64 random(seed);
    for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    return order;
  }

  Training training_;
  Fit* fit_;
  Samples samples_;
  std::unique_ptr<const Regression> model_;
  std::size_t seen_ = 0, trained_at_ = 0;
  MeanError error_;
};

// FlashAttention's time is made of these: pairs of query and key; the same in whole tiles of 128 query rows,
// its own; keys and values read; the tile that has most to read; the rows of all, whose waves of tiles end
// unfilled, and the chunks, each of which is padded. Without the last three, mean errors of its three grids
// are 1.9, 5.3 and 7.2 %, without the last two 1.7, 1.6 and 3.9 %; of an A100's on the hundred tokens of each
// of OpenR1's prompts 6.1 % without the last two and 2.0 % with them.
Features attention_features(std::span<const PrefillChunk> chunks) {
  double pairs = 0, tiled = 0, keys = 0, longest = 0, queries = 0;
  for (const PrefillChunk& chunk : chunks) {
    const double rows = static_cast<double>(chunk.tokens), context = static_cast<double>(chunk.context);
    pairs += rows * (context + rows / 2);
    tiled += std::ceil(rows / 128) * 128 * (context + rows / 2);
    keys += context + rows;
    queries += rows;
    longest = std::max(longest, context + rows);
  }
  return {pairs, tiled, keys, longest, queries, static_cast<double>(chunks.size())};
}

// Rows are what GEMMs see; decodes tell the LM head's rows and what is sent to the offloaded attention.
Features batched_features(std::int64_t prompt_tokens, std::int64_t decodes) {
  return {static_cast<double>(prompt_tokens + decodes), static_cast<double>(decodes)};
}

// One rankset's share of a sub-batch's decodes.
struct Share {
  double tokens = 0, decodes = 0;
};

Share fullest_rankset(std::span<const DecodeContext> contexts) {
  boost::container::small_vector<Share, 32> ranksets;
  for (const DecodeContext& decode : contexts) {
    const auto at = static_cast<std::size_t>(decode.channel);
    if (ranksets.size() <= at) ranksets.resize(at + 1);
    ranksets[at].tokens += static_cast<double>(decode.tokens);
    ++ranksets[at].decodes;
  }
  return ranksets.empty() ? Share() : *std::ranges::max_element(ranksets, {}, &Share::tokens);
}

// Equation 5 has the tokens of all decodes, how many these are and what is stored. Beyond the paper: a
// sub-batch takes as long as its fullest rankset, and placement leaves them uneven, so that one's tokens and
// decodes stand beside them. Contexts that are not given lie evenly: every rankset's share is one of all.
Features offloaded_features(const OffloadedWork& work) {
  const Share fullest = fullest_rankset(work.contexts);
  return {static_cast<double>(work.context_sum),
          static_cast<double>(work.decodes),
          static_cast<double>(work.prompt_tokens),
          1.0,
          fullest.tokens,
          fullest.decodes};
}

Features own_decode_features(std::span<const DecodeContext> own) {
  double tokens = 0;
  for (const DecodeContext& decode : own) tokens += static_cast<double>(decode.tokens);
  return {tokens, static_cast<double>(own.size()), 1.0};
}

bool nothing(const OffloadedWork& work) {
  return work.decodes == 0 && work.prompt_tokens == 0;
}

}  // namespace

struct LearnedTimes::Models {
  Operation prefill_attention, batched, offloaded, decode_attention;
};

LearnedTimes::LearnedTimes(const Training& training) {
  if (training.batches == 0 || training.enough == 0 || training.renewal == 0)
    throw std::invalid_argument("models are trained on at least one batch, after at least one");
  models_.reset(new Models{{training, random_forest},
                           {training, random_forest},
                           {training, least_squares},
                           {training, least_squares}});
}

LearnedTimes::~LearnedTimes() = default;

bool LearnedTimes::trained() const {
  return models_->prefill_attention.trained() && models_->batched.trained() && models_->offloaded.trained();
}

std::string LearnedTimes::lacking() const {
  const std::string all = models_->prefill_attention.lacking("attention of prompts") +
                          models_->batched.lacking("matrices") +
                          models_->offloaded.lacking("what is offloaded");
  return all.empty() ? "" : all.substr(2);
}

bool LearnedTimes::trained_on_own_decodes() const {
  return models_->decode_attention.trained();
}

Seconds LearnedTimes::prefill_attention(std::span<const PrefillChunk> chunks) const {
  return chunks.empty() ? Seconds(0) : models_->prefill_attention.predict(attention_features(chunks));
}

Seconds LearnedTimes::batched(std::int64_t prompt_tokens, std::int64_t decodes) const {
  if (prompt_tokens + decodes == 0) return Seconds(0);
  return models_->batched.predict(batched_features(prompt_tokens, decodes));
}

Seconds LearnedTimes::offloaded(const OffloadedWork& work) const {
  return nothing(work) ? Seconds(0) : models_->offloaded.predict(offloaded_features(work));
}

Seconds LearnedTimes::decode_attention(std::span<const DecodeContext> own) const {
  return own.empty() ? Seconds(0) : models_->decode_attention.predict(own_decode_features(own));
}

void LearnedTimes::observe_prefill_attention(std::span<const PrefillChunk> chunks, Seconds took) {
  if (!chunks.empty()) models_->prefill_attention.observe(attention_features(chunks), took);
}

void LearnedTimes::observe_batched(std::int64_t prompt_tokens, std::int64_t decodes, Seconds took) {
  if (prompt_tokens + decodes > 0) models_->batched.observe(batched_features(prompt_tokens, decodes), took);
}

void LearnedTimes::observe_offloaded(const OffloadedWork& work, Seconds took) {
  if (!nothing(work)) models_->offloaded.observe(offloaded_features(work), took);
}

void LearnedTimes::observe_decode_attention(std::span<const DecodeContext> own, Seconds took) {
  if (!own.empty()) models_->decode_attention.observe(own_decode_features(own), took);
}

PredictionErrors LearnedTimes::errors() const {
  return {models_->prefill_attention.error(), models_->batched.error(), models_->offloaded.error(),
          models_->decode_attention.error()};
}

PredictionErrors LearnedTimes::held_out_errors(std::uint64_t seed) const {
  return {models_->prefill_attention.held_out_error(seed), models_->batched.held_out_error(seed),
          models_->offloaded.held_out_error(seed), models_->decode_attention.held_out_error(seed)};
}

}  // namespace weir
