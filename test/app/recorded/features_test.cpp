// Features by turns: small scenarios (features/*.json), each with a few keys set otherwise; every published
// family of models; scenarios drawn at random. They give what was recorded of them.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <vector>

#include "test/app/recorded/figures.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"
#include "test/serving/random_scenario.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

struct Feature {
  std::string group;
  std::string name;  // the group, and what is set
  std::string scenario;
  std::vector<std::string> settings;
};

void add_variants(const fs::path& file, const ScratchDirectory& scratch, std::vector<Feature>& to) {
  const Json group = read_json_file(file.string());
  const Json& scenario = group.at("scenario");
  if (group.contains("files"))
    for (const auto& [name, text] : group["files"].items()) write(scratch / name, text.get<std::string>());
  const std::string name = file.stem().string();
  const std::string path = scenario.is_string() ? WEIR_SOURCE_DIR "/" + scenario.get<std::string>()
                                                : write(scratch / (name + ".json"), scenario.dump());
  to.push_back({name, name, path, {}});
  for (const Json& variant : group.at("variants")) {
    Feature feature{name, name, path, {}};
    for (const auto& [pointer, value] : variant.items()) {
      feature.name += fmt::format(" {}={}", pointer, value.dump());
      feature.settings.insert(feature.settings.end(), {"--set", fmt::format("{}={}", pointer, value.dump())});
    }
    to.push_back(feature);
  }
}

// Each on one device that has room for any.
void add_families(const ScratchDirectory& scratch, std::vector<Feature>& to) {
  const std::string path = write(scratch / "families.json", R"({
    "model": "llama3-8b",
    "cluster": {"nodes": [{"devices": [{"kind": "b300_sxm", "memory_capacity_gib": 8000, "usable_memory_gib": 8000}]}]},
    "serving": {"replicas": [{"max_model_len": 2000, "kv_cache": {"memory_fraction": 0.99}}]},
    "workload": {"requests": {"kind": "fixed", "count": 3, "input_tokens": 900, "output_tokens": 4},
                 "arrivals": {"kind": "all_at_once"}}})");
  to.push_back({"families", "families", path, {}});
  for (const Json& family : read_json_file(WEIR_SOURCE_DIR "/test/models/llm/published_families.json")) {
    const std::string name = family.at("name").get<std::string>();
    write(scratch / ("config_of_" + name + ".json"), family.at("config").dump());
    to.push_back(
        {"families", "families " + name, path, {"--set", fmt::format("/model=\"config_of_{}.json\"", name)}});
  }
}

void add_random(const ScratchDirectory& scratch, std::vector<Feature>& to) {
  const auto add = [&](const std::string& name, const Json& scenario) {
    to.push_back({name, name, write(scratch / (name + ".json"), scenario.dump()), {}});
  };
  for (unsigned seed = 2000; seed < 2100; ++seed) {
    add(fmt::format("random_{}", seed), random_scenario(seed, false));
    if (seed % 3 == 0) add(fmt::format("random_npu_{}", seed), random_npu_scenario(seed, false));
  }
}

std::vector<Feature> all_features(const ScratchDirectory& scratch) {
  std::set<fs::path> files;
  for (const auto& entry : fs::directory_iterator(WEIR_SOURCE_DIR "/test/app/recorded/features"))
    files.insert(entry.path());
  std::vector<Feature> features;
  for (const fs::path& file : files) add_variants(file, scratch, features);
  add_families(scratch, features);
  add_random(scratch, features);
  return features;
}

// From figures beside them, by what shipped scenarios have as well.
bool derived(const std::string& figure) {
  for (const char* ending : {"throughput", "utilisation", "gb_per_s", "per_joule", "cost_dollars"})
    if (figure.ends_with(ending)) return true;
  return figure.starts_with("median_") || figure.starts_with("cost.");
}

Figures played(const Feature& feature, const ScratchDirectory& scratch) {
  const std::string out = scratch / "out";
  std::vector<std::string> words = {"run", feature.scenario, "--quiet", "--out", out};
  words.insert(words.end(), feature.settings.begin(), feature.settings.end());
  const Ended ended = run_command(words);
  INFO(feature.name << ": " << ended.err);
  CHECK((ended.code == 0 || ended.code == 3));
  if (ended.code != 0) return {};
  Figures figures = figures_of(read_json_file(out + "/summary.json"));
  for (const char* rows : {"requests.csv", "training_steps.csv"})
    if (fs::exists(out + "/" + rows)) figures.merge(figures_of_columns(out + "/" + rows));
  std::erase_if(figures, [](const auto& figure) { return derived(figure.first); });
  return figures;
}

}  // namespace

TEST_CASE("features: each gives the figures that were recorded of it") {
  const ScratchDirectory scratch;
  FiguresByRun recorded = read_figures("features");
  const std::vector<Feature> features = all_features(scratch);
  CHECK(recorded.size() == features.size());
  for (const Feature& feature : features) {
    Figures expected = recorded[feature.name];
    expected.merge(Figures(recorded[feature.group]));
    INFO(feature.name << ": figures moved; see test/app/recorded/figures.h");
    CHECK(moved(expected, played(feature, scratch)) == "");
  }
}

TEST_CASE("features: their figures, recorded anew", "[.record]") {
  const ScratchDirectory scratch;
  FiguresByRun recorded;
  for (const Feature& feature : all_features(scratch)) {
    const Figures now = played(feature, scratch);
    recorded[feature.name] = feature.settings.empty() ? now : other_than(recorded.at(feature.group), now);
  }
  write_figures("features", recorded);
}
