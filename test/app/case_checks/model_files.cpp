// Config files of models: what a rank holds of them, and what is said.
#include <catch2/catch.hpp>

#include "test/app/case_checks/case_checks.h"

namespace weir::test {
namespace {

constexpr double gib = 1073741824;

nlohmann::json memory_of(const CaseRun& run, const std::string& results = "out/scenario") {
  const nlohmann::json summary = run.summary(results);
  REQUIRE(summary.contains("replicas"));
  return summary["replicas"][0]["memory"];
}

bool says(const CaseRun& run, const std::string& words) {
  return run.printed().find(words) != std::string::npos;
}

// Norms and routers count once a rank, which `within` has to allow.
void check_parameters(const CaseRun& run, double billions, double bytes, int ranks, double within) {
  const double weights = memory_of(run)["weights_bytes"].get<double>() * ranks;
  CHECK(weights / bytes / 1e9 == Approx(billions).epsilon(within));
}

}  // namespace

void check_fp8_checkpoint_misfit(const CaseRun& run) {
  CHECK(run.ended.code == 0);
  CHECK(says(run, "quantization_config (fp8) is read"));
  check_parameters(run, 1030, 1, 8, 0.02);
}

void check_granite_is_llama(const CaseRun& run) {
  CHECK(memory_of(run)["kv_bytes_per_token"] == 163840);
  check_parameters(run, 8.17, 2, 1, 0.001);
}

void check_infinity_in_config(const CaseRun& run) {
  CHECK(run.refused());
  CHECK(says(run, "nemotron_h"));
  CHECK_FALSE(says(run, "JSON"));
}

void check_int4_group32_kimi(const CaseRun& run) {
  const std::string text = run.printed();
  const std::size_t at = text.find(" GiB of weights a device");
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(text.substr(text.rfind(' ', at - 1))) == Approx(71.1).epsilon(0.01));
}

void check_kv_tokens_h200(const CaseRun& run) {
  for (const auto& [row, printed] : {std::pair("row0", 1391552.), {"row1", 635648.}}) {
    const nlohmann::json memory = memory_of(run, std::string("o_") + row + ".json");
    CHECK(memory["kv_cache_tokens"].get<double>() == Approx(printed).epsilon(0.01));
  }
  CHECK(says(run, "GiB of KV cache: 1,"));
}

void check_minimax_all_full_attn_type_list(const CaseRun& run) {
  CHECK(memory_of(run)["kv_bytes_per_token"].get<double>() * 8 == 253952);
  check_parameters(run, 228.7, 1, 8, 0.02);
}

void check_num_routed_experts_alias_v3(const CaseRun& run) {
  check_parameters(run, 671, 1, 8, 0.03);
}

void check_qwen2_5_vl_flat(const CaseRun& run) {
  CHECK(memory_of(run)["kv_bytes_per_token"] == 57344);
  check_parameters(run, 7.62, 2, 1, 0.001);
  CHECK(says(run, "vision tower"));
}

void check_qwen3_windows_note(const CaseRun& run) {
  CHECK(memory_of(run)["kv_bytes_per_token"] == 65536);
  CHECK_FALSE(says(run, "not modelled"));
}

void check_shared_indexer_glm52(const CaseRun& run) {
  CHECK(memory_of(run)["kv_bytes_per_token"] == 92628);
  const Ended without =
      run_weir({"run", "scenario.json", "--set", "/model=\"without.json\"", "--out", "without", "--quiet"},
               {.folder = run.folder});
  REQUIRE(without.code == 0);
  CHECK(memory_of(run, "without")["kv_bytes_per_token"] == 100152);
  CHECK(run.summary()["mean_ttft_ms"] < run.summary("without")["mean_ttft_ms"]);
}

}  // namespace weir::test
