// Rows of the validation study for reads beside a PIM's commands, against NewtonSim and the ranges of what a
// PIM with dual row buffers promises.
#include <fmt/format.h>

#include <cmath>

#include "models/memory/pim/beside.h"
#include "sim/studies/validation/measured.h"
#include "sim/studies/validation/validation.h"

namespace weir {
namespace {

struct Beside {
  bool refresh, dual;
  PimChunk chunk;         // a GWRITE and its tiles
  std::int64_t tiles;     // in all
  std::int64_t interval;  // of reads; -1: as fast as they are accepted, 0: none
  std::int64_t cycles, reads;
};

std::vector<Beside> shipped() {
  std::vector<Beside> cases;
  const Json table = shipped_table("pim_beside");
  for (const Json& c : table.at("cases"))
    cases.push_back({c.at("tag") == "reads_gw8",
                     c.at("row_buffers") == "dual",
                     {8, c.at("heads_per_tile").get<int>(), c.at("comps_per_head").get<int>()},
                     64,
                     c.at("read_interval").get<std::int64_t>(),
                     c.at("span_cycles").get<std::int64_t>(),
                     c.at("reads_done").get<std::int64_t>()});
  return cases;
}

std::vector<Beside> reference(const std::filesystem::path& dram) {
  std::vector<Beside> cases;
  const Table table = Table::read(dram / "newtonsim_pim_cases.csv");
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const std::string& tag = table.text(i, "tag");
    if (tag != "reads_gw8" && tag != "noref_reads_gw8") continue;
    cases.push_back(
        {tag == "reads_gw8",
         table.text(i, "row_buffers") == "dual",
         {table.integer(i, "gwrite_every_n_tiles"), static_cast<int>(table.integer(i, "heads_per_tile")),
          static_cast<int>(table.integer(i, "comps_per_head"))},
         table.integer(i, "tiles"),
         table.integer(i, "read_interval(0=none;-1=max)"),
         table.integer(i, "span_cycles"),
         table.integer(i, "reads_done")});
  }
  return cases;
}

std::vector<PimChunk> chunks(const Beside& c) {
  return std::vector<PimChunk>(static_cast<std::size_t>(c.tiles / c.chunk.tiles), c.chunk);
}

PimBesideReads played(const Beside& c, PimTiming timing) {
  const PimOptions options{timing, c.dual ? RowBuffers::dual : RowBuffers::single, c.refresh, nullptr};
  return play_pim_beside_reads(find_memory("hbm2_neupims"), chunks(c), options,
                               std::max<std::int64_t>(c.interval, 0));
}

ReproducedRow row(std::string id, std::string metric, double simulated, double low, double high,
                  std::string note) {
  ReproducedRow r;
  r.id = "pim_beside_" + std::move(id), r.metric = std::move(metric), r.note = std::move(note);
  r.simulated = simulated, r.accept_min = low, r.accept_max = high;
  return r;
}

// Beside the fastest stream, the same work one after the other: with single row buffers, over the dual time.
double serial_over_dual(const Beside& c, const PimBesideReads& dual) {
  const MemorySpec memory = find_memory("hbm2_neupims");
  const PimOptions single{PimTiming::artifact, RowBuffers::single, c.refresh, nullptr};
  const auto run = play_pim_beside(memory, chunks(c), sequential_reads(memory, dual.reads), single);
  return static_cast<double>(run.normal.last_data_end) / static_cast<double>(dual.cycles);
}

}  // namespace

void add_pim_beside(const std::filesystem::path& dram, std::vector<ReproducedRow>& rows) {
  const std::vector<Beside> cases = dram.empty() ? shipped() : reference(dram);
  double cycles = 0, reads = 0;  // worst differences, percent
  double share[2] = {1, 0}, slow[2] = {INFINITY, -INFINITY}, physical[2] = {INFINITY, -INFINITY};
  double serial[2] = {INFINITY, -INFINITY}, single_reads = 0;
  int compared = 0;
  const auto worst = [](double& so_far, double simulated, double measured) {
    const double percent = 100 * (simulated / measured - 1);
    if (std::abs(percent) > std::abs(so_far)) so_far = percent;
  };
  const auto widen = [](double* range, double value) {
    range[0] = std::min(range[0], value), range[1] = std::max(range[1], value);
  };
  for (const Beside& c : cases) {
    if (!c.dual) single_reads += static_cast<double>(played(c, PimTiming::artifact).reads);
    if (!c.dual || c.interval == 0) continue;
    const PimBesideReads run = played(c, PimTiming::artifact);
    ++compared;
    worst(cycles, static_cast<double>(run.cycles), static_cast<double>(c.cycles));
    worst(reads, static_cast<double>(run.reads), static_cast<double>(c.reads));
    widen(slow, 100 * (run.pim_slowdown() - 1));
    if (c.interval != -1) continue;
    const double burst = static_cast<double>(find_memory("hbm2_neupims").timings.burst);
    if (c.refresh) widen(share, static_cast<double>(run.reads) * burst / static_cast<double>(run.cycles));
    if (c.refresh) widen(serial, serial_over_dual(c, run));
    widen(physical, 100 * (played(c, PimTiming::physical).pim_slowdown() - 1));
  }
  const std::string of = fmt::format("{} cases of 64 tiles, a GWRITE every 8; artifact timing", compared);
  rows.push_back(
      row("cycles", "PIM cycles with reads: worst difference from NewtonSim, %", cycles, -2, 2, of));
  rows.push_back(
      row("reads", "reads done beside the PIM: worst difference from NewtonSim, %", reads, -2, 2, of));
  rows.push_back(row("share_min", "least share of the peak that a full stream of reads keeps", share[0], 0.70,
                     0.80, "dual row buffers, artifact timing, with refresh"));
  rows.push_back(row("share_max", "largest share of the peak that a full stream of reads keeps", share[1],
                     0.70, 0.80, "as pim_beside_share_min"));
  rows.push_back(row("slowdown", "most that reads slow the PIM, %", slow[1], 0, 8.8,
                     fmt::format("{:.1f} to {:.1f} %; artifact timing", slow[0], slow[1])));
  rows.push_back(row("single", "reads done before the PIM is through, single row buffers", single_reads, 0, 0,
                     "a PIM row and a normal row exclude each other"));
  ReproducedRow both =
      row("serial", "the same work with single row buffers, over the dual time", serial[0], 0, 0,
          fmt::format("{:.2f} for logit tiles, {:.2f} for attend ones (NewtonSim: 18850 "
                      "cycles, then 4700 reads, against 13396: 2.1)",
                      serial[0], serial[1]));
  both.accept_min = both.accept_max = std::nullopt;
  rows.push_back(both);
  ReproducedRow own = row("slowdown_physical", "most that reads slow the PIM, %", physical[1], 0, 0, "");
  own.accept_min = own.accept_max = std::nullopt;
  own.note = fmt::format(
      "{:.1f} to {:.1f} %, physical timing: a group waits tFAW after a normal activation; NewtonSim lets "
      "it follow after tRRD (its timing.cc)",
      physical[0], physical[1]);
  rows.push_back(own);
}

}  // namespace weir
