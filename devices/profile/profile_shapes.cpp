#include "devices/profile/profile_shapes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "devices/profile/profile_csv.h"

namespace weir {
namespace {

using Holds = ProfileColumn::Holds;

std::string wrong_type(std::string_view column, std::string_view text) {
  return fmt::format("{}: no such type \"{}\" (known: {}, or weights/activations where these differ)", column,
                     shortened(text, 40), data_type_names());
}

std::optional<GemmTypes> types_named(std::string_view text) {
  const std::size_t bar = text.find('/');
  const auto weights = data_type_named(text.substr(0, bar));
  const auto activations = bar == std::string_view::npos ? weights : data_type_named(text.substr(bar + 1));
  if (!weights || !activations) return {};
  return GemmTypes{*weights, *activations};
}

// An even random choice first, then the more uneven ones; "balanced" has every expert hit from a few tokens
// on, which no router does. Nothing for another word.
std::optional<double> unevenness(std::string_view distribution) {
  if (distribution == "uniform") return 0;
  if (distribution == "balanced") return std::numeric_limits<double>::infinity();
  constexpr std::string_view law = "power_law_", spread = "_eplb";
  if (!distribution.starts_with(law)) return {};
  const bool eplb = distribution.ends_with(spread);
  const std::string_view text =
      distribution.substr(law.size(), distribution.size() - law.size() - (eplb ? spread.size() : 0));
  double exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size() || !(exponent > 0 && exponent < 100))
    return {};
  return exponent + (eplb ? 100 : 0);
}

template <class T>
T& entry_of(std::vector<T>& all, const auto& is_it, T made) {
  for (T& one : all)
    if (is_it(one)) return one;
  return all.emplace_back(std::move(made));
}

Curve& curve_of(std::vector<ExpertTimes>& all, const ExpertBlock& block, std::string_view distribution) {
  return entry_of(
             all, [&](const ExpertTimes& t) { return t.block == block && t.distribution == distribution; },
             ExpertTimes{block, std::string(distribution), {}})
      .times;
}

}  // namespace

std::vector<GemmTimes> read_gemms(const std::filesystem::path& file, std::vector<Problem>& problems) {
  static constexpr std::array<ProfileColumn, 5> columns = {{{"type", Holds::text},
                                                            {"m", Holds::count},
                                                            {"n", Holds::count},
                                                            {"k", Holds::count},
                                                            {"time_us", Holds::time}}};
  std::vector<GemmTimes> gemms;
  read_profile_table(
      file, columns,
      [&](const ProfileRow& row) -> std::string {
        const auto types = types_named(row.text(0));
        if (!types) return wrong_type("type", row.text(0));
        entry_of(
            gemms, [&](const GemmTimes& t) { return t.types == *types; }, GemmTimes{*types, {}})
            .rows.push_back({row[1], row[2], row[3], 1e-6 * row[4]});
        return "";
      },
      problems);
  for (GemmTimes& of : gemms) {
    const auto shape = [](const MeasuredGemm& g) { return std::tuple(g.n, g.k, g.m); };
    std::ranges::sort(of.rows, {}, shape);
    if (const auto twice = std::ranges::adjacent_find(of.rows, {}, shape); twice != of.rows.end())
      problems.push_back({"", fmt::format("{}: m {} n {} k {} is measured twice", file.string(), twice->m,
                                          twice->n, twice->k)});
  }
  return gemms;
}

std::vector<ExpertTimes> read_expert_blocks(const std::filesystem::path& file,
                                            std::vector<Problem>& problems) {
  static constexpr std::array<ProfileColumn, 10> columns = {{{"type", Holds::text},
                                                             {"hidden", Holds::count},
                                                             {"inter", Holds::count},
                                                             {"topk", Holds::count},
                                                             {"experts", Holds::count},
                                                             {"ep", Holds::count},
                                                             {"tp", Holds::count},
                                                             {"distribution", Holds::text},
                                                             {"tokens", Holds::count},
                                                             {"time_us", Holds::time}}};
  std::vector<ExpertTimes> blocks;
  const auto whole = [](double number) { return static_cast<std::int64_t>(number); };
  read_profile_table(
      file, columns,
      [&](const ProfileRow& row) -> std::string {
        const auto types = types_named(row.text(0));
        if (!types) return wrong_type("type", row.text(0));
        if (!unevenness(row.text(7)))
          return fmt::format(
              "distribution: expected uniform, balanced, power_law_EXPONENT or "
              "power_law_EXPONENT_eplb, got \"{}\"",
              shortened(row.text(7), 40));
        if (row[3] > row[4]) return fmt::format("topk: {} of {} experts", row[3], row[4]);
        if (std::fmod(row[4], row[5]) > 0)
          return fmt::format("ep: {} does not divide {} experts", row[5], row[4]);
        if (std::fmod(row[2], row[6]) > 0)
          return fmt::format("tp: {} does not divide inter {}", row[6], row[2]);
        const ExpertBlock block{*types,        whole(row[1]), whole(row[2] / row[6]),
                                whole(row[3]), whole(row[4]), whole(row[5])};
        curve_of(blocks, block, row.text(7)).add(std::log(row[8]), std::log(1e-6 * row[9]));
        return "";
      },
      problems);
  for (ExpertTimes& of : blocks)
    if (!of.times.sort())
      problems.push_back(
          {"", fmt::format("{}: a point of {} of {} experts, hidden {}, {} is measured twice", file.string(),
                           of.block.active, of.block.total, of.block.hidden, of.distribution)});
  std::ranges::stable_sort(blocks, {}, [](const ExpertTimes& t) { return *unevenness(t.distribution); });
  return blocks;
}

