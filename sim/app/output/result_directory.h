#pragma once
// The directory a command leaves its results in: made whole aside and swapped in by commit(), so that it
// holds one run or another, never a mixture and never half of one. Constructed before the run, so that a
// place that cannot be written costs no simulation; locked as long as this lives.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/app/output/place/place_lock.h"
#include "sim/app/output/place/staging.h"
#include "sim/core/params.h"

namespace weir {

// A summary.json of weir run, as opposed to any other file of that name.
bool is_summary(const Json& json);

class ResultDirectory {
 public:
  // Throws ConfigError if `place` cannot be written, holds something that is not a result of Weir's, or
  // another weir writes there. What killed ones left there is removed, or completed. None of `inputs`, which
  // the command reads, may lie there.
  explicit ResultDirectory(const std::filesystem::path& place,
                           const std::vector<std::filesystem::path>& inputs = {});
  ResultDirectory(const ResultDirectory&) = delete;
  ResultDirectory& operator=(const ResultDirectory&) = delete;

  const std::filesystem::path& place() const { return place_; }  // as the user wrote it
  std::filesystem::path file(const std::string& name);           // where to write a file of the result
  void commit();                                                 // replaces what is at place()
  // After commit(): what stood there before and has no successor, a folder with a "/" at its end.
  const std::vector<std::string>& removed() const { return removed_; }
  PlaceLock& lock() { return *lock_; }

 private:
  bool within() const;

  std::filesystem::path place_, target_;
  std::optional<PlaceLock> lock_;
  std::optional<Staging> staging_;  // without commit(): nothing is left
  std::vector<std::string> removed_;
};

// Locks the drawings of the results that `place` lies in (DIR of DIR/plots), or the place itself if it lies
// in none; completes what a killed weir left half swapped there.
std::unique_ptr<PlaceLock> lock_drawings(const std::filesystem::path& place, const std::string& told);

// The files that make a directory a result.
inline constexpr const char* result_marks[] = {"summary.json", "results.sqlite", "reproduce.json"};
bool makes_results(const std::filesystem::path& name);

// Says on stderr what results of before were removed, as what replaced them lacks them.
void tell_removed(const std::vector<std::string>& names);

// Is it a results.sqlite of weir sweep's? Looks at the file's head only.
bool is_store(const std::filesystem::path& file);
inline constexpr std::uint32_t store_application_id = 0x57656972;  // "Weir"

}  // namespace weir
