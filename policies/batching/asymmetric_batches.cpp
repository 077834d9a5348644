#include "policies/batching/asymmetric_batches.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

namespace weir {
namespace {

// Tokens of a step from which on its matrices take the longer the more there are: NEO's linr_S_threshold.
constexpr std::int64_t full_rows = 128;

class AsymmetricBatch {
 public:
  AsymmetricBatch(const StepTimes& times, int spare_channel)
      : times_(&times), spare_channel_(spare_channel) {}

  void set_own(const std::vector<DecodeContext>& own) {
    own_ = std::ssize(own);
    own_attention_ = times_->decode_attention(own);
    update_rows();
  }
  void set_prompts(const std::vector<PrefillChunk>& prompts) {
    prompts_ = prompts;
    update_prompts();
  }
  PrefillChunk pop_prompt() {
    const PrefillChunk last = prompts_.back();
    prompts_.pop_back();
    update_prompts();
    return last;
  }
  void add_prompt(const PrefillChunk& prompt) {
    prompts_.push_back(prompt);
    update_prompts();
  }
  void add_host(const DecodeContext& decode) {
    host_.push_back(decode);
    host_tokens_ += decode.tokens;
    attended_.reset();
    update_rows();
  }
  void pop_host() {
    host_tokens_ -= host_.back().tokens;
    host_.pop_back();
    attended_.reset();
    update_rows();
  }

  std::int64_t requests() const { return std::ssize(prompts_) + own_ + std::ssize(host_); }
  std::size_t prompts() const { return prompts_.size(); }
  bool ends_in_host() const { return !prompts_.empty() && prompts_.back().channel != spare_channel_; }
  std::int64_t rows() const { return prompt_tokens_ + own_ + std::ssize(host_); }
  std::int64_t stored() const { return stored_; }
  Seconds matrices() const { return matrices_; }
  Seconds attention() const { return prompt_attention_ + own_attention_; }
  Seconds gpu() const { return matrices_ + attention(); }
  // Its decodes in the host's memory, beside so many tokens of the other's prompts that go there.
  Seconds host(std::int64_t stored) const {
    if (!attended_ || stored != beside_)
      attended_ = times_->offloaded({std::ssize(host_), host_tokens_, beside_ = stored, host_});
    return *attended_;
  }

 private:
  void update_prompts() {
    prompt_tokens_ = stored_ = 0;
    for (const PrefillChunk& prompt : prompts_) {
      prompt_tokens_ += prompt.tokens;
      if (prompt.channel != spare_channel_) stored_ += prompt.tokens;
    }
    prompt_attention_ = prompts_.empty() ? Seconds(0) : times_->prefill_attention(prompts_);
    update_rows();
  }
  void update_rows() { matrices_ = times_->batched(prompt_tokens_, own_ + std::ssize(host_)); }

  const StepTimes* times_;
  int spare_channel_;
  std::vector<PrefillChunk> prompts_;
  std::vector<DecodeContext> host_;
  std::int64_t own_ = 0, prompt_tokens_ = 0, stored_ = 0, host_tokens_ = 0;
  Seconds matrices_{0}, prompt_attention_{0}, own_attention_{0};
  mutable std::optional<Seconds> attended_;  // asked for again and again
  mutable std::int64_t beside_ = 0;
};

// The GPU's time beside a sub-batch's decodes on the host, less theirs: below 0 it would wait for them.
Seconds slack(const AsymmetricBatch& of, const AsymmetricBatch& other) {
  return other.matrices() + of.attention() - of.host(other.stored());
}

// Prompts bound for the host bring the GPU nothing yet: beyond full_rows they only make a step longer.
template <class Wanted>
void trim(AsymmetricBatch& batch, const Wanted& wanted) {
  while (batch.ends_in_host()) {
    const PrefillChunk last = batch.pop_prompt();
    if (batch.rows() >= full_rows && !wanted()) continue;
    batch.add_prompt(last);
    return;
  }
}

// The longer a decode the more it takes: none joins that is as long as one that did not fit.
std::vector<std::int8_t> join_host(AsymmetricBatch (&two)[2], const AsymmetricCandidates& candidates) {
  std::vector<std::int8_t> joined(candidates.host.size(), -1);
  std::int64_t too_long = std::numeric_limits<std::int64_t>::max(), left = candidates.most_host;
  int next = 1;
  for (std::size_t i = 0; i < candidates.host.size() && left > 0; ++i) {
    const DecodeContext& decode = candidates.host[i];
    if (decode.tokens >= too_long) continue;
    two[next].add_host(decode);
    const Seconds first = slack(two[0], two[1]), second = slack(two[1], two[0]);
    if (std::min(first, second) < Seconds(0)) {
      too_long = decode.tokens;
      two[next].pop_host();
      continue;
    }
    joined[i] = static_cast<std::int8_t>(next);
    --left;
    next = second > first;
  }
  return joined;
}

}  // namespace

AsymmetricBatches form_asymmetric_batches(const StepTimes& times, const AsymmetricCandidates& candidates) {
  AsymmetricBatch alone(times, candidates.spare_channel);
  alone.set_own(candidates.own);
  alone.set_prompts(candidates.prompts);
  AsymmetricBatch two[2] = {alone, AsymmetricBatch(times, candidates.spare_channel)};
  trim(alone, [] { return false; });
  std::vector<std::int8_t> host = join_host(two, candidates);
  trim(two[0], [&] { return std::min(slack(two[0], two[1]), slack(two[1], two[0])) < Seconds(0); });
  const auto rate = [](std::int64_t requests, Seconds time) {
    return static_cast<double>(requests) / time.value();
  };
  const bool pays =
      two[1].requests() > 0 && rate(two[0].requests() + two[1].requests(), two[0].gpu() + two[1].gpu()) >
                                   rate(alone.requests(), alone.gpu());
  return {pays, (pays ? two[0] : alone).prompts(), std::move(host)};
}

}  // namespace weir
