#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <set>

#include "sim/studies/studies.h"
#include "sim/studies/validation/kernels.h"
#include "sim/studies/validation/measured.h"
#include "sim/studies/validation/validation.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"
#include "test/reference_folder.h"

namespace weir::test {
namespace {

bool skipped() {
  if (!reference_folder().empty()) return false;
  WARN("skipped: WEIR_REFERENCE names no folder of measurements");
  return true;
}

Json rows_in(const std::filesystem::path& directory) {
  return read_json_file(directory / "reproduce.json");
}

}  // namespace

TEST_CASE(
    "weir reproduce validation: without a reference it has servers and kernels, sampled and so unjudged, and "
    "DRAM") {
  const ScratchDirectory scratch;
  const auto out = scratch.path() / "v";
  const Ended ended = run_weir({"reproduce", "validation", "--out", out.string(), "--figures"},
                               {.environment = {"WEIR_REFERENCE="}});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  std::set<std::string> ids;
  for (const Json& row : rows_in(out)) {
    INFO(row.dump());
    for (const char* key : {"id", "metric", "paper", "simulated", "accept_min", "accept_max", "within",
                            "physical", "physical_accept_min", "physical_accept_max", "note"})
      CHECK(row.contains(key));
    CHECK(row["simulated"].is_number());
    const std::string id = row["id"];
    const bool judged = id == "wide_ep_prefill" || id == "wide_ep_decode" || id.starts_with("dram_") ||
                        id.starts_with("pim_gemv_") ||
                        (id.starts_with("pim_beside_") && id != "pim_beside_slowdown_physical" &&
                         id != "pim_beside_serial");  // no samples
    CHECK(row["accept_max"].is_null() != judged);
    CHECK(row["within"] == (judged ? Json(true) : Json()));
    CHECK_THAT(ended.out, Catch::Contains(row["id"].get<std::string>()));
    ids.insert(row["id"]);
  }
  for (const char* id : {"servers_tpot_all", "servers_ttft_all", "kernel_gemm_h100_sxm_bf16",
                         "kernel_decode_attention_h100_sxm_beyond_l2", "kernel_prefill_attention_h100_sxm"})
    CHECK(ids.contains(id));
  for (const char* file : {"tpot.svg", "kernels.svg", "figures/tpot.gp", "figures/kernels.gp", "servers.csv"})
    CHECK(std::filesystem::file_size(out / file) > 0);
}

TEST_CASE("weir reproduce validation: a server that cannot be played is a row that says so, never the end") {
  const ScratchDirectory scratch;
  const auto folder = scratch.path() / "reference" / "serving";
  std::filesystem::create_directories(folder);
  write(
      folder / "datacenter_gpus.csv",
      "system,engine,engine_version,model,weights,tp,input_tokens,output_tokens,concurrency,ttft_ms,tpot_ms\n"
      "h100_sxm,vllm,0.9,Qwen/Qwen3-32B,bf16,16,1024,128,8,165.1,11.8\n");
  const auto out = scratch.path() / "out";
  const Ended ended = run_weir({"reproduce", "validation", "--only", "servers", "--reference",
                                (scratch.path() / "reference").string(), "--out", out.string()});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  for (const Json& row : rows_in(out)) CHECK(row["simulated"].is_null());
  CHECK_THAT(ended.out, Catch::Contains("servers_failed_h100_sxm_vllm") && Catch::Contains("16 devices"));
  const Table servers = Table::read(out / "servers.csv");
  REQUIRE(servers.rows() == 1);
  CHECK(servers.text(0, "simulated_tpot_ms").empty());
  CHECK_THAT(servers.text(0, "failure"), Catch::Contains("16 devices"));
}

TEST_CASE("weir reproduce --only: keeps the rows whose id begins with it, and says when none does") {
  const ScratchDirectory scratch;
  const auto out = scratch.path() / "v";
  const HowToRun how{.environment = {"WEIR_REFERENCE="}};
  REQUIRE(run_weir({"reproduce", "validation", "--only", "kernel_gemm", "--out", out.string()}, how).code ==
          0);
  const Json rows = rows_in(out);
  REQUIRE(rows.size() == 3);
  for (const Json& row : rows) CHECK_THAT(row["id"].get<std::string>(), Catch::StartsWith("kernel_gemm_"));
  CHECK_FALSE(std::filesystem::exists(out / "kernels.svg"));
  const Ended none =
      run_weir({"reproduce", "validation", "--only", "kernel_gemn", "--out", out.string()}, how);
  CHECK(none.code == 2);
  CHECK_THAT(none.err, Catch::Contains("kernel_gemn"));
  CHECK(rows_in(out) == rows);
  const Ended anywhere =
      run_weir({"reproduce", "validation", "--only", "kernel_*gemm", "--out", out.string()}, how);
  CHECK(anywhere.code == 2);  // a * elsewhere is no sign
}

TEST_CASE("weir reproduce --only: what begins no id of a study is refused before anything runs") {
  const ScratchDirectory scratch;
  for (const Study& study : studies())
    for (const char* text : {"zzz", "rnel_gemm", "Kernel_gemm"}) {
      const Ended ended = run_weir({"reproduce", study.name, "--only", text}, {.folder = scratch.path()});
      INFO(study.name << ": " << ended.err);
      CHECK(ended.code == 2);
      CHECK_THAT(ended.err, Catch::Contains(fmt::format("--only {}: no such beginning of an id", text)));
      CHECK(scratch.names().empty());
    }
}

TEST_CASE("weir reproduce --only: a text names what begins with it or has it anywhere") {
  CHECK(names_id("fig12", "fig12_n"));
  CHECK_FALSE(names_id("ig12", "fig12_n"));
  CHECK(names_id("*ig12", "fig12_n"));
  CHECK(may_name("fig12_n", "fig12"));
  CHECK(may_name("fig", "fig12"));
  CHECK(may_name("*n", "fig12"));
  CHECK_FALSE(may_name("fig13", "fig12"));
}

TEST_CASE("weir reproduce --only: given twice keeps the rows of both, however many simulations run at once") {
  const ScratchDirectory scratch;
  const HowToRun how{.environment = {"WEIR_REFERENCE="}};
  const auto rows = [&](const char* jobs) {
    const auto out = scratch.path() / jobs;
    const Ended ended = run_weir({"reproduce", "validation", "--only", "servers_tpot_all", "--only",
                                  "pim_gemv_dual", "--jobs", jobs, "--out", out.string()},
                                 how);
    INFO(ended.err);
    REQUIRE(ended.code == 0);
    return rows_in(out);
  };
  const Json one = rows("1");
  REQUIRE(one.size() == 3);
  CHECK(one == rows("3"));
  const auto refused = [&](std::vector<std::string> more, const char* why) {
    more.insert(more.begin(), {"reproduce", "validation"});
    more.insert(more.end(), {"--out", (scratch.path() / "no").string()});
    const Ended ended = run_weir(more, how);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains(why));
    CHECK_FALSE(std::filesystem::exists(scratch.path() / "no"));
  };
  refused({"--only", "pim_gemv_dual", "--only", "pim_gemw"}, "--only pim_gemw");
  refused({"--jobs", "0"}, "--jobs");
}