std::size_t check_latent_attention(const std::filesystem::path& file, std::vector<Problem>& problems) {
  static constexpr std::array<ProfileColumn, 8> columns = {{{"module", Holds::text},
                                                            {"phase", Holds::text},
                                                            {"heads", Holds::count},
                                                            {"sequences", Holds::count},
                                                            {"tokens", Holds::count},
                                                            {"context"},
                                                            {"kv_type", Holds::text},
                                                            {"time_us", Holds::time}}};
  std::size_t rows = 0;
  std::set<std::tuple<std::string, std::string, double, double, double, double, std::string>> points;
  read_profile_table(
      file, columns,
      [&](const ProfileRow& row) -> std::string {
        const std::string module(row.text(0)), phase(row.text(1)), type(row.text(6));
        if (module != "mla" && module != "dsa")
          return fmt::format("module: expected mla or dsa, got \"{}\"", shortened(module, 40));
        if (phase != "context" && phase != "generation")
          return fmt::format("phase: expected context or generation, got \"{}\"", shortened(phase, 40));
        if (!data_type_named(type)) return wrong_type("kv_type", type);
        if (!points.emplace(module, phase, row[2], row[3], row[4], row[5], type).second)
          return "the point is measured twice";
        ++rows;
        return "";
      },
      problems);
  return rows;
}

void LogGrid::add(double a, double b, double c, double value) {
  grid_[std::log(a)][std::log(b)].add(std::log(c), value);
}

bool LogGrid::sort() {
  bool unique = true;
  std::set<double> second;
  for (Axis<Curve>& below : grid_.below) {
    second.insert(below.knots.begin(), below.knots.end());
    for (Curve& curve : below.below) unique = curve.sort() && unique;
  }
  b_.assign(second.begin(), second.end());
  return unique;
}

namespace {

const Curve* curve_at(const Axis<Curve>& axis, double knot) {
  const auto it = std::ranges::lower_bound(axis.knots, knot);
  return it == axis.knots.end() || *it != knot
             ? nullptr
             : &axis.below[static_cast<std::size_t>(it - axis.knots.begin())];
}

double value_at(const Curve& curve, double c) {
  return c < curve.x.front() ? 0 : curve.at(std::min(c, curve.x.back())).value;
}

}  // namespace

double LogGrid::at(double a, double b, double c) const {
  a = std::log(a), b = std::log(b), c = std::log(c);
  const Bracket first = bracket(grid_.knots, std::min(a, grid_.knots.back()));
  const Bracket second = bracket(b_, std::min(b, b_.back()));
  double sum = 0, weights = 0;
  const auto corner = [&](std::size_t i, std::size_t j, double weight) {
    if (weight <= 0) return;
    const Curve* curve = curve_at(grid_.below[i], b_[j]);
    if (!curve) return;
    sum += weight * value_at(*curve, c);
    weights += weight;
  };
  corner(first.low, second.low, (1 - first.share) * (1 - second.share));
  corner(first.low, second.high, (1 - first.share) * second.share);
  corner(first.high, second.low, first.share * (1 - second.share));
  corner(first.high, second.high, first.share * second.share);
  return weights > 0 ? sum / weights : value_at(nearest(a, b), c);
}

const Curve& LogGrid::nearest(double a, double b) const {
  const Curve* found = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < grid_.knots.size(); ++i)
    for (std::size_t j = 0; j < grid_.below[i].knots.size(); ++j) {
      const double far = std::hypot(grid_.knots[i] - a, grid_.below[i].knots[j] - b);
      if (far >= least) continue;
      least = far;
      found = &grid_.below[i].below[j];
    }
  return *found;
}

}  // namespace weir
