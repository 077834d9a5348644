#pragma once
// The one door for JSON. A struct declares each of its keys once - name, help, range, default - by calling
// the readers below; the same calls validate a file, fill in its defaults (the resolved scenario), and write
// the JSON Schema and the `weir list` help. Nobody reads a nlohmann::json by hand: it takes 2.7 for the
// int 2.
//
// A bad value is recorded as a Problem and a harmless one returned, so that reading goes on and every problem
// is listed at once; Reading::finish() throws them. Any object may carry an "about" string, a comment for
// people.
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "sim/core/errors.h"
#include "sim/core/units.h"

namespace weir {

using Json = nlohmann::ordered_json;  // ordered, so that what we write reads in the order we declare

struct Key {
  const char* name;  // with its unit as suffix: link_latency_us
  const char* help;  // one line: what it is, and what happens if you turn it
};

template <class T>
struct Range {
  T min = std::numeric_limits<T>::lowest();
  T max = std::numeric_limits<T>::max();
  bool open = false;  // min itself is excluded
};
inline constexpr Range<double> positive{0, std::numeric_limits<double>::max(), true};
inline constexpr Range<double> not_negative{0, std::numeric_limits<double>::max()};
inline constexpr Range<double> fraction{0, 1, true};

// Says what was expected instead of a bad number of a file, JSON or CSV; "" if it is none. Beyond 1e-12 and
// 1e15 no unit of ours means anything, and sums and products of what is read would leave a double.
std::string missed(double value, Range<double> range);

// The reason why a text is no path: it is empty, or has a NUL, at which the system would cut it. "" where it
// is one.
std::string no_path(std::string_view text);
// One reading of one file; or, without a file, one description of what a file may hold (its JSON Schema).
class Reading {
 public:
  explicit Reading(std::string file) : file_(std::move(file)) {}
  static Reading describe();

  bool describing() const { return describing_; }
  const std::string& file() const { return file_; }
  // Against the file's own directory. A text that is no path (no_path) throws ConfigError.
  std::filesystem::path relative(const std::string& path);
  const std::set<std::filesystem::path>& files() const { return files_; }  // that relative() was asked for
  void problem(std::string pointer, std::string what);
  void misfit(std::string pointer, std::string what);  // see Problem
  // A note is about input that is right and may not be what was meant; told once, kept with the results.
  void note(std::string what);
  const std::vector<std::string>& notes() const { return notes_; }
  bool failed() const { return !problems_.empty(); }
  void finish() const;  // throws ConfigError if anything was wrong

  Json resolved = Json::object();  // what was read, defaults filled in
  Json schema = Json::object();    // filled while describing

 private:
  std::string file_;
  std::set<std::filesystem::path> files_;
  bool describing_ = false;
  std::vector<Problem> problems_;
  std::vector<std::string> notes_;
};

// Words that a key may have, each with its value.
template <class E>
using Choices = std::vector<std::pair<std::string, E>>;

template <class E>
std::vector<std::string> words_of(const Choices<E>& table) {
  std::vector<std::string> words;
  for (const auto& [word, value] : table) words.push_back(word);
  return words;
}

// Throws std::out_of_range for another word.
template <class E>
E choice_named(const Choices<E>& table, const std::string& word) {
  for (const auto& [known, value] : table)
    if (known == word) return value;
  throw std::out_of_range(word);
}

// One JSON object being read. Call close() (or use read_params) when all its keys were asked for.
class Params {
 public:
  Params(Reading& reading, const Json& object);

  std::int64_t integer(Key key, Range<std::int64_t> range, std::optional<std::int64_t> fallback = {});
  std::optional<std::int64_t> integer_or_null(Key key, Range<std::int64_t> range);  // default null
  double number(Key key, Range<double> range, std::optional<double> fallback = {});
  std::optional<double> number_or_null(Key key, Range<double> range);  // default null
  std::optional<double> number_if_given(Key key,
                                        Range<double> range);  // optional, without a default to resolve
  bool flag(Key key, std::optional<bool> fallback = {});
  std::string text(Key key, std::optional<std::string> fallback = {});
  std::optional<std::string> required_text(Key key);  // nothing where it is none, which was said
  std::optional<std::string> text_or_null(Key key);   // default null
  // A file or a folder, against the file's own directory; none where the text is no path, which was said.
  std::optional<std::filesystem::path> path(Key key);
  std::optional<std::filesystem::path> path_or_null(Key key);  // default null
  std::string choice(Key key, const std::vector<std::string>& known,
                     std::optional<std::string> fallback = {});

  // The same, of a table: the value behind the word; the first one's where the word is wrong, which is a
  // problem told and ends the reading.
  template <class E>
  E choice(Key key, const Choices<E>& table, std::optional<std::string> fallback = {}) {
    const std::string word = choice(key, words_of(table), std::move(fallback));
    return word.empty() ? table.front().second : choice_named(table, word);
  }

  // A physical quantity; the unit is the key's suffix (_us, _gb_per_s, _gib, _tflops, _w, ...), range and
  // fallback are in that unit.
  template <class Q>
  Q quantity(Key key, Range<double> range = positive, std::optional<double> fallback = {}) {
    return Q(unit(key.name) * number(key, range, fallback));
  }
  template <class Q>
  std::optional<Q> quantity_or_null(Key key, Range<double> range = positive) {
    const std::optional<double> v = number_or_null(key, range);
    return v ? std::optional<Q>(Q(unit(key.name) * *v)) : std::nullopt;
  }
  static double unit(
      const std::string& key);  // SI units in one of the key's suffix; an unknown suffix throws