TEST_CASE("weir reproduce --help: names every study") {
  const Ended help = run_weir({"reproduce", "--help"});
  CHECK(help.code == 0);
  for (const Study& study : studies())
    CHECK_THAT(help.out, Catch::Contains("\n") && Catch::Contains(study.name + ": "));
}

TEST_CASE("measured table: what is not a whole number, not a column or not a row is named with its line") {
  const ScratchDirectory scratch;
  const auto file = scratch.path() / "t.csv";
  std::ofstream(file) << "a,b\r\n1,2.5\r\n-3,x\r\n";
  const Table table = Table::read(file);
  CHECK(table.rows() == 2);
  CHECK(table.integer(1, "a") == -3);
  CHECK(table.number(0, "b") == 2.5);
  CHECK_THROWS_WITH(table.integer(0, "b"), Catch::Contains("line 2"));
  CHECK_THROWS_WITH(table.number(1, "b"), Catch::Contains("line 3"));
  CHECK_THROWS_WITH(table.text(0, "c"), Catch::Contains("no column c"));
  std::ofstream(file, std::ios::app) << "1\n";
  CHECK_THROWS_WITH(Table::read(file), Catch::Contains("line 4"));
}

TEST_CASE("shipped servers: every seventh of the measured ones from the fourth, as their source says") {
  if (skipped()) return;
  const auto all = reference_servers(reference_folder());
  const auto shipped = shipped_servers();
  REQUIRE(shipped.size() == (all.size() + 3) / 7);
  for (std::size_t i = 0; i < shipped.size(); ++i) {
    const MeasuredServer &s = shipped[i], &m = all[7 * i + 3];
    CHECK(s.group() == m.group());
    CHECK(s.input_tokens == m.input_tokens);
    CHECK(s.output_tokens == m.output_tokens);
    CHECK(s.concurrency == m.concurrency);
    CHECK(s.load == m.load);
    CHECK(s.engine_keys == m.engine_keys);
    CHECK(s.tpot_ms == m.tpot_ms);
    CHECK(s.ttft_ms == m.ttft_ms);
  }
}

TEST_CASE("shipped kernels: each is a measured one, simulated alike") {
  if (skipped()) return;
  const auto all = reference_kernels(reference_folder());
  for (const KernelSample& s : shipped_kernels()) {
    INFO(s.group << " " << s.measured);
    CHECK(std::any_of(all.begin(), all.end(), [&](const KernelSample& m) {
      return m.group == s.group && std::abs(m.measured / s.measured - 1) < 1e-5 &&
             std::abs(m.simulated / s.simulated - 1) < 1e-9;
    }));
  }
}

// A change of the kernels or their constants that brings them further from the measurements must be seen, and
// one that brings them nearer must be written down.
TEST_CASE("kernel accuracy: every group is as near to the measured times as docs/calibration says") {
  if (skipped()) return;
  const ScratchDirectory scratch;
  ReproduceOptions options;
  options.reference = reference_folder();
  options.files = scratch.path();
  std::vector<ReproducedRow> rows;
  add_kernels(options, rows);
  REQUIRE(rows.size() == kernel_groups().size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const KernelGroup& group = kernel_groups()[i];
    INFO(group.name << ": " << rows[i].note);
    CHECK(rows[i].id == "kernel_" + group.name);
    CHECK(rows[i].simulated.value() == Approx(group.calibrated).margin(0.051));
  }
}

}  // namespace weir::test
