// Algorithms 1 and 2 by themselves: estimates of one request, and how evenly placement loads the channels.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/memory/pim/mha_estimate.h"
#include "models/memory/pim/pim_costs.h"
#include "policies/placement/placement.h"
#include "sim/app/output/output_file.h"
#include "sim/studies/neupims/study.h"

namespace weir::neupims {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.) / static_cast<double>(values.size());
}

namespace {

// GPT3-7B over four devices.
constexpr MhaParameters share_of_7b{.embedding = 1024, .heads = 8};
constexpr MhaParameters share_of_30b{.embedding = 7168 / 4, .heads = 56 / 4};

// The busiest channel over the mean, a batch each: by Algorithm 1 with ceilings, by the bank model.
struct Loads {
  std::vector<double> estimated, played;
};

double standard_error(const std::vector<double>& values) {
  double squares = 0;
  for (const double v : values) squares += (v - mean(values)) * (v - mean(values));
  const auto n = static_cast<double>(values.size());
  return std::sqrt(squares / (n - 1) / n);
}

double most_over_mean(const std::vector<double>& loads) {
  return *std::ranges::max_element(loads) / mean(loads);
}

Loads loads_of(const Machine& machine, int batch, int batches, PimCosts& bank) {
  Json described = scenario_of({machine, "gpt3-7b", 4, 1, "sharegpt", batch}, "physical");
  described["/workload/arrivals/batches"_json_pointer] = batches;
  described["/workload/requests/count"_json_pointer] = std::max(10000, batches * batch);
  const Plan plan = read_plan(described, "channel loads");
  Loads all;
  for (const std::vector<PlacedRequest>& placed : placed_batches(plan, batch)) {
    std::vector<double> estimated(channels), played(channels);
    for (const PlacedRequest& r : placed) {
      const auto channel = static_cast<std::size_t>(r.channel);
      estimated[channel] += estimate_mha(share_of_7b, r.tokens, Division::ceilings).total();
      played[channel] += bank.sustained({PimOp::both, r.tokens, share_of_7b.heads, 128});
    }
    all.estimated.push_back(most_over_mean(estimated));
    all.played.push_back(most_over_mean(played));
  }
  return all;
}

}  // namespace

std::vector<std::vector<PlacedRequest>> placed_batches(const Plan& plan, int batch) {
  const ReplicaPlan& replica = plan.replicas[0];
  const std::vector<std::int64_t> room(channels, std::int64_t{1} << 40);
  std::vector<std::vector<PlacedRequest>> all;
  for (const Request& request : plan.scenario.workload.requests) {
    if (all.empty() || std::ssize(all.back()) == batch) all.emplace_back();
    all.back().push_back({.tokens = request.input_tokens, .channel = 0});
  }
  for (std::vector<PlacedRequest>& placed : all)
    replica.rank.placement->place({{}, room, 16, 0, replica.mha}, placed);
  return all;
}

void add_channel_loads(Rows& rows) {
  PimCosts bank(find_memory(pim_memory_name));
  struct Expected {
    const char* id;
    const Machine& machine;
    int batch;
    double prototype;
  };
  for (const Expected& e : {Expected{"gmlbp_load_rr_128", dual_buffers, 128, 1.84},
                            {"gmlbp_load_clb_128", balanced, 128, 1.08},
                            {"gmlbp_load_rr_256", dual_buffers, 256, 1.52},
                            {"gmlbp_load_clb_256", balanced, 256, 1.04}}) {
    // As all figures: ten batches. Of more, as nothing is simulated, what that sample's error is.
    constexpr int few = 10, many = 200;
    const Loads loads = loads_of(e.machine, e.batch, few, bank),
                all = loads_of(e.machine, e.batch, many, bank);
    ReproducedRow row;
    row.id = e.id;
    row.metric = fmt::format("busiest channel over the mean, GPT3-7B TP4, ShareGPT, {}, {} requests",
                             e.machine.placement, e.batch);
    row.simulated = mean(loads.estimated);
    row.physical = mean(loads.played);
    row.accept_min = row.physical_accept_min = std::max(1.0, e.prototype - 0.1);
    row.accept_max = row.physical_accept_max = e.prototype + 0.1;
    row.note = fmt::format(
        "prototype: {}; mean of {} warm batches, standard error {:.2f}, physical {:.2f}; of {}: {:.3f} and "
        "{:.3f}, "
        "errors {:.3f} and {:.3f}",
        e.prototype, few, standard_error(loads.estimated), standard_error(loads.played), many,
        mean(all.estimated), mean(all.played), standard_error(all.estimated), standard_error(all.played));
    rows.push_back(row);
  }
}

void add_estimates(Rows& rows) {
  const auto add = [&](const char* id, const char* metric, double published, double simulated, double slack) {
    ReproducedRow row;
    row.id = id;
    row.metric = fmt::format("Algorithm 1 {}, cycles; 305 tokens, GPT3-30B TP4", metric);
    row.paper = published;
    row.simulated = simulated;
    row.accept_min = published - slack;
    row.accept_max = published + slack;
    rows.push_back(row);
  };
  const MhaEstimate ceilings = estimate_mha(share_of_30b, 305, Division::ceilings),
                    real = estimate_mha(share_of_30b, 305, Division::real);
  add("alg1_ceil_logit", "with ceilings, logit", 7760, ceilings.logit, 0);
  add("alg1_ceil_attend", "with ceilings, attend", 11704, ceilings.attend, 0);
  add("alg1_real_logit", "as printed, logit", 6488.1, real.logit, 0.2);
  add("alg1_real_attend", "as printed, attend", 6972.1, real.attend, 0.2);

  PimCosts bank(find_memory(pim_memory_name));
  for (const std::int64_t length : {50, 305, 1024}) {
    const double played = bank.sustained({PimOp::both, length, share_of_30b.heads, 128});
    ReproducedRow row;
    row.id = fmt::format("alg1_against_bank_{}", length);
    row.metric = fmt::format("Algorithm 1 with ceilings over the bank model; {} tokens", length);
    row.simulated = estimate_mha(share_of_30b, length, Division::ceilings).total() / played;
    row.note = fmt::format("as printed: {:.2f}; bank model, physical timing: {:.0f} cycles",
                           estimate_mha(share_of_30b, length, Division::real).total() / played, played);
    rows.push_back(row);
  }
}

void write_algorithm1(const std::filesystem::path& folder) {
  PimCosts bank(find_memory(pim_memory_name));
  OutputFile file(folder / "algorithm1.csv");
  file.text("tokens,as_printed,ceilings,bank_model\n");
  for (std::int64_t tokens = 16; tokens <= 2048; tokens += 16)
    file.print("{},{:.1f},{:.1f},{:.1f}\n", tokens,
               estimate_mha(share_of_30b, tokens, Division::real).total(),
               estimate_mha(share_of_30b, tokens, Division::ceilings).total(),
               bank.sustained({PimOp::both, tokens, share_of_30b.heads, 128}));
  file.close();
}

}  // namespace weir::neupims
