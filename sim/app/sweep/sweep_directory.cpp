#include "sim/app/sweep/sweep_directory.h"

#include <algorithm>

namespace weir {
namespace fs = std::filesystem;
namespace {

constexpr const char* store_name = "results.sqlite";

}  // namespace

SweepDirectory::SweepDirectory(const fs::path& place, const Sweep& sweep, bool resume) : place_(place) {
  const SweepRecord record = record_of(sweep);
  if (resume && !is_store(place / store_name) && fs::is_directory(place) && !fs::is_empty(place))
    throw ConfigError("--out " + place.string(), "", "holds no sweep to resume");
  std::vector<fs::path> inputs(sweep.files.begin(), sweep.files.end());
  inputs.insert(inputs.end(), {sweep.file, sweep.scenario_file});
  directory_.emplace(place, inputs);
  if (!resume || !is_store(place / store_name)) {
    ResultStore::create(directory_->file(store_name), record);
    directory_->commit();
    removed_ = directory_->removed();
    std::erase_if(removed_, [](const std::string& name) { return name.starts_with("results."); });
  }
  directory_->lock().keep_only(PlaceLock::results);
  store_ = std::make_unique<ResultStore>(place / store_name, record);
}

}  // namespace weir
