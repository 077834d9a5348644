#pragma once
// The points of cases: which ones formulas ask for, and what they gave.
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/app/reproduce/reproduce.h"
#include "sim/studies/study_file/cases/study_case.h"

namespace weir::study {

// Formulas that are computed with it have no value; it keeps what they ask for.
class Wanted : public Values {
 public:
  explicit Wanted(const Axes& axes) : axes_(axes) {}
  double of(const StudyCase& from, const Place& place, std::size_t metric) override;
  bool looks_for_all() const override { return true; }

  struct Point {
    const StudyCase* of;
    Place place;
  };
  const std::vector<Point>& points() const { return points_; }

 private:
  const Axes& axes_;
  std::vector<Point> points_;
  std::map<const StudyCase*, std::set<std::size_t>> known_;
};

class Found : public Values {
 public:
  // Runs and computes them; `file` is where relative paths of scenarios begin.
  Found(const Axes& axes, const std::vector<Wanted::Point>& points, const std::filesystem::path& file,
        const ReproduceOptions& options);
  // Throws std::runtime_error where the point has no such number; of one that may fail it is missing.
  double of(const StudyCase& from, const Place& place, std::size_t metric) override;

 private:
  struct Outcome {
    std::string error;
    std::vector<double> numbers;
  };
  std::map<const StudyCase*, std::map<std::size_t, Outcome>> outcomes_;
  const Axes& axes_;
};

// Reads the first point of each case, as all that is wrong with a case is most often wrong there.
void check_first_points(const Axes& axes, const std::vector<Wanted::Point>& points,
                        const std::filesystem::path& file, Reading& reading);

}  // namespace weir::study
