#include "workloads/activity/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "workloads/traces/trace.h"

namespace weir {
namespace {

constexpr std::string_view counts_header = "layers,attention,mlp", rows_header = "token,layer,block,neurons";
// More than any model has (llama3.1-405b: 126 layers of 16,384 and 53,248, 8.8 M in all); what is read is
// expanded to some ten bytes a neuron.
constexpr std::int64_t most_layers = 10'000, most_of_block = 1'000'000, most_neurons = 1 << 25;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

// Takes what is before the separator, or all, off the text.
std::string_view cut(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view before = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return before;
}

// The lines that are not blank, without their ends.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  std::size_t number() const { return number_; }

  bool next(std::string_view& line) {
    while (!rest_.empty()) {
      line = cut(rest_, '\n');
      ++number_;
      while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
      if (!line.empty()) return true;
    }
    return false;
  }

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
};

std::int64_t lines_left(Lines lines) {
  std::string_view line;
  std::int64_t count = 0;
  while (lines.next(line)) ++count;
  return count;
}

constexpr const char* name_of(NeuronBlock block) {
  return block == NeuronBlock::attention ? "attention" : "mlp";
}

// Of a row, in the order of token, layer and block.
std::size_t place_of(std::int64_t token, std::int64_t layer, NeuronBlock block, const NeuronCounts& counts) {
  return static_cast<std::size_t>((token * counts.layers + layer) * 2) + static_cast<std::size_t>(block);
}

class RecordingReader {
 public:
  explicit RecordingReader(std::string_view text) : lines_(text) {}

  ActivityRecording read(const std::string& file) {
    if (read_header()) {
      const std::int64_t rows = lines_left(lines_), rows_of_token = 2 * counts_.layers;
      if (rows == 0) problems_.add(0, "holds no token");
      tokens_ = (rows + rows_of_token - 1) / rows_of_token;
      rows_.resize(static_cast<std::size_t>(tokens_ * rows_of_token));
      for (std::string_view line; lines_.next(line);) read_row(line);
      find_missing();
    }
    problems_.finish(file);
    return {counts_, std::move(rows_), std::move(runs_)};
  }

 private:
  void problem(std::string what) { problems_.add(lines_.number(), std::move(what)); }

  bool expect(std::string_view header) {
    std::string_view line;
    if (lines_.next(line) && line == header) return true;
    problem(fmt::format("expected the line {}, got {}", header, printable(line)));
    return false;
  }

  std::optional<std::int64_t> number(std::string_view name, std::string_view text, std::int64_t least,
                                     std::int64_t most) {
    const auto value = whole_number(text);
    if (value && *value >= least && *value <= most) return value;
    problem(
        fmt::format("{}: expected a whole number from {} to {}, got {}", name, least, most, printable(text)));
    return {};
  }

  bool read_header() {
    if (!expect(counts_header)) return false;
    std::string_view line;
    lines_.next(line);
    std::string_view rest = line;
    const auto layers = number("layers", cut(rest, ','), 1, most_layers);
    const auto attention = number("attention", cut(rest, ','), 1, most_of_block);
    const auto mlp = number("mlp", rest, 1, most_of_block);
    if (!layers || !attention || !mlp) return false;
    if (*layers * (*attention + *mlp) > most_neurons) {
      problem(fmt::format("expected at most {} neurons in all, got {}", most_neurons,
                          *layers * (*attention + *mlp)));
      return false;
    }
    counts_ = {*layers, *attention, *mlp};
    return expect(rows_header);
  }

  void read_row(std::string_view line) {
    if (const auto commas = std::ranges::count(line, ','); commas != 3)
      return problem(fmt::format("expected 4 fields, got {}: {}", commas + 1, printable(line)));
    const auto token = number("token", cut(line, ','), 0, tokens_ - 1);
    const auto layer = number("layer", cut(line, ','), 0, counts_.layers - 1);
    const auto block = block_named(cut(line, ','));
    if (!token || !layer || !block) return;
    ActivityRecording::Row& row = rows_[place_of(*token, *layer, *block, counts_)];
    if (row.line > 0)
      return problem(fmt::format("token {}, layer {}, {} has line {} already", *token, *layer,
                                 name_of(*block), row.line));
    row.line = lines_.number();
    row.begin = runs_.size();
    read_neurons(line, counts_.of(*block));
    row.end = runs_.size();
  }

  std::optional<NeuronBlock> block_named(std::string_view text) {
    for (const NeuronBlock block : neuron_blocks)
      if (text == name_of(block)) return block;
    problem(fmt::format("block: expected attention or mlp, got {}", printable(text)));
    return {};
  }

  void read_neurons(std::string_view text, std::int64_t neurons) {
    for (std::int64_t before = -1; !text.empty();) {
      const std::string_view item = cut(text, ' ');
      if (item.empty()) continue;
      std::string_view to = item;
      const auto first = whole_number(cut(to, '-'));
      const auto last = item.find('-') == item.npos ? first : whole_number(to);
      if (!first || !last || *first <= before || *last < *first || *last >= neurons)
        return problem(
            fmt::format("neurons: expected ascending numbers below {}, or ranges of them such as 3-7, got {}",
                        neurons, printable(item)));
      runs_.push_back({static_cast<std::int32_t>(*first), static_cast<std::int32_t>(*last)});
      before = *last;
    }
  }

  void find_missing() {
    for (std::int64_t token = 0; token < tokens_; ++token)
      for (std::int64_t layer = 0; layer < counts_.layers; ++layer)
        for (const NeuronBlock block : neuron_blocks)
          if (rows_[place_of(token, layer, block, counts_)].line == 0)
            problems_.add(0,
                          fmt::format("has no line of token {}, layer {}, {}", token, layer, name_of(block)));
  }

  Lines lines_;
  LineProblems problems_;
  NeuronCounts counts_;
  std::int64_t tokens_ = 0;
  std::vector<ActivityRecording::Row> rows_;
  std::vector<NeuronRun> runs_;
};

}  // namespace

ActivityRecording::ActivityRecording(const NeuronCounts& counts, std::vector<Row> rows,
                                     std::vector<NeuronRun> runs)
    : counts_(counts),
      tokens_(std::ssize(rows) / (2 * counts.layers)),
      rows_(std::move(rows)),
      runs_(std::move(runs)) {}

std::span<const NeuronRun> ActivityRecording::runs(std::int64_t token, std::int64_t layer,
                                                   NeuronBlock block) const {
  const Row& row = rows_.at(place_of(token, layer, block, counts_));
  return std::span(runs_).subspan(row.begin, row.end - row.begin);
}

ActivityRecording read_activity(std::string_view text, const std::string& file) {
  return RecordingReader(text).read(file);
}

}  // namespace weir
