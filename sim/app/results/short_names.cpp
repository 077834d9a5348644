#include "sim/app/results/short_names.h"

#include <algorithm>
#include <array>
#include <boost/algorithm/string/replace.hpp>
#include <map>
#include <string_view>

namespace weir {
namespace {

using Words = std::vector<std::string>;

// Keys that many objects have: they need their parent beside them.
constexpr std::array vague = {"count", "kind", "name", "file",  "mean",
                              "std",   "max",  "min",  "input", "output"};

Words words_of(const std::string& pointer) {
  Words words;
  for (std::size_t at = 0; at < pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', at + 1), pointer.size());
    std::string word = pointer.substr(at + 1, end - at - 1);
    boost::replace_all(word, "~1", "/");
    boost::replace_all(word, "~0", "~");
    words.push_back(std::move(word));
    at = end;
  }
  return words;
}

bool is_index(std::string_view word) {
  return !word.empty() && word.find_first_not_of("0123456789") == std::string_view::npos;
}

Words without_indices(const Words& words) {
  Words kept;
  std::copy_if(words.begin(), words.end(), std::back_inserter(kept),
               [](const std::string& w) { return !is_index(w); });
  return kept.empty() ? words : kept;
}

std::string last(const Words& words, std::size_t count) {
  std::string name;
  for (std::size_t i = words.size() - std::min(count, words.size()); i < words.size(); ++i)
    name += (name.empty() ? "" : "/") + words[i];
  return name;
}

std::size_t words_needed(const Words& words) {
  const bool says_little =
      !words.empty() && std::find(vague.begin(), vague.end(), words.back()) != vague.end();
  return says_little ? 2 : 1;
}

// Lengthens every name that another one has as well; false where that cannot tell all of them apart.
bool told_apart(const std::vector<Words>& all, std::vector<std::string>& names) {
  std::vector<std::size_t> lengths;
  std::size_t longest = 0;
  for (const Words& words : all) {
    lengths.push_back(words_needed(words));
    longest = std::max(longest, words.size());
  }
  for (std::size_t round = 0; round <= longest; ++round) {
    std::map<std::string, int> uses;
    for (std::size_t i = 0; i < all.size(); ++i) ++uses[names[i] = last(all[i], lengths[i])];
    bool unique = true;
    for (std::size_t i = 0; i < all.size(); ++i)
      if (uses[names[i]] > 1) {
        ++lengths[i];
        unique = false;
      }
    if (unique) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> short_names(const std::vector<std::string>& pointers) {
  std::vector<Words> whole, plain;
  for (const std::string& pointer : pointers) {
    whole.push_back(words_of(pointer));
    plain.push_back(without_indices(whole.back()));
  }
  std::vector<std::string> names(pointers.size());
  if (!told_apart(plain, names)) told_apart(whole, names);
  return names;
}

}  // namespace weir
