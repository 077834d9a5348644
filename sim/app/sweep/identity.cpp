// The results of a sweep depend on this, so that --resume goes on with the same ones alone.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "sim/app/sweep/sweep.h"

namespace weir {
namespace fs = std::filesystem;
namespace {

class Hash {  // FNV-1a: tells apart what people change
 public:
  void add(std::string_view text) {
    for (const char c : text) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 14695981039346656037u;
};

// A folder (a profile, a model) stands for the files in it.
std::string contents_of(const fs::path& path) {
  Hash hash;
  if (!fs::is_directory(path)) {
    hash.add(read_text_file(path));
    return hash.text();
  }
  std::set<fs::path> inside;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.is_regular_file() &&
        (entry.path().extension() == ".csv" || entry.path().extension() == ".json"))
      inside.insert(entry.path());
  for (const fs::path& file : inside) {
    hash.add(file.filename().string());
    hash.add(read_text_file(file));
  }
  return hash.text();
}

}  // namespace

SweepRecord record_of(const Sweep& sweep) {
  SweepRecord record{sweep.name, sweep.varied, sweep.points.size(), sweep.resolved, {}};
  Hash scenarios, searches;
  for (const Point& point : sweep.points) scenarios.add(dumped(scenario_of(sweep, point)));
  for (const char* search : {"capacity", "pareto", "cheapest"})
    searches.add(dumped(sweep.resolved.value(search, Json())));
  record.identity = {{"scenario", scenarios.text()}, {"search", searches.text()}};
  const fs::path beside = fs::absolute(sweep.file).parent_path();  // directories may move as a whole
  for (const fs::path& file : sweep.files)
    record.identity["file " + fs::proximate(fs::absolute(file), beside).string()] = contents_of(file);
  return record;
}

std::string fingerprint(const Sweep& sweep) {
  Hash hash;
  hash.add(dumped(sweep.scenario));
  for (const auto& [what, value] : record_of(sweep).identity) hash.add(what + value);
  return hash.text();
}

}  // namespace weir
