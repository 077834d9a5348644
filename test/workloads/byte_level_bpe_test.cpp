#include <random>

#include "test/workloads/samples.h"
#include "workloads/traces/tokens.h"

using namespace weir;

namespace {

// A tokenizer.json of the 256 bytes and these merges; `pattern` "" is GPT-2's, which a ByteLevel step
// implies.
std::string tokenizer(const std::vector<std::pair<std::string, std::string>>& merges,
                      const std::string& pattern = "", bool merges_as_lists = false) {
  Json vocabulary = Json::object();
  for (int byte = 0, next = 256; byte < 256; ++byte) {
    const bool itself = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const int point = itself ? byte : next++;
    std::string character;
    if (point >= 0x80) character += static_cast<char>(0xC0 | (point >> 6));
    character += static_cast<char>(point >= 0x80 ? 0x80 | (point & 0x3F) : point);
    vocabulary[character] = byte;
  }
  Json list = Json::array();
  for (const auto& [left, right] : merges) {
    if (!vocabulary.contains(left + right)) vocabulary[left + right] = vocabulary.size();
    list.push_back(merges_as_lists ? Json::array({left, right}) : Json(left + " " + right));
  }
  Json step = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  if (!pattern.empty()) {
    step["use_regex"] = false;
    const Json split = {
        {"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
    step = {{"type", "Sequence"}, {"pretokenizers", Json::array({split, step})}};
  }
  return Json{{"normalizer", nullptr},
              {"pre_tokenizer", step},
              {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", list}}}}
      .dump();
}

// Merging as the papers say it: look at every pair, merge the first learned one everywhere, again until none
// is left.
std::size_t merged_slowly(std::vector<std::string> tokens,
                          const std::vector<std::pair<std::string, std::string>>& merges) {
  for (;;) {
    std::size_t best = merges.size();
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i)
      for (std::size_t m = 0; m < best; ++m)
        if (tokens[i] == merges[m].first && tokens[i + 1] == merges[m].second) best = m;
    if (best == merges.size()) return tokens.size();
    std::vector<std::string> after;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const bool pair =
          i + 1 < tokens.size() && tokens[i] == merges[best].first && tokens[i + 1] == merges[best].second;
      after.push_back(pair ? tokens[i] + tokens[i + 1] : tokens[i]);
      i += pair;
    }
    tokens = after;
  }
}

std::string refusal(const std::string& text) {
  try {
    byte_level_bpe(text, "t.json");
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "";
}

constexpr const char* llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

}  // namespace

TEST_CASE("tokenizer: merging gives what looking at every pair again and again gives") {
  std::mt19937_64 rng(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::string> known = {"a", "b", "c"};
    std::vector<std::pair<std::string, std::string>> merges;
    while (merges.size() < 12) {
      const std::string left = known[rng() % known.size()], right = known[rng() % known.size()];
      if (left.size() + right.size() > 6 || std::ranges::count(known, left + right) > 0) continue;
      merges.emplace_back(left, right);
      known.push_back(left + right);
    }
    const auto counter = byte_level_bpe(tokenizer(merges, "", round % 2 == 0), "t.json");
    for (int i = 0; i < 20; ++i) {
      std::string word;
      std::vector<std::string> letters;
      for (std::uint64_t n = 1 + rng() % 30; n > 0; --n) letters.push_back(known[rng() % 3]);
      for (const std::string& letter : letters) word += letter;
      REQUIRE(counter->count(word) == static_cast<std::int64_t>(merged_slowly(letters, merges)));
    }
  }
}

TEST_CASE("tokenizer: a text is cut into words as GPT-2 cuts it") {
  // Each merge would join two characters if they were in one word.
  const auto joins = [](const std::string& left, const std::string& right, const std::string& text,
                        const std::string& pattern = "") {
    return byte_level_bpe(tokenizer({{left, right}}, pattern), "t.json")->count(text) < std::ssize(text);
  };
  CHECK(joins("a", "b", "ab"));
  CHECK(joins("\xC4\xA0", "a", "x a"));   // a space goes with the word behind it
  CHECK(!joins("x", "\xC4\xA0", "x a"));  // and not with the one before
  CHECK(!joins("a", "1", "a1"));          // letters and digits part
  CHECK(joins("1", "2", "12"));
  CHECK(!joins("a", "'", "a's"));
  CHECK(joins("'", "s", "a's"));                  // 's is a word
  CHECK(!joins("'", "S", "a'S"));                 // in lower case only
  CHECK(joins("'", "S", "a'S", llama3));          // Llama 3 takes both
  CHECK(joins("\xC4\xA0", "\xC4\xA0", "a   b"));  // all but the last blank
  CHECK(!joins("\xC4\xA0", "\xC4\xA0", "a  b"));
  CHECK(joins("3", "4", "1234"));
  CHECK(!joins("3", "4", "1234", llama3));  // three digits at most
  CHECK(joins("(", "a", "(a", llama3));
  CHECK(!joins("(", "a", "(a"));
  CHECK(joins("\xC3\x83", "\xC2\xA4", "\xC3\xA4"));  // the two bytes of a letter beyond ASCII
}

TEST_CASE("tokenizer: bytes that merge with nothing are one token each, and no text is none") {
  const auto counter = byte_level_bpe(tokenizer({{"a", "b"}}), "t.json");
  CHECK(counter->count("") == 0);
  CHECK(counter->count("abab x\n\xF0\x9F\x98\x80") == 2 + 3 + 4);
  CHECK(counter->count(std::string("\0\xff\x80", 3)) == 3);
}

TEST_CASE("tokenizer: a word of a megabyte ends soon") {
  const auto counter = byte_level_bpe(tokenizer({{"a", "a"}, {"aa", "aa"}}), "t.json");
  CHECK(counter->count(std::string(1 << 20, 'a')) == 1 << 18);
}

TEST_CASE("tokenizer: what is not byte-level BPE is refused with the reason") {
  CHECK(refusal("{").starts_with("t.json: not a tokenizer.json: "));
  CHECK(refusal("{}").starts_with("t.json: not a tokenizer.json: "));
  CHECK(refusal("[]").starts_with("t.json: not a tokenizer.json: "));
  const auto changed = [](const char* pointer, const Json& value) {
    Json document = parse_json(tokenizer({{"a", "b"}}), "t");
    document[Json::json_pointer(pointer)] = value;
    return refusal(document.dump());
  };
  CHECK(changed("/model/type", "Unigram") == "t.json: model: only byte-level BPE is supported");
  CHECK(changed("/pre_tokenizer", Json{{"type", "Metaspace"}}).find("got Metaspace") != std::string::npos);
  CHECK(changed("/model/vocab", Json{{"a", 1}}).find("it lacks") != std::string::npos);
  CHECK(changed("/model/merges", Json::array({"x y"})).find("it lacks \"xy\"") != std::string::npos);
  CHECK(changed("/model/merges", Json::array({5})).starts_with("t.json: not a tokenizer.json"));
  CHECK(changed("/normalizer", Json{{"type", "Lowercase"}}).find("only NFC") != std::string::npos);
  CHECK(refusal(tokenizer({}, "(unclosed")).find("the pattern is not one ICU understands") !=
        std::string::npos);
  CHECK(refusal(R"({"x": )" + std::string(100, '[') + std::string(100, ']') + "}").find("nested deeper") !=
        std::string::npos);
}
