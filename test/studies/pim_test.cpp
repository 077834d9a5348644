#include <array>
#include <catch2/catch.hpp>
#include <cstdio>
#include <sstream>

#include "models/memory/pim/mha_estimate.h"
#include "models/memory/pim/pim_channel.h"
#include "sim/app/results/csv.h"
#include "sim/core/params.h"
#include "sim/studies/validation/validation.h"
#include "test/app/run_weir.h"
#include "test/reference_folder.h"

namespace weir::test {
namespace {

// Empty where there is none.
std::filesystem::path dram_reference() {
  const auto folder = reference_folder() / "dram";
  if (!reference_folder().empty() && std::filesystem::exists(folder / "neupims_gemv_sweep.csv"))
    return folder;
  WARN("skipped: WEIR_REFERENCE names no folder with dram/neupims_gemv_sweep.csv");
  return {};
}

std::string unpacked(const std::filesystem::path& file) {
  std::string text;
  std::array<char, 4096> part;
  FILE* pipe = popen(("gzip -dc '" + file.string() + "'").c_str(), "r");
  REQUIRE(pipe);
  while (std::fgets(part.data(), static_cast<int>(part.size()), pipe)) text += part.data();
  CHECK(pclose(pipe) == 0);
  return text;
}

// NewtonSim's names; with single row buffers every precharge is one of the only row.
std::string newtonsim_name(DramCommand command, RowBuffers buffers) {
  switch (command) {
    case DramCommand::activate:
      return "ACTIVATE";
    case DramCommand::precharge:
      return "PRECHARGE";
    case DramCommand::pim_precharge:
      return buffers == RowBuffers::single ? "PRECHARGE" : "PIM_PRECHARGE";
    case DramCommand::gwrite:
      return "GWRITE";
    case DramCommand::header:
      return "P_HEADER";
    case DramCommand::group_activate:
      return "G_ACT";
    case DramCommand::gemv:
      return "COMPS_READRES";
    case DramCommand::comp:
      return "COMP";
    case DramCommand::result:
      return "READRES";
    default:
      return "REFRESH";
  }
}

// "cycle name rank group bank", what of them the command has.
std::string newtonsim_line(const PimCommand& c, const DramOrganisation& o, RowBuffers buffers) {
  const int rank = c.bank / o.banks_per_rank(), group = c.bank % o.banks_per_rank() / o.banks_per_group;
  std::ostringstream line;
  line << c.cycle << ' ' << newtonsim_name(c.command, buffers);
  if (c.command == DramCommand::refresh)
    line << ' ' << rank;
  else if (c.command == DramCommand::group_activate || c.command == DramCommand::precharge ||
           c.command == DramCommand::pim_precharge)
    line << ' ' << rank << ' ' << group << ' ' << c.bank % o.banks_per_group;
  return line.str();
}

std::string reference_line(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream in(row);
  for (std::string cell; std::getline(in, cell, ',');) cells.push_back(cell);
  std::string line = cells.at(0) + ' ' + cells.at(1);
  if (cells[1] == "REFRESH") return line + ' ' + cells.at(2);
  if (cells[1] == "G_ACT" || cells[1].ends_with("PRECHARGE"))
    for (const std::size_t i : {2u, 3u, 4u}) line += ' ' + cells.at(i);
  return line;
}

}  // namespace

TEST_CASE("PIM: whole command streams of NewtonSim, refresh included, command by command") {
  const auto folder = dram_reference();
  if (folder.empty()) return;
  const MemorySpec memory = find_memory("hbm2_neupims");
  for (const std::string buffers : {"dual", "single"})
    for (const std::string op : {"logit", "attend"}) {
      INFO(buffers << ' ' << op);
      std::istringstream rows(
          unpacked(folder / "commands" / ("newtonsim_" + buffers + "_" + op + "_1024.csv.gz")));
      std::vector<PimCommand> log;
      const PimOptions options{PimTiming::artifact, buffers == "dual" ? RowBuffers::dual : RowBuffers::single,
                               true, &log};
      play_pim(memory, std::vector<PimRequest>{{op == "logit" ? PimOp::logit : PimOp::attend, 1024, 8, 128}},
               options);
      std::string row;
      std::getline(rows, row);
      std::size_t i = 0, different = 0;
      for (; std::getline(rows, row); ++i)
        different += i >= log.size() ||
                     newtonsim_line(log[i], pim_organisation(memory), options.buffers) != reference_line(row);
      CHECK(i > 2500);
      CHECK(i == log.size());
      CHECK(different == 0);
    }
}

TEST_CASE("PIM: every GEMV of the reference's sweep takes NewtonSim's cycles") {
  const auto folder = dram_reference();
  if (folder.empty()) return;
  ReproduceOptions options;
  options.reference = reference_folder();
  std::vector<ReproducedRow> rows;
  add_pim(options, rows);
  int gemvs = 0;
  for (const ReproducedRow& row : rows) {
    INFO(row.id << ": " << row.note);
    if (row.judged()) CHECK(row.within());
    if (!row.id.starts_with("pim_gemv_")) continue;
    CHECK(row.simulated == 0.0);
    ++gemvs;
  }
  CHECK(gemvs == 6);
}

TEST_CASE("PIM: NewtonSim's tiles without refresh, and its GWRITE after every eighth") {
  const auto folder = dram_reference();
  if (folder.empty()) return;
  const MemorySpec memory = find_memory("hbm2_neupims");
  const Table table = Table::read(folder / "newtonsim_pim_cases.csv");
  int compared = 0;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const std::int64_t tiles = table.integer(i, "tiles"), every = table.integer(i, "gwrite_every_n_tiles");
    if (!table.text(i, "tag").starts_with("noref_gw8")) continue;
    const PimChunk chunk{every, static_cast<int>(table.integer(i, "heads_per_tile")),
                         static_cast<int>(table.integer(i, "comps_per_head"))};
    const std::vector<PimChunk> chunks(static_cast<std::size_t>(tiles / every), chunk);
    const RowBuffers buffers = table.text(i, "row_buffers") == "dual" ? RowBuffers::dual : RowBuffers::single;
    // This harness counts from cycle 2.
    CHECK(play_pim(memory, chunks, {PimTiming::artifact, buffers, false, nullptr}).cycles - 2 ==
          table.integer(i, "span_cycles"));
    ++compared;
  }
  CHECK(compared == 4);
}

