#include <catch2/catch.hpp>

#include <algorithm>
#include <map>
#include <regex>

#include "sim/app/results/csv.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;

namespace {

const std::vector<std::string> explored_models = {
    "llama3-8b",  "llama3-70b",  "llama3.1-405b", "qwen2-7b",   "qwen2-72b",    "qwen1.5-110b",
    "phi3-small", "phi3-medium", "phi3.5-moe",    "mistral-7b", "mixtral-8x7b", "mixtral-8x22b"};
const std::vector<std::string> largest_models = {"llama3-70b", "qwen2-72b", "phi3-medium"};
constexpr int footprint_clusters[] = {1, 2, 4, 8, 16, 32, 64};

std::map<std::string, Json> reproduced(const std::filesystem::path& out, const std::string& only) {
  std::vector<std::string> words = {"reproduce", "preserve", "--figures", "--out", out.string()};
  if (!only.empty()) words.insert(words.end(), {"--only", only});
  const Ended ended = run_weir(words);
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  std::map<std::string, Json> rows;
  for (const Json& row : parse_json(contents(out / "reproduce.json"), "reproduce.json"))
    CHECK(rows.emplace(row["id"], row).second);
  return rows;
}

std::vector<double> column(const Table& table, const std::string& name) {
  std::vector<double> values;
  for (std::size_t i = 0; i < table.rows(); ++i) values.push_back(table.number(i, name));
  return values;
}

// A cell of a heat map by its batch and length; none where the memory does not hold it.
using Cells = std::map<std::pair<std::int64_t, std::int64_t>, std::optional<double>>;
Cells cells_of(const Table& table, const std::string& value, const std::string& model = "") {
  Cells cells;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    if (!model.empty() && table.text(i, "model") != model) continue;
    std::optional<double>& cell = cells[{table.integer(i, "batch"), table.integer(i, "length")}];
    if (!table.text(i, value).empty()) cell = table.number(i, value);
  }
  return cells;
}

// What does not fit does not with a larger batch or longer requests either; all else has a finite value.
void check_cells(const Cells& cells) {
  CHECK(std::ranges::any_of(cells, [](const auto& cell) { return !cell.second; }));
  for (const auto& [at, value] : cells) {
    INFO(at.first << " x " << at.second);
    if (value) {
      CHECK(std::isfinite(*value));
      continue;
    }
    for (const auto& more : {std::pair{2 * at.first, at.second}, std::pair{at.first, 2 * at.second}})
      CHECK((!cells.contains(more) || !cells.at(more)));
  }
}

}  // namespace

