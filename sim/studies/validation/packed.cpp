#include "sim/studies/validation/packed.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <memory>

#include "sim/app/output/output_file.h"
#include "sim/core/errors.h"

namespace weir {

// gzip is wherever data are kept compressed; a library for two files would be a package more.
void unpack(const std::filesystem::path& packed, const std::filesystem::path& into) {
  std::string quoted;
  for (const char c : packed.string()) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
      ::popen(fmt::format("gzip -dc '{}'", quoted).c_str(), "r"), ::pclose);
  OutputFile out(into);
  std::array<char, 1 << 14> buffer;
  std::size_t total = 0;
  while (const std::size_t n = pipe ? std::fread(buffer.data(), 1, buffer.size(), pipe.get()) : 0) {
    out.text({buffer.data(), n});
    total += n;
  }
  if (total == 0) throw ConfigError(packed.string(), "", "cannot be unpacked (needs gzip)");
  out.close();
}

Table read_packed(const std::filesystem::path& folder, const std::string& name,
                  const std::filesystem::path& spare) {
  if (std::filesystem::exists(folder / name)) return Table::read(folder / name);
  unpack(folder / (name + ".gz"), spare / name);
  return Table::read(spare / name);
}

}  // namespace weir
