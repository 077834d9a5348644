// Table I: what types of operators take of a step that the CPU runs alone, and which of them the runtime then
// offers to the memory.
#include <algorithm>
#include <cmath>

#include "sim/app/output/output_file.h"
#include "sim/step/training/training_step.h"
#include "sim/studies/hetero_pim/study.h"
#include "sim/studies/hetero_pim/table1.h"

namespace weir::hetero_pim {
namespace {

constexpr const char* sets[] = {"paper", "physical"};

TrainingStep step_of(const char* net, const char* set) {
  const TrainingJob job = job_of(run_of(hetero, net_of(net)), set);
  return {job.graph, job.machine, job.spec.runtime, 1};
}

// The half of the table by time, or that by accesses.
struct Half {
  std::optional<double> ProfiledType::*published;
  double (*of)(const TypeProfile&);
};
const Half by_time{&ProfiledType::time, [](const TypeProfile&row) { return row.time.value(); }},
    by_accesses{&ProfiledType::accesses, [](const TypeProfile&row) { return row.accesses; }};

double per_cent(const StepProfile& profile, OperatorType type, const Half& half) {
  double all = 0, found = 0;
  for (const TypeProfile& row : profile) {
    all += half.of(row);
    if (row.type == type) found += half.of(row);
  }
  return 100 * found / all;
}

struct Profiles {  // in each set
  StepProfile paper, physical;
};
Profiles profiles_of(const char* net) {
  return {step_of(net, sets[0]).profile(), step_of(net, sets[1]).profile()};
}

double max_error(const StepProfile& profile, const ProfiledNet& known, const Half& half) {
  double most = 0;
  for (const ProfiledType& row : known.types)
    if (row.*half.published)
      most = std::max(most, std::abs(per_cent(profile, row.type, half) - *(row.*half.published)));
  return most;
}

std::string shares(const StepProfile& profile, const ProfiledNet& known, const Half& half) {
  std::string words;
  for (const ProfiledType& row : known.types)
    if (row.*half.published)
      words += fmt::format("{}{} {:.1f} (paper {:g})", words.empty() ? "" : ", ", to_string(row.type),
                           per_cent(profile, row.type, half), *(row.*half.published));
  return words;
}

ReproducedRow& add_error(Rows& rows, const char* id, const char* metric, const ProfiledNet& known,
                         const Profiles& profiles, const Half& half, Bounds bounds = {}) {
  ReproducedRow& row =
      add_row(rows, id, metric, 0,
              {max_error(profiles.paper, known, half), max_error(profiles.physical, known, half)}, bounds);
  row.note = shares(profiles.paper, known, half);
  return row;
}

// Table I as the runtime would have read it: other types share evenly what the halves leave to them, and
// Conv2D, which is not among VGG-19's first five by accesses, lies between the fifth and such a share.
StepProfile published_profile(const ProfiledNet& known) {
  const double others = known.types_in_all - 5, even_time = known.other_time / others,
               even_accesses = known.other_accesses / others;
  double fifth = 100, left_time = known.other_time, left_accesses = known.other_accesses;
  for (const ProfiledType& row : known.types) fifth = std::min(fifth, row.accesses.value_or(100));
  StepProfile profile;
  for (const ProfiledType& row : known.types) {
    profile.push_back({row.type, row.invocations, Seconds(row.time.value_or(even_time)),
                       row.accesses.value_or((fifth + even_accesses) / 2)});
    if (!row.time) left_time -= profile.back().time.value();
    if (!row.accesses) left_accesses -= profile.back().accesses;
  }
  const int left = known.types_in_all - static_cast<int>(profile.size());
  for (int t = 0; static_cast<int>(profile.size()) < known.types_in_all; ++t) {
    const auto type = static_cast<OperatorType>(t);
    if (std::ranges::find(profile, type, &TypeProfile::type) == profile.end())
      profile.push_back({type, 1, Seconds(left_time / left), left_accesses / left});
  }
  return profile;
}

std::string names_of(const std::vector<OperatorType>& types) {
  std::string words;
  for (const OperatorType type : types)
    words += fmt::format("{}{}", words.empty() ? "" : ", ", to_string(type));
  return words;
}

bool has_all_convolutions(const std::vector<OperatorType>& types) {
  return std::ranges::all_of(
      std::vector{OperatorType::conv2d, OperatorType::conv2d_backprop_filter,
                  OperatorType::conv2d_backprop_input},
      [&](OperatorType type) { return std::ranges::find(types, type) != types.end(); });
}

void add_selection(const ProfiledNet& vgg19, Rows& rows) {
  const TrainingJob job = job_of(run_of(hetero, net_of("vgg19")), "paper");
  const std::vector<OperatorType> published = job.spec.runtime->candidates(published_profile(vgg19));
  add_row(rows, "select_table1_vgg19_types", "types that the runtime takes of Table I's VGG-19", {},
          same(static_cast<double>(published.size())), exactly(5))
      .note =
      fmt::format("the paper does not list them: {}; Conv2D, whose accesses it does not give, as the sixth",
                  names_of(published));
  const std::vector<OperatorType> paper = step_of("vgg19", "paper").candidates(),
                                  physical = step_of("vgg19", "physical").candidates();
  add_row(rows, "select_vgg19_convs", "1: by our own profile the runtime takes all convolutions, VGG-19", {},
          {has_all_convolutions(paper), has_all_convolutions(physical)}, exactly(1))
      .note = names_of(paper);
}

void write_profile(const std::vector<Profiles>& profiles, const Folder& folder) {
  OutputFile file(folder / "profile.csv");
  file.text(
      "net,type,published_time,paper_set_time,physical_time,published_accesses,paper_set_accesses,"
      "physical_accesses\n");
  for (std::size_t n = 0; n < table1.size(); ++n)
    for (const ProfiledType& row : table1[n].types) {
      file.print("{},{}", net_of(table1[n].net).title, to_string(row.type));
      for (const Half& half : {by_time, by_accesses})
        file.print(",{},{:.5g},{:.5g}", csv(row.*half.published), per_cent(profiles[n].paper, row.type, half),
                   per_cent(profiles[n].physical, row.type, half));
      file.text("\n");
    }
  file.close();
}

}  // namespace

void add_profile(const Runs&, const Folder& folder, Rows& rows) {
  std::vector<Profiles> profiles;
  for (const ProfiledNet& known : table1) profiles.push_back(profiles_of(known.net));
  add_note(
      add_error(rows, "tab1_share_vgg19_max_error", "largest error of a share of time, % of a step, VGG-19",
                table1[0], profiles[0], by_time),
      "no bounds: an input, the CPU's rates by type are taken from these shares");
  add_error(rows, "tab1_share_alexnet_max_error", "the same, AlexNet, at VGG-19's rates", table1[1],
            profiles[1], by_time, {{}, 14});
  add_note(
      add_error(rows, "tab1_access_share_vgg19_max_error", "largest error of a share of accesses, %, VGG-19",
                table1[0], profiles[0], by_accesses),
      "no bounds: accesses are bytes read and written once, and no cache that could miss more is modelled");
  add_selection(table1[0], rows);
  write_profile(profiles, folder);
}

}  // namespace weir::hetero_pim