  // Nested values. An absent optional object reads as {}: its keys then give their defaults.
  enum class Presence { required, optional };
  Params object(Key key, Presence presence = Presence::optional);
  std::optional<Params> object_if_given(Key key);  // optional, without a default to resolve
  std::optional<Params> object_or_null(Key key);   // default null
  // A list of objects; describing gives one. An absent optional list reads as one {}, or as [] where it may
  // be empty. One too long is not read.
  static constexpr std::size_t most_items = 16384;
  std::vector<Params> list(Key key, std::size_t min_items, Presence presence = Presence::required,
                           std::size_t max_items = most_items);
  std::size_t items(const char* key) const;  // of a list, however long; 0 of anything else
  std::vector<double> numbers(Key key, std::size_t min_items, Range<double> range = {});  // required
  std::optional<std::vector<double>> numbers_or_null(Key key, std::size_t min_items,
                                                     Range<double> range);  // default null
  // A value of any shape, that the caller checks (fail()) and gives the schema of; null if it is absent.
  const Json* value(Key key, Json schema, std::optional<Json> fallback = {});
  // One `kind` of a tagged union; while describing, a fresh alternative under oneOf. All keys of a tagged
  // object are read through the alternative, none through its parent. See make_from in catalog.h.
  Params alternative(const std::string& kind, bool is_default);
  Params alternative(Json kind, bool is_default);  // the schema of `kind`

  bool has(const char* key) const;  // present and not null; declares nothing
  bool has_null(const char* key) const;
  const Json* given(const char* key) const;  // null: absent; declares nothing
  // A value that follows from other keys takes the place of an integer's fallback.
  void usually(const char* key, std::int64_t value) { usual_[key] = value; }
  // Keys that are present, not null, and that were never asked for.
  std::vector<std::string> unread() const;
  void fail(const std::string& key, const std::string& what);  // a Problem at key ("" is this object)
  void note(const std::string& key, const std::string& what);  // as of a Reading
  // A note where a number is beyond 100 times the largest of its kind that a catalog has: a wrong unit, most
  // often.
  void note_if_beyond(const char* key, double value, double largest);
  bool describing() const { return reading_->describing(); }
  Reading& reading() { return *reading_; }
  const std::string& pointer() const { return pointer_; }

  void close();                                   // reports the unknown keys
  void close_ignoring_rest() { closed_ = true; }  // for files of others, such as a config.json

 private:
  Params(Reading& reading, const Json* object, std::string pointer, std::string schema_path);
  // Declares the key, checks presence; null if absent (fallback recorded) or a problem.
  const Json* find(const Key& key, Json declaration, const std::optional<Json>& fallback);
  void null_by_default(const Key& key, Json declaration);  // declares a key that is not given, or is null
  void expected(const std::string& key, const std::string& what, const Json& got);  // a Problem
  Json& resolved_node();
  void resolve(const std::string& key, const Json& value);
  Json& schema_node(const std::string& below = "");

  Reading* reading_;
  const Json* object_;
  std::string pointer_, schema_path_;
  std::vector<std::string> known_;
  std::map<std::string, std::int64_t> usual_;
  bool closed_ = false;
  bool missing_ = false;  // the object itself, or it is none; that was said, its keys are not missed
};

// The usual way to read a struct: P has `static P from(Params&)`.
template <class P>
P read_params(Params params) {
  P result = P::from(params);
  params.close();
  return result;
}

// Traces are the longest files that anybody names; a scenario is a page or two, a config.json likewise.
inline constexpr std::uintmax_t most_trace_bytes = std::uintmax_t{4} << 30, most_document_bytes = 64u << 20;
// Every file that a scenario, a sweep or a command names comes in by one of these. They throw ConfigError: at
// once for what is no file (a pipe, a device, a directory) and for what is too long.
void require_file(const std::filesystem::path& path, std::uintmax_t max_bytes = most_trace_bytes);
std::string read_text_file(const std::filesystem::path& path, std::uintmax_t max_bytes = most_trace_bytes);
// Standard input, say, which `name` stands for in messages; it may have no end.
std::string read_text_stream(std::istream& in, const std::string& name,
                             std::uintmax_t max_bytes = most_document_bytes);
// Python's json also writes NaN, Infinity and -Infinity, which are texts here: a reader that wants a number
// says what it got.
enum class JsonOf { anyone, python };
// Reads and parses a file: size, syntax (line and column), depth and duplicate keys are checked. Throws
// ConfigError.
Json read_json_file(const std::filesystem::path& path, JsonOf writer = JsonOf::anyone);
std::string dumped(const Json& json);  // on one line; bytes that are not UTF-8 are replaced
Json parse_json(const std::string& text, const std::string& file, JsonOf writer = JsonOf::anyone);
// A file compiled into the binary (embedded.h) is parsed once a process, however many scenarios ask for it.
const Json& embedded_json(std::string_view text, const std::string& file);

// --set /serving/replicas/0/count=2: sets one value; missing objects on the way are made. Throws ConfigError.
void set_pointer(Json& document, const std::string& assignment);

}  // namespace weir
