#include <fmt/format.h>
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>
#include <unicode/regex.h>

#include <array>
#include <nlohmann/json.hpp>
#include <queue>
#include <unordered_map>

#include "sim/core/json/bounded_json.h"
#include "workloads/traces/tokens.h"

// Byte-level byte-pair encoding: Sennrich et al., arXiv:1508.07909, on bytes as GPT-2 does (openai/gpt-2,
// encoder.py). A text is cut into words by a pattern; in a word, the adjacent pair that was learned first is
// merged, until none is left. Only the number of tokens is wanted here.

namespace weir {
namespace {

using nlohmann::json;  // not ordered: a vocabulary has 100,000 keys

// The character GPT-2 writes a byte as: printable Latin-1 is itself, the 68 others follow from U+0100 on.
std::array<std::string, 256> byte_characters() {
  std::array<std::string, 256> characters;
  unsigned next = 256;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const unsigned point = itself ? byte : next++;
    if (point >= 0x80) characters[byte] += static_cast<char>(0xC0 | (point >> 6));
    characters[byte] += static_cast<char>(point >= 0x80 ? 0x80 | (point & 0x3F) : point);
  }
  return characters;
}

// GPT-2's own pattern, which a tokenizer.json only implies.
constexpr const char* gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

class Merges {
 public:
  struct Merge {
    int rank, token;
  };
  void add(int left, int right, Merge merge) { merges_.try_emplace(key(left, right), merge); }
  const Merge* find(int left, int right) const {
    const auto it = merges_.find(key(left, right));
    return it == merges_.end() ? nullptr : &it->second;
  }