TEST_CASE(
    "PIM: physical attention without refresh is the closed form, with one and two tFAW domains, within 1 %") {
  const auto folder = dram_reference();
  if (folder.empty()) return;
  const Table table = Table::read(folder / "neupims_mha_vs_alg1.csv");
  const PimOptions options{PimTiming::physical, RowBuffers::dual, false, nullptr};
  for (std::size_t i = 0; i < table.rows(); ++i)
    for (const int ranks : {1, 2}) {
      MemorySpec memory = find_memory("hbm2_neupims");
      memory.pim->ranks = ranks, memory.pim->bank_groups = 8 / ranks;
      const PimRequest request{PimOp::both, table.integer(i, "seq_len"), table.integer(i, "heads_per_device"),
                               table.integer(i, "d_head")};
      CHECK(static_cast<double>(play_pim(memory, std::vector{request}, options).cycles) ==
            Approx(table.number(
                       i, ranks == 1 ? "closed_form_physical_R1_noref" : "closed_form_physical_R2_noref"))
                .epsilon(0.01));
    }
}

TEST_CASE("Algorithm 1: the reference's columns, for four models and lengths") {
  const auto folder = dram_reference();
  if (folder.empty()) return;
  const Table table = Table::read(folder / "neupims_mha_vs_alg1.csv");
  REQUIRE(table.rows() == 16);
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const std::int64_t heads = table.integer(i, "heads_per_device"), length = table.integer(i, "seq_len");
    const MhaParameters parameters{.embedding = heads * table.integer(i, "d_head"), .heads = heads};
    CHECK(estimate_mha(parameters, length, Division::real).total() ==
          Approx(table.number(i, "alg1_real_division")).margin(1));
    CHECK(estimate_mha(parameters, length, Division::ceilings).total() ==
          table.number(i, "alg1_released_code_ceil"));
  }
}

