#pragma once
// nlohmann's parser, bounded in depth: its dump and its destructor recurse, and what is deeper is a mistake
// or an attack. Parsing with a callback would be the documented way, but looks through all of a list after
// each object in it: a scenario of 100,000 devices took seconds, a million of them would take minutes.
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>

namespace weir {

inline constexpr int max_json_depth = 64;

struct TooDeep : std::runtime_error {
  TooDeep() : std::runtime_error("nested deeper than " + std::to_string(max_json_depth) + " levels") {}
};

template <class Json>
class BoundedParser : public nlohmann::detail::json_sax_dom_parser<Json> {
  using Base = nlohmann::detail::json_sax_dom_parser<Json>;

 public:
  explicit BoundedParser(Json& result) : Base(result) {}
  bool start_object(std::size_t size) { return deeper() && Base::start_object(size); }
  bool start_array(std::size_t size) { return deeper() && Base::start_array(size); }
  bool end_object() { return --depth_, Base::end_object(); }
  bool end_array() { return --depth_, Base::end_array(); }

 private:
  bool deeper() {
    if (++depth_ > max_json_depth) throw TooDeep();
    return true;
  }
  int depth_ = 0;
};

// Throws TooDeep, and nlohmann's exceptions.
template <class Json>
Json parse_bounded(std::string_view text) {
  Json result;
  BoundedParser<Json> parser(result);
  Json::sax_parse(text, &parser);
  return result;
}

}  // namespace weir
