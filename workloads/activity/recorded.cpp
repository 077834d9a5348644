// Activity that was recorded: the profile is the file's own, its means and its correlations.
#include <fmt/format.h>

#include <algorithm>
#include <boost/random/uniform_int_distribution.hpp>

#include "sim/core/rng.h"
#include "workloads/activity/coactivation.h"
#include "workloads/activity/neuron_rows.h"
#include "workloads/traces/trace.h"

namespace weir {
namespace {

using SharedRecording = std::shared_ptr<const ActivityRecording>;

// From some token of the file on, and from its first again after the last.
class RecordedTokens final : public TokenActivity {
 public:
  RecordedTokens(SharedRecording recording, std::int64_t first_token)
      : recording_(std::move(recording)),
        next_token_(first_token),
        rows_(recording_->counts()),
        active_(rows_.size()) {}

  void next() override {
    std::ranges::fill(active_, std::uint8_t{0});
    for (std::int64_t layer = 0; layer < rows_.counts().layers; ++layer)
      for (const NeuronBlock block : neuron_blocks) {
        const auto active = rows_.row(active_, layer, block);
        for (const NeuronRun run : recording_->runs(next_token_, layer, block))
          std::fill(active.begin() + run.first, active.begin() + run.last + 1, std::uint8_t{1});
      }
    next_token_ = (next_token_ + 1) % recording_->tokens();
  }

  std::span<const std::uint8_t> active(std::int64_t layer, NeuronBlock block) const override {
    return rows_.row(active_, layer, block);
  }

 private:
  SharedRecording recording_;
  std::int64_t next_token_;
  NeuronRows rows_;
  std::vector<std::uint8_t> active_;
};

class RecordedSource final : public ActivitySource {
 public:
  explicit RecordedSource(SharedRecording recording)
      : recording_(std::move(recording)),
        rows_(recording_->counts()),
        frequency_(rows_.size()),
        parents_(rows_.size()) {
    for (const NeuronBlock block : neuron_blocks) {
      count(block);
      correlate(block);
    }
  }

  std::span<const float> frequency(std::int64_t layer, NeuronBlock block) const override {
    return rows_.row(frequency_, layer, block);
  }
  std::span<const NeuronParents> parents(std::int64_t layer, NeuronBlock block) const override {
    const auto of_layer = rows_.row(parents_, layer, block);
    return layer > 0 ? of_layer : std::span<const NeuronParents>();
  }
  std::unique_ptr<TokenActivity> sequence(std::uint64_t seed) const override {
    Rng rng = random_stream(seed, "recorded activity");
    const boost::random::uniform_int_distribution<std::int64_t> first_token(0, recording_->tokens() - 1);
    return std::make_unique<RecordedTokens>(recording_, first_token(rng));
  }

 private:
  void count(NeuronBlock block) {
    const float share = 1 / static_cast<float>(recording_->tokens());
    for (std::int64_t layer = 0; layer < rows_.counts().layers; ++layer) {
      const auto frequency = rows_.row(frequency_, layer, block);
      for (std::int64_t token = 0; token < recording_->tokens(); ++token)
        for (const NeuronRun run : recording_->runs(token, layer, block))
          for (auto i = run.first; i <= run.last; ++i) frequency[static_cast<std::size_t>(i)] += 1;
      for (float& f : frequency) f *= share;  // counts below 2^24 are exact
    }
  }

  void correlate(NeuronBlock block) {
    BlockHistory before(*recording_, 0, block);
    for (std::int64_t layer = 1; layer < rows_.counts().layers; ++layer) {
      BlockHistory own(*recording_, layer, block);
      std::ranges::copy(correlated_parents(before, own), rows_.row(parents_, layer, block).begin());
      before = std::move(own);
    }
  }

  SharedRecording recording_;
  NeuronRows rows_;
  std::vector<float> frequency_;
  std::vector<NeuronParents> parents_;
};

std::string in_words(const NeuronCounts& c) {
  return fmt::format("{} layers of {} attention and {} mlp neurons", c.layers, c.attention, c.mlp);
}

class RecordedActivity final : public NeuronActivity {
 public:
  explicit RecordedActivity(Params& params) {
    const auto path = params.path({"file", "the recording (docs/activity.md), relative to this file"});
    if (!path) return;
    path_ = path->string();
    try {
      recording_ = std::make_shared<ActivityRecording>(read_activity(read_text_file(path_), path_));
    } catch (const ConfigError& e) {
      for (const Problem& p : problems_at("file", e)) params.fail(p.pointer, p.what);
    }
  }

  bool read() const { return recording_ != nullptr; }

  std::unique_ptr<const ActivitySource> bind(const NeuronCounts& counts) const override {
    if (counts != recording_->counts())
      throw ConfigError(
          "", "/file",
          fmt::format("{}: expected a recording of what is followed, which has {}, got one of {}",
                      shortened(path_), in_words(counts), in_words(recording_->counts())));
    return std::make_unique<RecordedSource>(recording_);
  }

 private:
  std::string path_;
  SharedRecording recording_;
};

}  // namespace

std::shared_ptr<const NeuronActivity> make_recorded_activity(Params& params) {
  auto activity = std::make_shared<RecordedActivity>(params);
  return activity->read() ? activity : nullptr;
}

}  // namespace weir
