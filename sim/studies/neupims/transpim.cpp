// Figure 15, an ESTIMATE of TransPIM (Zhou et al., HPCA 2022): every matrix and all of the attention on PIM,
// one request at a time, as the paper says of it (Section 8.2). GEMVs by the bank model with single row
// buffers; a matrix's outputs and a request's tokens are spread over all channels of a device, heads and
// matrices over the devices as in the runs it is held against, whose warm batches it takes. Each request
// reads the weights anew. Left out, all in TransPIM's favour: its ring broadcast and the links (the paper
// gives no figure), softmax, normalisation, and that an uneven stage keeps others waiting.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/memory/pim/pim_costs.h"
#include "sim/app/output/output_file.h"
#include "sim/studies/neupims/study.h"

namespace weir::neupims {
namespace {

std::int64_t on_a_channel(std::int64_t all) {
  return (all + channels - 1) / channels;
}

class TransPim {
 public:
  TransPim() : costs_(find_memory(pim_memory_name), {.buffers = RowBuffers::single}) {}

  // Tokens a second of the machine: requests follow one another through the stages.
  double rate(const Scenario& scenario) {
    const Sharding& sharding = scenario.replicas[0].parallelism;
    double weights = 0;
    for (int stage = 0; stage < sharding.pipeline; ++stage)
      weights += stage_weights(build_stage(scenario.model, scenario.precision, sharding, stage));
    const std::int64_t heads = heads_of_rank(scenario.model.most_heads(), sharding).query;
    double attention = 0;
    for (const Request& request : scenario.workload.requests)
      attention += costs_.sustained({PimOp::both, on_a_channel(request.input_tokens + steps_of_a_batch / 2),
                                     heads, scenario.model.most_heads().dim});
    attention *= static_cast<double>(scenario.model.layer_count()) /
                 static_cast<double>(scenario.workload.requests.size());
    return sharding.pipeline / ((weights + attention) * costs_.memory().clock.value());
  }

 private:
  // A row of the matrix in one bank, as the keys of a head that long.
  double stage_weights(const StageGraph& stage) {
    double cycles = 0;
    for_each_operator(stage, [&](const Operator& op, double times) {
      if (const auto* gemm = op.as<Gemm>())
        cycles += times * costs_.sustained({PimOp::logit, on_a_channel(gemm->out), 1, gemm->in});
    });
    return cycles;
  }

  PimCosts costs_;
};

}  // namespace

double transpim_rate(const Scenario& scenario) {
  static TransPim transpim;
  return transpim.rate(scenario);
}

void add_transpim(const Runs& runs, const std::filesystem::path& folder, Rows& rows) {
  std::string csv = "model,dataset,batch,transpim_tokens_per_s,neupims_paper_over,neupims_physical_over\n";
  std::vector<double> paper, physical;
  for (const char* dataset : datasets)
    for (const Model& model : models)
      for (const int batch : batches) {
        const StudyPoint point = throughput_point(neupims, model, dataset, batch);
        const double rate = transpim_rate(read_plan(scenario_of(point, "physical"), "TransPIM").scenario);
        const Measured& measured = runs.at(point);
        paper.push_back(measured.paper.output_throughput / rate);
        physical.push_back(measured.physical.output_throughput / rate);
        csv += fmt::format("{},{},{},{:.6g},{:.4f},{:.4f}\n", model.name, dataset, batch, rate, paper.back(),
                           physical.back());
      }
  if (!folder.empty()) write_file(folder / "transpim.csv", csv);
  const auto mean = [](const std::vector<double>& v) {
    return std::accumulate(v.begin(), v.end(), 0.) / static_cast<double>(v.size());
  };
  ReproducedRow row;
  row.id = "fig15_transpim_mean";
  row.metric = "ESTIMATE: throughput, NeuPIMs over TransPIM: mean of Figure 12's 40 points";
  row.paper = 228;
  row.simulated = mean(paper);
  row.physical = mean(physical);
  const auto [low, high] = std::ranges::minmax(paper);
  const auto [physical_low, physical_high] = std::ranges::minmax(physical);
  row.note = fmt::format(
      "paper: 79 to 431; here {:.0f} to {:.0f}, physical {:.0f} to {:.0f}. A matrix is read once a request "
      "from all banks at once; the paper's gap is that and what it lays to TransPIM's token-based dataflow "
      "and ring broadcast, which are left out here",
      low, high, physical_low, physical_high);
  rows.push_back(row);
}

}  // namespace weir::neupims
