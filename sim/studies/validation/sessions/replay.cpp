#include "sim/studies/validation/sessions/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

#include "sim/studies/validation/sessions/beginnings.h"
#include "sim/studies/validation/sessions/lanes.h"

namespace weir {
namespace {

// The histories that agents were primed with lack what they had said last.
constexpr std::int64_t unprimed_tokens = 1024;
// A request that had not ended when the run did, behind a lane's last one that is on record.
constexpr std::int64_t filler_more_tokens = 600, filler_output_tokens = 900;
constexpr double filler_gap_s = 9;

template <class Number>
Number median(std::vector<Number> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// Fisher and Yates with a generator that the standard defines to the bit.
void shuffle(std::vector<std::size_t>& places, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (std::size_t left = places.size(); left > 1; --left)
    std::swap(places[left - 1], places[random() % left]);
}

class ReplayBuilder {
 public:
  explicit ReplayBuilder(const RecordedRun& run) : run_(run), all_(run.requests), lanes_(lanes_of(run)) {}

  std::vector<ReplayRow> build(std::uint64_t seed) {
    find_histories();
    prime(seed);
    record();
    fill();
    return std::move(rows_);
  }

 private:
  // Places in histories_ beyond the requests are lanes of which nothing is on record.
  std::size_t unrecorded_lanes() const {
    const auto lanes = static_cast<std::size_t>(run_.lanes);
    return lanes > lanes_.last.size() ? lanes - lanes_.last.size() : 0;
  }

  void find_histories() {
    std::map<std::string, char> seen;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (seen.try_emplace(all_[i].conversation).second && lanes_.at_start[i] && all_[i].turn > 0)
        histories_.push_back(i);
    for (std::size_t k = 0; k < unrecorded_lanes(); ++k) histories_.push_back(all_.size() + k);
    std::vector<std::int64_t> inputs, outputs;
    for (const RecordedRequest& request : all_) {
      inputs.push_back(request.input_tokens);
      outputs.push_back(request.output_tokens);
    }
    typical_.input_tokens = median(inputs);
    typical_.output_tokens = median(outputs);
  }

  std::int64_t input_of(std::size_t history) const {
    return history < all_.size() ? all_[history].input_tokens : typical_.input_tokens;
  }

  void prime(std::uint64_t seed) {
    std::erase_if(histories_, [&](std::size_t history) { return input_of(history) <= unprimed_tokens; });
    shuffle(histories_, seed);
    for (const std::size_t history : histories_) {
      primer_of_[history] = rows_.size();
      ReplayRow row{.session = "history",
                    .turn = static_cast<std::int64_t>(rows_.size()),
                    .input_tokens = input_of(history) - unprimed_tokens};
      if (!rows_.empty()) row.after = {rows_.size() - 1};
      rows_.push_back(std::move(row));
    }
    first_ = rows_.size();
  }

  // Comes so long after the start, which is when the last history has been computed.
  void from_start(ReplayRow& row, double time_s) const {
    row.gap_s = time_s;
    if (first_ > 0) row.after = {first_ - 1};
  }

  void begin_with_history(ReplayRow& row, std::size_t history) const {
    const auto primer = primer_of_.find(history);
    if (primer == primer_of_.end()) return;
    row.begins_with = primer->second;
    row.shared_tokens = input_of(history) - unprimed_tokens;
  }

  void record() {
    const std::vector<Beginning> beginning = beginnings(run_);
    struct Passes {
      std::int64_t last = -1;
      int count = 0;
    };
    std::map<std::string, Passes> passes;
    for (std::size_t i = 0; i < all_.size(); ++i) {
      Passes& pass = passes[all_[i].conversation];
      if (all_[i].turn <= pass.last) ++pass.count;
      pass.last = all_[i].turn;
      ReplayRow row{.session = all_[i].conversation + (pass.count > 0 ? fmt::format("#{}", pass.count) : ""),
                    .turn = all_[i].turn,
                    .gap_s = lanes_.waits[i].gap_s,
                    .input_tokens = all_[i].input_tokens,
                    .output_tokens = all_[i].output_tokens,
                    .recorded = i};
      for (const std::size_t before : lanes_.waits[i].after) row.after.push_back(first_ + before);
      if (row.after.empty()) from_start(row, all_[i].start_s);
      if (beginning[i].request && beginning[i].tokens > 0) {
        row.begins_with = first_ + *beginning[i].request;
        row.shared_tokens = beginning[i].tokens;
      } else if (!beginning[i].request) {
        begin_with_history(row, i);
      }
      rows_.push_back(std::move(row));
    }
  }

  void fill() {
    const double end_s = run_.end_s();
    std::int64_t turn = 0;
    for (const std::size_t last : lanes_.last)
      if (all_[last].end_s + filler_gap_s < end_s)
        rows_.push_back({.session = "unfinished",
                         .turn = turn++,
                         .after = {first_ + last},
                         .gap_s = filler_gap_s,
                         .input_tokens = all_[last].input_tokens + filler_more_tokens,
                         .output_tokens = filler_output_tokens,
                         .begins_with = first_ + last,
                         .shared_tokens = kept_of(all_[last].input_tokens)});
    std::vector<double> starts;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (lanes_.waits[i].after.empty()) starts.push_back(all_[i].start_s);
    for (std::size_t k = 0; k < unrecorded_lanes(); ++k) {
      ReplayRow row{.session = "unfinished",
                    .turn = turn++,
                    .input_tokens = typical_.input_tokens,
                    .output_tokens = typical_.output_tokens};
      from_start(row, median(starts));
      begin_with_history(row, all_.size() + k);
      rows_.push_back(std::move(row));
    }
  }

  const RecordedRun& run_;
  const std::vector<RecordedRequest>& all_;
  const Lanes lanes_;
  RecordedRequest typical_;             // of the run's requests
  std::vector<std::size_t> histories_;  // whose first request begins in the middle of a conversation
  std::map<std::size_t, std::size_t> primer_of_;
  std::size_t first_ = 0;  // row of the first recorded request
  std::vector<ReplayRow> rows_;
};

}  // namespace

std::vector<ReplayRow> replay_rows(const RecordedRun& run, std::uint64_t seed) {
  return ReplayBuilder(run).build(seed);
}

std::string sessions_csv(const std::vector<ReplayRow>& rows) {
  std::string text =
      "session_id,turn,start_s,after,gap_s,input_tokens,output_tokens,shares_with,shared_tokens,measured\n";
  for (const ReplayRow& row : rows) {
    std::string after;
    for (const std::size_t before : row.after) after += (after.empty() ? "" : " ") + rows[before].name();
    // A row that waits for none comes at a time.
    const std::string start = row.after.empty() ? fmt::format("{:.4f}", row.gap_s) : "";
    const std::string gap = row.after.empty() ? "" : fmt::format("{:.4f}", row.gap_s);
    text +=
        fmt::format("{},{},{},{},{},{},{},{},{},{}\n", row.session, row.turn, start, after, gap,
                    row.input_tokens, row.output_tokens, row.begins_with ? rows[*row.begins_with].name() : "",
                    row.shared_tokens, row.recorded ? 1 : 0);
  }
  return text;
}

}  // namespace weir
