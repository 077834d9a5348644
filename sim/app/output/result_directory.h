#pragma once
// The directory a command leaves its results in: made whole beside its place and swapped in by commit(), so
// that it holds one run or another, never a mixture and never half of one. Constructed before the run, so
// that a place that cannot be written costs no simulation.
#include <cstdint>
#include <filesystem>

namespace weir {

class ResultDirectory {
 public:
  // Throws ConfigError if `place` cannot be written, or holds something that is not a result of Weir's.
  explicit ResultDirectory(const std::filesystem::path& place);
  ~ResultDirectory();  // without commit(): nothing is left
  ResultDirectory(const ResultDirectory&) = delete;
  ResultDirectory& operator=(const ResultDirectory&) = delete;

  const std::filesystem::path& place() const { return place_; }  // as the user wrote it
  std::filesystem::path file(const std::string& name);           // where to write a file of the result
  void commit();                                                 // replaces what is at place()

 private:
  std::filesystem::path place_, target_, staging_;
};

// Is it a results.sqlite of weir sweep's? Looks at the file's head only.
bool is_store(const std::filesystem::path& file);
inline constexpr std::uint32_t store_application_id = 0x57656972;  // "Weir"

}  // namespace weir