// Half a minute of processor time: everything that needs all of the study is in here.
TEST_CASE("weir reproduce preserve: its rows are within, and its figures are made", "[.reproduce]") {
  const ScratchDirectory scratch;
  const auto out = scratch / "all";
  const auto rows = reproduced(out, "");

  for (const char* id :
       {"fig6_min", "fig6_mean", "fig6_max", "fig6_saturation_min_mb", "fig6_saturation_max_mb",
        "fig6_models_at_136_or_144", "fig7_best_l2_mb", "fig7_density_at_104_over_peak", "fig7_ratio",
        "fig8_speedup_200", "fig8_speedup_1000", "fig8_monotone", "fig5_batch1024"}) {
    INFO(id);
    REQUIRE(rows.contains(id));
    CHECK(rows.at(id)["within"] == true);
  }
  for (const char* id : {"fig2_largest_at_16", "fig4_max", "fig4_falls", "fig5_batch16_1_chunk",
                         "fig7_density", "fig7_density_none", "tab1_mean"}) {
    INFO(id);
    REQUIRE(rows.contains(id));
    CHECK(rows.at(id)["simulated"] > 0);
    CHECK(rows.at(id)["within"].is_null());
  }
  CHECK(rows.at("fig4_falls")["simulated"] == 1);
  // Over chunks that do fuse PRESERVE does not win: outside, and the rows say why.
  for (const char* id : {"fig5_batch16", "fig5_batch16_4_chunks"}) {
    INFO(id);
    CHECK(rows.at(id)["within"] == false);
    CHECK(rows.at(id)["simulated"] > 0.98);
    CHECK_THAT(rows.at(id)["note"].get<std::string>(), Catch::Contains("outside: "));
  }
  // One chunk is no fusion: as over plain kernels.
  CHECK(rows.at("fig5_batch16_1_chunk")["simulated"] > rows.at("fig5_batch16")["simulated"]);

  const Table sizes = Table::read(out / "l2_size.csv");
  const std::vector<double> mb = column(sizes, "l2_mb");
  const double saturated = rows.at("fig6_saturation_max_mb")["simulated"];
  for (const std::string& model : explored_models) {
    INFO(model);
    const std::vector<double> latency = column(sizes, model);
    CHECK(latency.front() == 1);
    CHECK(std::ranges::is_sorted(latency, std::greater<>()));  // never rises
    for (std::size_t i = 0; i < mb.size(); ++i)
      if (mb[i] >= saturated) CHECK(latency[i] <= 1.0005 * latency.back());
  }
  // What is over one die in the rows is over all 32 in the file.
  CHECK(rows.at("fig7_density")["simulated"].get<double>() ==
        Approx(32 * std::ranges::max(column(sizes, "density"))).epsilon(1e-3));
  CHECK(std::ranges::is_sorted(column(sizes, "density_none"), std::greater<>()));

  // Algorithm 1 is no better than the best set of prefetches; window-aware, no step gets longer.
  const Table bound = Table::read(out / "bound.csv");
  CHECK(bound.rows() == 10);
  for (std::size_t i = 0; i < bound.rows(); ++i)
    for (const char* set : {"", "_physical"}) {
      const double best = bound.number(i, fmt::format("oracle{}", set)),
                   algorithm = bound.number(i, fmt::format("preserve{}", set));
      CHECK(best >= algorithm * (1 - 1e-5));
      CHECK(bound.number(i, fmt::format("window_aware{}", set)) >= 1);
      CHECK(best < 1.25 * algorithm);
    }

  for (const char* mean : {"mean", "mean_physical"})
    CHECK(std::ranges::is_sorted(column(Table::read(out / "networks.csv"), mean)));

  const Table lengths = Table::read(out / "lengths.csv");
  for (const char* set : {"speedup", "speedup_physical"})
    for (const std::string& model : largest_models) {
      const Cells cells = cells_of(lengths, set, model);
      CHECK(cells.size() == 9 * 7);
      check_cells(cells);
    }

  double least = 1e9, most = 0;
  const std::regex seconds("measured ([0-9.]+) s without, simulated ([0-9.]+) s");
  for (const auto& [id, row] : rows) {
    std::smatch match;
    const std::string note = row["note"];
    if (!std::regex_search(note, match, seconds)) continue;
    least = std::min(least, std::stod(match[1]) / std::stod(match[2]));
    most = std::max(most, std::stod(match[1]) / std::stod(match[2]));
  }
  std::smatch match;
  const std::string note = rows.at("tab1_mean")["note"];
  REQUIRE(std::regex_search(note, match, std::regex("take ([0-9.]+) to ([0-9.]+) times")));
  CHECK(std::stod(match[1]) == Approx(least).epsilon(0.02));
  CHECK(std::stod(match[2]) == Approx(most).epsilon(0.02));

  for (const char* figure : {"footprints", "lengths", "fused", "l2_size", "bound", "density", "networks"}) {
    INFO(figure);
    CHECK_THAT(contents(out / (std::string(figure) + ".svg")), Catch::Contains("</svg>"));
  }
}

TEST_CASE("weir reproduce preserve --only: a part is simulated and drawn without the others", "[engine]") {
  const ScratchDirectory scratch;
  const auto rows = reproduced(scratch / "fused", "fig5_batch1024");
  CHECK(rows.size() == 1);
  const Cells cells = cells_of(Table::read(scratch / "fused" / "fused.csv"), "speedup");
  CHECK(cells.size() == 7 * 7);
  check_cells(cells);
  for (const auto& [at, value] : cells) {
    INFO(at.first << " x " << at.second);
    if (value && at.first <= 64) CHECK(*value > 1);
    if (value && at.first == 1024) CHECK(*value < 1);
  }
  CHECK(std::filesystem::exists(scratch / "fused" / "fused.svg"));
  for (const char* other : {"footprints.csv", "lengths.csv", "l2_size.csv", "networks.csv", "l2_size.svg"})
    CHECK_FALSE(std::filesystem::exists(scratch / "fused" / other));
}

TEST_CASE("preserve: a half of a layer has the bytes of its weights and its K and V") {
  const ScratchDirectory scratch;
  reproduced(scratch / "halves", "fig2");
  const Table table = Table::read(scratch / "halves" / "footprints.csv");
  CHECK(table.rows() == explored_models.size() * std::size(footprint_clusters));
  struct Shape {  // as Meta's config.json have them
    std::string model;
    double hidden, intermediate, heads, kv_heads;
  };
  for (const Shape& s : {Shape{"llama3-8b", 4096, 14336, 32, 8}, Shape{"llama3-70b", 8192, 28672, 64, 8}})
    for (std::size_t i = 0; i < table.rows(); ++i) {
      if (table.text(i, "model") != s.model) continue;
      const double n = table.number(i, "devices"), head = s.hidden / s.heads;
      const double kv_heads = std::max(1., s.kv_heads / n);  // a device's
      INFO(s.model << " on " << n);
      if (s.heads < n) continue;
      const double weights = 2 * s.hidden * s.hidden / n + 2 * s.hidden * kv_heads * head,
                   kv = 2 * 8 * 16384 * kv_heads * head;
      CHECK(table.number(i, "attention_mb") == Approx(1e-6 * (weights + kv)).epsilon(1e-3));
      CHECK(table.number(i, "mlp_mb") == Approx(1e-6 * 3 * s.hidden * s.intermediate / n).epsilon(1e-3));
    }
}
