// Every other command by a small input or two (commands/), in one folder, which gives what was recorded.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "test/app/recorded/figures.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"
#include "test/workloads/benchmarks/benchmark_samples.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

const fs::path inputs = WEIR_SOURCE_DIR "/test/app/recorded/commands";

// Reads and writes of a channel, most of them near the one before.
std::string accesses() {
  std::string csv = "arrival,op,addr_hex\n";
  unsigned state = 1, address = 0;
  for (int i = 0; i < 400; ++i) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes' generator
    address = state >> 28 < 4 ? state >> 6 : address + 64;
    csv += fmt::format("{},{},{:#x}\n", i * 3, state >> 16 & 3U ? 'R' : 'W', address);
  }
  return csv;
}

void add(const Figures& figures, const std::string& under, Figures& to) {
  for (const auto& [path, value] : figures) to[under + "." + path] = value;
}

void add_file(const fs::path& file, Figures& to) {
  if (file.filename() == "performance.json") return;  // how long it took
  if (file.extension() == ".csv") add(figures_of_columns(file), file.filename().string(), to);
  if (file.extension() == ".json")
    add(figures_of(read_json_file(file.string())), file.filename().string(), to);
}

Figures written(const fs::path& out) {
  Figures figures;
  if (fs::is_regular_file(out)) add_file(out, figures);
  if (fs::is_directory(out))
    for (const auto& entry : fs::recursive_directory_iterator(out)) add_file(entry.path(), figures);
  return figures;
}

Figures given(const std::vector<std::string>& words, const ScratchDirectory& scratch) {
  const Ended ended = run_weir(words, {.folder = scratch.path()});
  INFO(ended.err);
  CHECK(ended.code == 0);
  const auto out = std::find(words.begin(), words.end(), "--out");
  Figures figures;
  if (out != words.end()) figures = written(scratch.path() / out[1]);
  if (words[0] == "plot") figures = written(scratch.path() / words[1] / "plots");
  if (ended.out.starts_with("{")) figures.merge(figures_of(Json::parse(ended.out)));
  if (words[0] == "memory" || words[0] == "pim") figures.merge(figures_of_lines(ended.err));
  return figures;
}

FiguresByRun given_by_all() {
  const ScratchDirectory scratch;
  fs::copy(inputs, scratch.path(), fs::copy_options::recursive);
  write(scratch / "accesses.csv", accesses());
  for (const auto& [name, text] :
       std::map<std::string, std::string>{{"vllm_bench.json", vllm_bench_result},
                                          {"sglang_bench.jsonl", sglang_bench_results},
                                          {"aiperf.jsonl", aiperf_records},
                                          {"aiperf.json", aiperf_summary},
                                          {"guidellm.json", guidellm_report},
                                          {"inference_perf.json", inference_perf_summary},
                                          {"inference_perf_requests.json", inference_perf_requests},
                                          {"llmperf.json", llmperf_summary},
                                          {"llmperf_responses.json", llmperf_responses},
                                          {"trtllm_bench.json", trtllm_report}})
    write(scratch / name, text);
  FiguresByRun figures;
  for (const Json& command : read_json_file((inputs / "list.json").string())) {
    const auto words = command.get<std::vector<std::string>>();
    const std::string line = fmt::format("weir {}", fmt::join(words, " "));
    INFO(line);
    figures[line] = given(words, scratch);
  }
  return figures;
}

}  // namespace

TEST_CASE("commands: each gives the figures that were recorded of it") {
  FiguresByRun recorded = read_figures("commands");
  const FiguresByRun now = given_by_all();
  CHECK(recorded.size() == now.size());
  for (const auto& [command, figures] : now) {
    INFO(command << ": figures moved; see test/app/recorded/figures.h");
    CHECK(moved(recorded[command], figures) == "");
  }
}

TEST_CASE("commands: their figures, recorded anew", "[.record]") {
  write_figures("commands", given_by_all());
}
