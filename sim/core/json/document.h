#pragma once
// JSON that people and their Python programs write: a key that an object has twice is an error, and Python's
// NaN and Infinity are read. Used by json_file.cpp alone. Objects are built in one pass: nlohmann's own
// builder looks each key up among those before it, which takes minutes of an index of 100,000 weights.
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

#include "sim/core/json/bounded_json.h"

namespace weir {

struct BadDocument : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class DocumentBuilder : public nlohmann::json_sax<nlohmann::ordered_json> {
 public:
  using Document = nlohmann::ordered_json;
  // One object may have so many, as its readers look them up one by one. The longest known is an index of
  // 92,000 weights (DeepSeek-V3's model.safetensors.index.json).
  static constexpr std::size_t most_keys = 250'000;

  explicit DocumentBuilder(Document& result) : result_(result) {}

  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(number_integer_t v) override { return value(v); }
  bool number_unsigned(number_unsigned_t v) override { return value(v); }
  bool number_float(number_float_t v, const string_t&) override { return value(v); }
  bool string(string_t& v) override { return value(std::move(v)); }
  bool binary(binary_t&) override { return false; }  // JSON has none
  bool start_object(std::size_t) override { return open(Document::object()); }
  bool start_array(std::size_t) override { return open(Document::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override;
  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception& e) override;

 private:
  struct Open {
    Document* container;
    std::unordered_set<std::string> keys;
  };

  Document* add(Document v);
  bool value(Document v) { return add(std::move(v)), true; }
  bool open(Document container);
  bool close() { return open_.pop_back(), true; }

  Document& result_;
  std::vector<Open> open_;
  std::string key_;
};

// Python's json writes NaN, Infinity and -Infinity, which no JSON has: outside texts, they become texts here.
// A reader that wants a number says then what it got.
std::string with_python_constants(std::string_view text);

}  // namespace weir
