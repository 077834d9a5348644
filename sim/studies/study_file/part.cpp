#include "sim/studies/study_file/part.h"

#include <fmt/format.h>

#include <algorithm>

namespace weir::study {
namespace {

constexpr std::size_t most_lines = 100'000;

}  // namespace

PartText PartText::from(Params& params) {
  PartText part;
  part.name = params.text({"name", "For a message where it could not run."});
  for (Params& table :
       params.list({"tables", "Files of what its rows are made of."}, 0, Params::Presence::optional))
    part.tables.push_back(read_params<TableText>(table));
  for (Params& row : params.list({"rows", "Published values beside simulated ones."}, 1))
    part.rows.push_back(read_params<RowText>(row));
  return part;
}

PartOfStudy::PartOfStudy(const PartText& text, const Names& names, const std::string& at, Reading& reading)
    : name(text.name) {
  for (std::size_t i = 0; i < text.tables.size(); ++i)
    tables.emplace_back(text.tables[i], names, fmt::format("{}/tables/{}", at, i), reading);
  for (std::size_t i = 0; i < text.rows.size(); ++i)
    rows.emplace_back(text.rows[i], names, fmt::format("{}/rows/{}", at, i), reading);
}

void PartOfStudy::want(const Axes& axes, Values& wanted) const {
  for (const CsvTable& table : tables) table.want(axes, wanted);
  for (const Row& row : rows) row.want(axes, wanted);
}

std::vector<std::size_t> axes_named(const std::vector<std::string>& names, const Axes& axes,
                                    const std::string& at, Reading& reading) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto axis = find_axis(axes, names[i]);
    if (!axis)
      reading.problem(fmt::format("{}/{}", at, i), no_such("axis", names[i], names_of(axes)));
    else if (std::ranges::count(found, *axis))
      reading.problem(fmt::format("{}/{}", at, i), names[i] + " is there twice");
    else
      found.push_back(*axis);
  }
  if (combinations(axes, found) > most_lines) {
    reading.problem(at, fmt::format("more than {} combinations", most_lines));
    found.clear();
  }
  return found;
}

Place first_place(const Axes& axes) {
  Place place(axes.size(), unchosen);
  place[set_axis] = 0;
  return place;
}

}  // namespace weir::study
