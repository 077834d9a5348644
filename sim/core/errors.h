#pragma once
// Problems of what the user gave us. A reader collects every Problem it finds and throws them
// together, so that a file is mended in one go; the command line prints them as `file: /json/pointer: what`
// and exits 2.
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

struct Problem {
  std::string pointer;  // JSON pointer into the file, or "line 12" in a trace; "" is the whole file
  std::string what;     // what was expected, what was got, what exists
  bool misfit = false;  // each value is right by itself, but what it asks for finds no room beside the rest
};

class ConfigError : public std::runtime_error {
 public:
  // `notes` are what was told of the input before, which may be why.
  ConfigError(std::string file, std::vector<Problem> problems, std::vector<std::string> notes = {});
  ConfigError(std::string file, std::string pointer, std::string what);
  const std::string& file() const { return file_; }
  const std::vector<Problem>& problems() const { return problems_; }
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::string file_;
  std::vector<Problem> problems_;
  std::vector<std::string> notes_;
};

// A given text as a message shows it: no more of it than a reader can use, and no half of a UTF-8 character.
std::string shortened(std::string_view text, std::size_t most = 200);

// The known name nearest to a misspelt one, or "" if none is near enough to be meant: LLAMA3.1-8B, h100,
// "NVIDIA H100 SXM" and meta-llama/Llama-3.1-8B-Instruct are near.
std::string nearest_name(std::string_view wanted, const std::vector<std::string>& known);

// "no such device "h100" (did you mean "h100_sxm"? known: a, b)": one wording everywhere.
std::string no_such(std::string_view what, std::string_view wanted, const std::vector<std::string>& known);

}  // namespace weir
