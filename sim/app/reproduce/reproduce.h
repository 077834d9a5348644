#pragma once
// `weir reproduce X`: measured or published figures beside simulated ones, row by row. A study (sim/studies)
// simulates, the command prints, judges and writes.
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/app/output/result_directory.h"

namespace weir {

struct ReproducedRow {
  std::string id, metric;
  std::optional<double> paper;                   // published or measured
  std::optional<double> simulated;               // none: could not be run; the note says why
  std::optional<double> accept_min, accept_max;  // none: open; both none: only reported
  std::optional<double> physical, physical_accept_min, physical_accept_max;  // the set with nothing fitted
  std::string note;

  bool judged() const { return accept_min || accept_max || physical_accept_min || physical_accept_max; }
  bool within() const;  // every bound there is holds; of a row that is judged
};

void add_note(ReproducedRow& row, const std::string& text);  // behind what it has; none of ""

// Appends a part of a study. A run of it that failed costs its rows, not the study: one row says why, and is
// not within.
using ReproducedRows = std::vector<ReproducedRow>;
void add_part(ReproducedRows& rows, const char* id, const std::function<void(ReproducedRows&)>& part);

// For the terminal. Where it is narrow, what nothing fitted gives stands below, not beside.
std::string rows_table(const std::vector<ReproducedRow>& rows, std::size_t width);

struct ReproduceOptions {
  std::optional<std::filesystem::path> reference;  // measured data beyond the project's own table
  std::filesystem::path files;                     // a study may leave data here
  std::vector<std::string> only = {};  // rows that Study::named() says; what makes none may be left out
  int jobs = 1;
  std::function<void(const std::string&)> progress;

  bool wants(const std::string& id) const;
};

// A text of --only: the beginning of an id, or, behind a *, what is anywhere in one.
bool is_anywhere(const std::string& only);
bool names_id(const std::string& only, const std::string& id);
// May ids that begin with `beginning` be named by it?
bool may_name(const std::string& only, const std::string& beginning);

struct Study {
  std::string name, summary;
  std::function<std::vector<std::string>()> ids;  // what ids of its rows begin with
  std::function<std::vector<ReproducedRow>(const ReproduceOptions& options)> rows;
  // --figures: draws what rows() left in the directory, or the rows themselves; none: this study has none.
  std::function<void(ResultDirectory& directory, const std::vector<ReproducedRow>& rows)> draw = nullptr;
};

// Reads a study that is a file. Throws ConfigError with all that is wrong with one.
struct StudyReader {
  Study (*read)(const Json& document, const std::string& file);
  Json (*schema)();
};

// main() hands over the studies that the command knows and their reader, once, before any command runs.
void offer_studies(std::vector<Study> studies, StudyReader reader);
const std::vector<Study>& offered_studies();
const StudyReader& study_reader();

}  // namespace weir
