#include "sim/app/document.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

namespace weir {
namespace {

constexpr std::size_t most_bytes = 64u << 20;  // as of a file: a scenario is a page or two

std::string read_stdin() {
  std::string text;
  while (true) {
    constexpr std::size_t chunk = 1 << 16;
    const std::size_t before = text.size();
    text.resize(before + chunk);
    const std::size_t read = std::fread(text.data() + before, 1, chunk, stdin);
    text.resize(before + read);
    if (text.size() > most_bytes)
      throw ConfigError("stdin", "", fmt::format("longer than {} MiB", most_bytes >> 20));
    if (read == chunk) continue;
    if (std::ferror(stdin) != 0) throw std::system_error(errno, std::generic_category(), "cannot read stdin");
    return text;
  }
}

}  // namespace

Document read_document(const std::string& argument) {
  if (argument == "-") return {"stdin", parse_json(read_stdin(), "stdin")};
  return {argument, read_json_file(argument)};
}

}  // namespace weir