 private:
  static std::uint64_t key(int left, int right) {
    return static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint32_t>(right);
  }
  std::unordered_map<std::uint64_t, Merge> merges_;
};

// The tokens of one word. A heap of the pairs that may merge, so that a word of a megabyte ends too.
std::int64_t count_merged(std::vector<int> tokens, const Merges& merges) {
  struct Pair {
    int rank;
    std::size_t left, right;
    int left_token, right_token;
    bool operator<(const Pair& other) const {  // the heap gives the largest: lowest rank, then leftmost
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  const std::size_t end = tokens.size();
  std::vector<std::size_t> next(end), previous(end);
  std::priority_queue<Pair> pairs;
  const auto consider = [&](std::size_t left, std::size_t right) {
    if (left >= end || right >= end) return;
    if (const auto* merge = merges.find(tokens[left], tokens[right]))
      pairs.push({merge->rank, left, right, tokens[left], tokens[right]});
  };
  for (std::size_t i = 0; i < end; ++i) {
    next[i] = i + 1;
    previous[i] = i == 0 ? end : i - 1;
    consider(i, i + 1);
  }
  std::int64_t count = std::ssize(tokens);
  for (; !pairs.empty(); pairs.pop()) {
    const Pair pair = pairs.top();
    if (tokens[pair.left] != pair.left_token || tokens[pair.right] != pair.right_token ||
        next[pair.left] != pair.right)
      continue;  // one of the two has merged since
    tokens[pair.left] = merges.find(pair.left_token, pair.right_token)->token;
    tokens[pair.right] = -1;
    next[pair.left] = next[pair.right];
    if (next[pair.left] < end) previous[next[pair.left]] = pair.left;
    --count;
    consider(previous[pair.left], pair.left);
    consider(pair.left, next[pair.left]);
  }
  return count;
}

class ByteLevelBpe : public TokenCounter {
 public:
  ByteLevelBpe(const json& document, std::string file) : file_(std::move(file)) {
    read_normalizer(document.value("normalizer", json()));
    read_pre_tokenizer(document.at("pre_tokenizer"));
    read_model(document.at("model"));
  }

  std::string note() const override {
    return fmt::format("token counts by {}: the texts alone, without special tokens or a chat template",
                       file_);
  }

  std::int64_t count(std::string_view text) const override {
    if (text.empty()) return 0;
    std::string changed;
    if (nfc_) {
      UErrorCode status = U_ZERO_ERROR;
      icu::StringByteSink<std::string> sink(&changed);
      nfc_->normalizeUTF8(0, piece(text), sink, nullptr, status);
      text = changed;
    }
    if (!prefix_space_ || text.front() == ' ') return count_words(text, 0);
    return count_words(std::string(1, ' ').append(text), 0);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw ConfigError(file_, "", what); }
  static icu::StringPiece piece(std::string_view text) {
    return {text.data(), static_cast<int32_t>(text.size())};
  }

  void read_normalizer(const json& normalizer) {
    if (normalizer.is_null()) return;
    if (normalizer.at("type") != "NFC") refuse("normalizer: only NFC or none is supported");
    UErrorCode status = U_ZERO_ERROR;
    nfc_ = icu::Normalizer2::getNFCInstance(status);
  }

  void read_pre_tokenizer(const json& step) {
    const std::string type = step.at("type");
    if (type == "Sequence") {
      for (const json& each : step.at("pretokenizers")) {
        if (each.at("type") == "Sequence") refuse("pre_tokenizer: a sequence in a sequence is not supported");
        read_pre_tokenizer(each);
      }
    } else if (type == "Split") {
      if (step.at("behavior") != "Isolated" || step.value("invert", false) ||
          !step.at("pattern").contains("Regex"))
        refuse("pre_tokenizer: a Split must be by Regex, Isolated and not inverted");
      add_pattern(step.at("pattern").at("Regex"));
    } else if (type == "ByteLevel") {
      prefix_space_ = step.at("add_prefix_space");
      if (step.value("use_regex", true)) add_pattern(gpt2_pattern);
    } else {
      refuse("pre_tokenizer: only ByteLevel, Split and Sequence are supported (byte-level BPE), got " + type);
    }
  }

  void add_pattern(const std::string& pattern) {
    UErrorCode status = U_ZERO_ERROR;
    UParseError where;
    const icu::UnicodeString text = icu::UnicodeString::fromUTF8(piece(pattern));
    patterns_.emplace_back(icu::RegexPattern::compile(text, 0, where, status));
    if (U_FAILURE(status))
      refuse("pre_tokenizer: the pattern is not one ICU understands: " + pattern.substr(0, 60));
  }

  void read_model(const json& model) {
    if (model.at("type") != "BPE" || model.value("byte_fallback", false))
      refuse("model: only byte-level BPE is supported");
    ignore_merges_ = model.value("ignore_merges", false);
    for (const auto& [token, id] : model.at("vocab").items()) vocabulary_.emplace(token, id.get<int>());
    for (std::size_t byte = 0; byte < 256; ++byte) bytes_[byte] = token(characters_[byte]);
    int rank = 0;
    for (const json& merge : model.at("merges")) {
      std::string left, right;
      if (merge.is_array()) {  // ["a", "b"] since tokenizers 0.20
        left = merge.at(0);
        right = merge.at(1);
      } else {
        const auto& both = merge.get_ref<const std::string&>();
        const auto space = std::min(both.find(' '), both.size() - 1);
        left = both.substr(0, space);
        right = both.substr(space + 1);
      }
      merges_.add(token(left), token(right), {rank++, token(left + right)});
    }
  }

  int token(const std::string& text) const {
    const auto it = vocabulary_.find(text);
    if (it == vocabulary_.end()) refuse("model: not a byte-level vocabulary: it lacks \"" + text + "\"");
    return it->second;
  }

  // The patterns from `step` on cut the text into words; whatever lies between two matches is a word too.
  std::int64_t count_words(std::string_view text, std::size_t step) const {
    if (text.empty()) return 0;
    if (step == patterns_.size()) return count_word(text);
    UErrorCode status = U_ZERO_ERROR;
    UText* utf8 = utext_openUTF8(nullptr, text.data(), static_cast<int64_t>(text.size()), &status);
    const std::unique_ptr<icu::RegexMatcher> matcher(patterns_[step]->matcher(status));
    matcher->reset(utf8);
    std::int64_t count = 0;
    std::size_t done = 0;
    while (matcher->find(status) && U_SUCCESS(status)) {
      const auto from = static_cast<std::size_t>(matcher->start64(status));
      const auto to = static_cast<std::size_t>(matcher->end64(status));
      count += count_words(text.substr(done, from - done), step + 1);
      count += count_words(text.substr(from, to - from), step + 1);
      done = to;
    }
    utext_close(utf8);
    if (U_FAILURE(status))
      refuse(std::string("pre_tokenizer: the pattern fails on a text: ") + u_errorName(status));
    return count + count_words(text.substr(done), step + 1);
  }

  std::int64_t count_word(std::string_view word) const {
    if (ignore_merges_) {
      std::string written;
      for (const char c : word) written += characters_[static_cast<unsigned char>(c)];
      if (vocabulary_.contains(written)) return 1;
    }
    std::vector<int> tokens;
    for (const char c : word) tokens.push_back(bytes_[static_cast<unsigned char>(c)]);
    return count_merged(std::move(tokens), merges_);
  }

  std::string file_;
  const icu::Normalizer2* nfc_ = nullptr;
  std::vector<std::unique_ptr<icu::RegexPattern>> patterns_;
  bool prefix_space_ = false, ignore_merges_ = false;
  std::unordered_map<std::string, int> vocabulary_;
  const std::array<std::string, 256> characters_ = byte_characters();
  std::array<int, 256> bytes_{};
  Merges merges_;
};

}  // namespace

std::shared_ptr<const TokenCounter> byte_level_bpe(const std::string& text, const std::string& file) {
  try {
    return std::make_shared<ByteLevelBpe>(parse_bounded<json>(text), file);
  } catch (const TooDeep& e) {
    throw ConfigError(file, "", e.what());
  } catch (const json::exception& e) {
    throw ConfigError(file, "", "not a tokenizer.json: " + shortened(e.what()));
  }
}

}  // namespace weir
