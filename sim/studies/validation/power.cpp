// Watts of vLLM servers in a steady state, and their ITL beside them: ML.ENERGY's leaderboard, of which
// nothing is shipped. Dense models judge what docs/calibration/power.py fitted to them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/app/results/csv.h"
#include "sim/studies/case_runner.h"
#include "sim/studies/validation/validation.h"

namespace weir {
namespace {

struct PoweredServer {
  std::string device, model;
  bool dense;
  std::int64_t tensor, expert, most_requests, in_flight, input_tokens, output_tokens;
  double watts, itl_ms;  // of a GPU; the median

  std::string group() const { return device + (dense ? "" : "_experts"); }
  std::string cell() const { return fmt::format("{}_{}_tp{}", device, model, tensor); }
};

struct PoweredModel {
  std::string name;
  bool dense;
};
const std::map<std::string, PoweredModel> powered_models = {
    {"meta-llama/Llama-3.1-8B-Instruct", {"llama3.1-8b", true}},
    {"Qwen/Qwen3-8B", {"qwen3-8b", true}},
    {"Qwen/Qwen3-32B", {"qwen3-32b", true}},
    {"Qwen/Qwen3-30B-A3B-Instruct-2507", {"qwen3-30b-a3b", false}}};

const std::map<std::string, std::string> powered_devices = {{"H100", "h100_sxm"}, {"B200", "b200_sxm"}};

// ASSUMPTION: the source has no input lengths.
std::int64_t assumed_prompt(const std::string& task) {
  return task == "gpqa" ? 250 : 300;
}

// Rows whose GPUs are not the ranks that they name are left out.
std::vector<PoweredServer> reference_power(const std::filesystem::path& reference) {
  const Table table = Table::read(reference / "energy" / "vllm_power.csv");
  std::vector<PoweredServer> servers;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto model = powered_models.find(table.text(i, "model_id"));
    const auto device = powered_devices.find(table.text(i, "gpu_model"));
    if (model == powered_models.end() || device == powered_devices.end()) continue;
    const std::int64_t gpus = table.integer(i, "num_gpus"), tensor = table.integer(i, "tensor_parallel"),
                       expert = table.integer(i, "expert_parallel");
    if (table.integer(i, "data_parallel") != 1 || gpus != tensor * expert) continue;
    servers.push_back({.device = device->second,
                       .model = model->second.name,
                       .dense = model->second.dense,
                       .tensor = gpus,
                       .expert = expert,
                       .most_requests = table.integer(i, "max_num_seqs"),
                       .in_flight = std::llround(table.number(i, "avg_batch_size")),
                       .input_tokens = assumed_prompt(table.text(i, "task")),
                       .output_tokens = std::llround(table.number(i, "avg_output_len")),
                       .watts = table.number(i, "avg_power_watts") / static_cast<double>(gpus),
                       .itl_ms = table.number(i, "median_itl_ms")});
  }
  return servers;
}

// The image that the benchmark's README starts (github.com/ml-energy/benchmark).
constexpr const char* vllm_of_powered = "0.11.1";

Case steady_case(const PoweredServer& s) {
  constexpr std::int64_t loops = 10;  // requests for each in flight
  const Json devices = Json::array({{{"kind", s.device}, {"count", s.tensor}}});
  const char* interconnect = s.device == "b200_sxm" ? "nvlink5_switch" : "nvlink4_switch";
  return {fmt::format("{} {} x{}", s.device, s.model, s.in_flight),
          {{"model", s.model},
           {"cluster", {{"nodes", Json::array({{{"devices", devices}, {"interconnect", interconnect}}})}}},
           {"serving",
            {{"replicas", Json::array({{{"parallelism", {{"tensor", s.tensor}, {"expert", s.expert}}},
                                        {"engine", {{"kind", "vllm"}, {"version", vllm_of_powered}}},
                                        {"batching",
                                         {{"kind", "chunked_prefill"},
                                          {"max_batch_requests", s.most_requests},
                                          {"max_batch_tokens", 8192}}}}})}}},
           {"workload",
            {{"requests",
              {{"kind", "fixed"},
               {"count", loops * s.in_flight},
               {"input_tokens", s.input_tokens},
               {"output_tokens", s.output_tokens}}},
             {"arrivals",
              {{"kind", "closed_loop"},
               {"concurrency", s.in_flight},
               {"desynchronise", true},
               {"warmup_requests", s.in_flight}}}}}}};
}

struct Errors {
  std::vector<double> percent;
  void add(double simulated, double measured) { percent.push_back(100 * (simulated / measured - 1)); }
  double mean(double (*of)(double)) const {
    double sum = 0;
    for (const double error : percent) sum += of(error);
    return sum / static_cast<double>(percent.size());
  }
};

ReproducedRow row_of(const std::string& id, const char* metric, const Errors& errors) {
  ReproducedRow row;
  row.id = id;
  row.metric = metric;
  row.simulated = errors.mean([](double error) { return std::abs(error); });
  row.note = fmt::format("{} cases, mean signed error {:+.1f} %; prompts' lengths are assumed",
                         errors.percent.size(), errors.mean([](double error) { return error; }));
  return row;
}

}  // namespace

void add_power(const ReproduceOptions& options, std::vector<ReproducedRow>& rows) {
  if (!options.reference) return;
  std::vector<PoweredServer> servers = reference_power(*options.reference);
  std::erase_if(servers, [&](const PoweredServer& server) {
    const std::string groups[] = {server.group(), server.cell()};
    return std::ranges::none_of(groups, [&](const std::string& group) {
      return options.wants("power_watts_" + group) || options.wants("power_itl_" + group);
    });
  });
  std::vector<Case> cases;
  for (const PoweredServer& server : servers) cases.push_back(steady_case(server));
  const std::vector<CaseResult> results = run_cases(cases, options);
  std::map<std::string, std::pair<Errors, Errors>> groups;
  for (std::size_t i = 0; i < servers.size(); ++i) {
    if (!results[i].error.empty()) throw std::runtime_error(results[i].error);
    for (const std::string& group : {servers[i].group(), servers[i].cell()}) {
      auto& [watts, itl] = groups[group];
      watts.add(results[i].device_watts, servers[i].watts);
      itl.add(results[i].itl_p50_ms, servers[i].itl_ms);
    }
  }
  for (const auto& [group, errors] : groups) {
    rows.push_back(row_of("power_watts_" + group, "mean |error| of a GPU's watts, %", errors.first));
    if (group == "h100_sxm") rows.back().accept_max = 10;
    rows.push_back(row_of("power_itl_" + group, "mean |error| of median ITL of the same, %", errors.second));
    if (group == "h100_sxm") rows.back().accept_max = 12;
  }
}

}  // namespace weir
