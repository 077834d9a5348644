// Rows of the validation study for the PIM model: in its artifact timing against NewtonSim, the simulator of
// the NeuPIMs authors; beside them Algorithm 1 of the paper against the physical timing.
#include <fmt/format.h>

#include <cmath>

#include "models/memory/pim/mha_estimate.h"
#include "models/memory/pim/pim_channel.h"
#include "sim/studies/validation/measured.h"
#include "sim/studies/validation/validation.h"

namespace weir {
namespace {

const MemorySpec& hbm_pim() {
  static const MemorySpec memory = find_memory("hbm2_neupims");
  return memory;
}

PimOptions artifact(const std::string& row_buffers, bool refresh) {
  return {PimTiming::artifact, row_buffers == "dual" ? RowBuffers::dual : RowBuffers::single, refresh,
          nullptr};
}

PimOp op_named(const std::string& name) {
  return name == "logit" ? PimOp::logit : name == "attend" ? PimOp::attend : PimOp::both;
}

Cycles cycles(const PimRequest& request, const PimOptions& options) {
  return play_pim(hbm_pim(), std::vector{request}, options).cycles;
}

// Differences of one group of cases.
struct Differences {
  int cases = 0, exact = 0;
  double worst = 0;  // percent, with its sign

  void add(Cycles simulated, Cycles measured) {
    const double percent = 100.0 * static_cast<double>(simulated - measured) / static_cast<double>(measured);
    ++cases;
    exact += simulated == measured;
    if (std::abs(percent) > std::abs(worst)) worst = percent;
  }
};
using Groups = std::map<std::string, Differences>;

void add_rows(const Groups& groups, double percent, std::vector<ReproducedRow>& rows) {
  for (const auto& [name, all] : groups) {
    ReproducedRow row;
    row.id = "pim_" + name;
    row.metric = "worst difference of cycles from NewtonSim, %";
    row.paper = 0;
    row.simulated = all.worst;
    row.accept_min = -percent;
    row.accept_max = percent;
    row.note = fmt::format("{} cases, {} of them to the cycle; artifact timing", all.cases, all.exact);
    rows.push_back(row);
  }
}

Groups shipped_gemvs() {
  const Json table = shipped_table("pim_cycles");
  Groups groups;
  for (const std::string buffers : {"dual", "single"})
    for (const std::string op : {"logit", "attend"})
      for (const auto& [length, measured] : table.at(buffers + "_" + op).items())
        groups["gemv_" + buffers + "_" + op].add(
            cycles({op_named(op), std::stoll(length), 8, 128}, artifact(buffers, true)),
            measured.get<Cycles>());
  return groups;
}

Groups reference_gemvs(const std::filesystem::path& dram) {
  const Table table = Table::read(dram / "neupims_gemv_sweep.csv");
  Groups groups;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const std::string& buffers = table.text(i, "mode");
    const std::string& op = table.text(i, "op");
    const PimRequest request{op_named(op), table.integer(i, "seq_len"), table.integer(i, "nh"),
                             table.integer(i, "dk")};
    groups["gemv_" + buffers + "_" + op].add(cycles(request, artifact(buffers, true)),
                                             table.integer(i, "cycles"));
  }
  return groups;
}

// Attention of one request, logit and attend. NewtonSim's harness counts from two or three cycles later here.
Groups reference_attention(const Table& table, bool refresh) {
  Groups groups;
  for (std::size_t i = 0; i < table.rows(); ++i)
    for (const std::string buffers : {"dual", "single"}) {
      const PimRequest request{PimOp::both, table.integer(i, "seq_len"), table.integer(i, "heads_per_device"),
                               table.integer(i, "d_head")};
      const std::string name = buffers + (refresh ? "_refresh" : "_norefresh");
      groups["mha_" + name].add(cycles(request, artifact(buffers, refresh)),
                                table.integer(i, "newtonsim_" + name));
    }
  return groups;
}

void add_algorithm1(std::vector<ReproducedRow>& rows) {
  for (const auto& [name, division] :
       {std::pair("real", Division::real), std::pair("ceil", Division::ceilings)}) {
    double low = INFINITY, high = -INFINITY;
    for (const std::int64_t length : {32, 50, 100, 305, 512, 1024}) {
      const auto model = static_cast<double>(cycles({PimOp::both, length, 8, 128}, {}));
      const double estimate = estimate_mha({.embedding = 1024, .heads = 8}, length, division).total();
      low = std::min(low, 100 * (estimate / model - 1));
      high = std::max(high, 100 * (estimate / model - 1));
    }
    ReproducedRow row;
    row.id = std::string("pim_alg1_") + name;
    row.metric = "Algorithm 1: worst underestimate of the bank model, %";
    row.simulated = low;
    row.note = fmt::format("{:+.0f} to {:+.0f} % over 32 to 1024 tokens, 8 heads of 128; physical timing",
                           low, high);
    rows.push_back(row);
  }
}

}  // namespace

void add_pim(const ReproduceOptions& options, std::vector<ReproducedRow>& rows) {
  const std::filesystem::path dram =
      options.reference ? *options.reference / "dram" : std::filesystem::path();
  const bool recorded = !dram.empty() && std::filesystem::is_directory(dram);
  if (recorded) {
    add_rows(reference_gemvs(dram), 2, rows);
    const Table attention = Table::read(dram / "neupims_mha_vs_alg1.csv");
    add_rows(reference_attention(attention, false), 3, rows);
    add_rows(reference_attention(attention, true), 10, rows);
  } else {
    add_rows(shipped_gemvs(), 2, rows);
  }
  add_pim_beside(recorded ? dram : std::filesystem::path(), rows);
  add_algorithm1(rows);
}

}  // namespace weir