TEST_CASE("weir pim: cycles as JSON on stdout, the summary on stderr") {
  const Ended artifact = run_weir({"pim", "hbm2_neupims", "--op", "logit", "--length", "1024", "--heads", "8",
                                   "--head-dim", "128", "--row-buffers", "dual", "--timing", "artifact"});
  CHECK(artifact.code == 0);
  CHECK(artifact.out == "{\"cycles\": 17247}\n");
  CHECK_THAT(artifact.err, Catch::Contains("64 tiles, 2 GWRITEs") && Catch::Contains("Energy"));
  const Ended plain = run_weir({"pim", "hbm2_neupims", "--op", "attend", "--length", "100", "--heads", "1",
                                "--head-dim", "32", "--no-refresh"});
  CHECK(plain.out == "{\"cycles\": " + std::to_string(15 + 96 + 1 + 91 + 14 + 16 + 16) + "}\n");  // 7 COMPs
}

TEST_CASE("weir pim: --reads adds the cycles beside a full stream of reads, and what the stream keeps") {
  const auto said = [](std::vector<std::string> more) {
    std::vector<std::string> all = {"pim",      "hbm2_neupims", "--op",   "logit",      "--length",
                                    "1024",     "--heads",      "8",      "--head-dim", "128",
                                    "--timing", "artifact",     "--reads"};
    all.insert(all.end(), more.begin(), more.end());
    const Ended ended = run_weir(all);
    CHECK(ended.code == 0);
    CHECK_THAT(ended.err, Catch::Contains("With reads"));
    return Json::parse(ended.out);
  };
  const Json dual = said({}), single = said({"--row-buffers", "single"});
  CHECK(dual.at("cycles") == 17247);
  CHECK(dual.at("cycles_with_reads") > 17247);
  CHECK(dual.at("reads_kept") > 0.5);
  CHECK(single.at("cycles") == 18031);
  CHECK(single.at("cycles_with_reads") == 18031);
  CHECK(single.at("reads_kept") == 0);
}

TEST_CASE("weir pim: bad input ends with 2 and says what is wrong") {
  const auto said = [](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "pim");
    const Ended ended = run_weir(arguments);
    CHECK(ended.code == 2);
    CHECK(ended.out.empty());
    return ended.err;
  };
  const std::vector<std::string> shape = {"--length", "9", "--heads", "1", "--head-dim", "64"};
  const auto with = [&](std::vector<std::string> first) {
    first.insert(first.end(), shape.begin(), shape.end());
    return first;
  };
  CHECK_THAT(said(with({"hbm2_neupims", "--op", "gemm"})), Catch::Contains("{logit,attend,both}"));
  CHECK_THAT(said(with({"hbm2e", "--op", "both"})), Catch::Contains("has no PIM (known: hbm2_neupims)"));
  CHECK_THAT(said(with({"hbm2_neupim", "--op", "both"})), Catch::Contains("did you mean"));
  CHECK_THAT(said(with({"hbm2_neupims", "--op", "both", "--timing", "paper"})), Catch::Contains("--timing"));
  CHECK_THAT(said({"hbm2_neupims", "--op", "both"}), Catch::Contains("--length is required"));
  CHECK_THAT(said({"hbm2_neupims", "--op", "both", "--length", "0", "--heads", "1", "--head-dim", "64"}),
             Catch::Contains("--length"));
}

}  // namespace weir::test
