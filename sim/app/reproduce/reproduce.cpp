#include "sim/app/reproduce/reproduce.h"
#include "sim/app/shell/arguments.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "sim/app/command_line.h"
#include "sim/app/document.h"
#include "sim/app/interruption.h"
#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/app/output/result_directory.h"
#include "sim/app/progress_bar.h"
#include "sim/app/wrap.h"
#include "sim/core/catalog.h"

namespace weir {
namespace {

bool inside(std::optional<double> value, std::optional<double> low, std::optional<double> high) {
  if (!low && !high) return true;
  return value && (!low || *value >= *low) && (!high || *value <= *high);
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json to_json(const std::vector<ReproducedRow>& rows) {
  Json list = Json::array();
  for (const ReproducedRow& r : rows)
    list.push_back({{"id", r.id},
                    {"metric", r.metric},
                    {"paper", or_null(r.paper)},
                    {"simulated", or_null(r.simulated)},
                    {"accept_min", or_null(r.accept_min)},
                    {"accept_max", or_null(r.accept_max)},
                    {"within", r.judged() ? Json(r.within()) : Json(nullptr)},
                    {"physical", or_null(r.physical)},
                    {"physical_accept_min", or_null(r.physical_accept_min)},
                    {"physical_accept_max", or_null(r.physical_accept_max)},
                    {"note", r.note}});
  return list;
}

void print_table(const std::vector<ReproducedRow>& rows) {
  fmt::print("{}", rows_table(rows, terminal_width(STDOUT_FILENO)));
}

// Before anything runs: a slip of the finger would cost the whole study.
void check_only(const Study& study, const std::vector<std::string>& only) {
  const std::vector<std::string> known = study.ids();
  for (const std::string& text : only)
    if (std::ranges::none_of(known, [&](const std::string& beginning) { return may_name(text, beginning); }))
      throw ConfigError(
          "--only " + text, "",
          no_such("beginning of an id", text, known) + "; or *TEXT, which is looked for in all");
}

struct Arguments {
  std::string study, out, reference;
  std::vector<std::string> only;
  int jobs = 0;  // one a core
  bool figures = false;
};

std::string what_studies_are() {
  std::string text;
  for (const Study& study : offered_studies())
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", study.name, study.summary);
  return text;
}

std::optional<std::filesystem::path> reference_of(const Arguments& a) {
  const char* variable = std::getenv("WEIR_REFERENCE");
  const std::string place = !a.reference.empty() ? a.reference : variable ? variable : "";
  if (place.empty()) return {};
  if (!std::filesystem::is_directory(place))
    throw ConfigError("--reference " + place, "", "is not a directory");
  return place;
}

struct Chosen {
  Study study;
  std::vector<std::filesystem::path> files;  // its own
};

Chosen chosen(const std::string& name) {
  const auto known = std::ranges::find(offered_studies(), name, &Study::name);
  if (known != offered_studies().end()) return {*known, {}};
  if (name != "-" && !name.ends_with(".json"))
    throw ConfigError(
        "weir reproduce", "",
        no_such("study", name, names_of(offered_studies())) + "; a study of yours is a FILE.json");
  const auto [file, document] = read_document(name);
  if (!is_study(document))
    throw ConfigError(file, "", "this is no study, which has \"parts\" (docs/studies.md)");
  return {study_reader().read(document, file), {file}};
}

int reproduce(const Arguments& a) {
  const auto [of, files] = chosen(a.study);
  const Study* study = &of;
  if (a.figures && !study->draw) throw ConfigError("--figures", "", "the study " + a.study + " has none");
  check_only(*study, a.only);
  const bool figures = can_draw(a.figures);
  const Interruption interruption;
  ReproduceOptions options;
  options.reference = reference_of(a);
  options.only = a.only;
  options.jobs = a.jobs > 0 ? a.jobs : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  ResultDirectory directory(a.out.empty() ? std::filesystem::path("out") / ("reproduce-" + study->name)
                                          : std::filesystem::path(a.out),
                            files);
  options.files = directory.file("");
  const bool terminal = ::isatty(STDERR_FILENO) != 0;
  options.progress = [&](const std::string& what) {
    Interruption::check();
    if (terminal) show_line(what);
  };
  std::vector<ReproducedRow> rows = study->rows(options);
  std::erase_if(rows, [&](const ReproducedRow& r) { return !options.wants(r.id); });
  if (terminal) fmt::print(stderr, "\r\033[K");
  for (const std::string& part : a.only)
    if (std::ranges::none_of(rows, [&](const ReproducedRow& r) { return names_id(part, r.id); }))
      throw ConfigError(
          "--only " + part, "",
          is_anywhere(part) ? "no id of this study has it" : "no id of this study begins with it");
  write_file(directory.file("reproduce.json"), to_json(rows).dump(2) + "\n");
  if (figures) study->draw(directory, rows);
  Interruption::check();
  directory.commit();
  tell_removed(directory.removed());
  print_table(rows);
  std::fflush(stdout);
  fmt::print(stderr, "results in {}\n", directory.place().string());
  return exit_done;
}

struct Offered {
  std::vector<Study> studies;
  StudyReader reader;
};

Offered& offered() {
  static Offered all;
  return all;
}

}  // namespace

void offer_studies(std::vector<Study> studies, StudyReader reader) {
  offered() = {std::move(studies), reader};
}

const std::vector<Study>& offered_studies() {
  return offered().studies;
}

const StudyReader& study_reader() {
  return offered().reader;
}

bool ReproducedRow::within() const {
  return inside(simulated, accept_min, accept_max) &&
         inside(physical, physical_accept_min, physical_accept_max);
}

bool ReproduceOptions::wants(const std::string& id) const {
  return only.empty() ||
         std::ranges::any_of(only, [&](const std::string& part) { return names_id(part, id); });
}

bool is_anywhere(const std::string& only) {
  return only.starts_with('*');
}

bool names_id(const std::string& only, const std::string& id) {
  return is_anywhere(only) ? id.find(only.substr(1)) != std::string::npos : id.starts_with(only);
}

bool may_name(const std::string& only, const std::string& beginning) {
  return is_anywhere(only) || only.starts_with(beginning) || beginning.starts_with(only);
}

void add_note(ReproducedRow& row, const std::string& text) {
  if (!text.empty()) row.note += (row.note.empty() ? "" : "; ") + text;
}

void add_part(ReproducedRows& rows, const char* id, const std::function<void(ReproducedRows&)>& part) {
  ReproducedRows more;
  try {
    part(more);
  } catch (const std::runtime_error& failure) {
    ReproducedRow row;
    row.id = id;
    row.metric = "could not be run";
    row.accept_min = 0;
    row.note = failure.what();
    more = {row};
  }
  rows.insert(rows.end(), more.begin(), more.end());
}

std::vector<std::string> reproduce_values(const std::string& argument, const std::vector<std::string>&) {
  if (argument != "STUDY") return {};
  std::vector<std::string> values = names_of(offered_studies());
  values.insert(values.begin(), ":files");
  return values;
}

std::function<int()> declare_reproduce(CLI::App& app) {
  const auto a = std::make_shared<Arguments>();
  app.add_option("STUDY", a->study,
                 what_studies_are() +
                     "\nFILE.json: a study of yours (docs/studies.md), - is stdin; weir check says what is "
                     "wrong with it")
      ->required();
  app.add_option(
         "--only", a->only,
         "only rows whose id begins with this, or with *TEXT has the text; may be given several times")
      ->type_name("ID")
      ->allow_extra_args(false);
  app.add_option("--out", a->out, "directory for the results, replaced whole (default: out/reproduce-STUDY)")
      ->type_name("DIR");
  app.add_option("--reference", a->reference,
                 "folder of measured data (default: the variable WEIR_REFERENCE)")
      ->type_name("DIR");
  app.add_option("--jobs", a->jobs, "simulations at once (default: one a core)")
      ->type_name("N")
      ->check(whole_number(1, 4096));
  app.add_flag("--figures", a->figures, "draw the study's SVG figures (with gnuplot; without it, a note)");
  return [a] { return reproduce(*a); };
}

}  // namespace weir
