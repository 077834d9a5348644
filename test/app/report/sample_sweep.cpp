#include "test/app/report/sample_sweep.h"

#include <cmath>

#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"

namespace weir::test {
namespace {

constexpr const char* tensor_key = "/serving/replicas/0/parallelism/tensor";
constexpr const char* batching_key = "/serving/replicas/0/batching/kind";
constexpr const char* rate_key = "/workload/arrivals/rate_per_s";

// So that every number of a thousand points is another one, as in a real sweep.
void stir(Json& value, double factor) {
  if (value.is_number_float()) value = value.get<double>() * factor;
  if (value.is_structured())
    for (auto& [key, below] : value.items())
      if (key != "scenario") stir(below, factor * 1.01);
}

// Latency rises with load as 1 / (1 - load); a larger tensor is faster and less efficient.
void set_metrics(Json& summary, int tensor, std::size_t policy, double rate) {
  const double capacity = 30 * std::pow(tensor, 0.8) * (1 + 0.15 * static_cast<double>(policy));
  const double load = rate / capacity, kept = std::min(1.0, 1 / load);
  const double queue = load < 0.98 ? 1 / (1 - load) : 50 * load;
  summary["request_throughput"] = rate * kept;
  summary["request_goodput"] = rate * kept * std::min(1.0, 4 / queue);
  summary["output_throughput"] = rate * kept * 186;
  for (const char* statistic : {"mean", "median", "std", "p50", "p90", "p95", "p99"}) {
    const double spread = statistic == std::string("p99") ? 3.1 : 1.02;
    summary[std::string(statistic) + "_ttft_ms"] = 30.123 * spread * queue;
    summary[std::string(statistic) + "_tpot_ms"] =
        12.345 * spread * std::pow(tensor, -0.6) * (1 + 2 * std::min(load, 1.0));
  }
  summary["devices"][0]["devices"] = tensor;
  if (tensor == 8) {  // points need not have the same leaves
    summary["devices"].push_back(summary["devices"][0]);
    summary["devices"][1]["name"] = "replica 1 stage 0";
    summary.erase("notes");
  }
  summary["energy_j"] = 15041.09 / kept * tensor;
  summary["output_tokens_per_joule"] = 6.19 * kept * load / std::sqrt(tensor);
  summary["cost"]["dollars_per_million_output_tokens"] = 0.3 * tensor / (rate * kept * 186) * 1000;
  summary["kv_cache"]["peak"] = std::min(1.0, load);
}

}  // namespace

void run_quickstart(const std::filesystem::path& directory) {
  const Ended ended = run_weir({"run", shipped("quickstart.json"), "--quiet", "--out", directory.string()});
  if (ended.code != 0) throw std::runtime_error(ended.err);
}

ResultSet sample_sweep(const SampleSweep& shape) {
  const ScratchDirectory scratch;
  run_quickstart(scratch / "run");
  const Json summary = read_json_file(scratch / "run" / "summary.json");
  ResultSet results{scratch.path(),
                    "Layouts of llama3.1-8b <on> \"H100\" </script>",
                    true,
                    {tensor_key, batching_key, rate_key},
                    {}};
  if (shape.seeds > 1) results.varied.emplace_back("/seed");
  const std::vector<std::string> policies = {"chunked_prefill", "orca", "static"};
  for (const int tensor : {1, 2, 4, 8})
    for (std::size_t policy = 0; policy < policies.size(); ++policy)
      for (int r = 1; r <= shape.rates * shape.seeds; ++r) {
        PointResult point;
        point.index = static_cast<std::int64_t>(results.points.size());
        const int seed = (r - 1) % shape.seeds + 1;
        const double rate = 100.0 * ((r - 1) / shape.seeds + 1) / shape.rates;
        point.varied = {{tensor_key, tensor}, {batching_key, policies[policy]}, {rate_key, rate}};
        if (shape.seeds > 1) point.varied.emplace_back("/seed", seed);
        point.status =
            shape.fail_each > 0 && point.index % shape.fail_each == shape.fail_each - 1 ? "failed" : "done";
        if (point.status == "done") {
          point.summary = summary;
          stir(point.summary, 1 + 0.001 * static_cast<double>(point.index));
          for (const auto& [pointer, value] : point.varied)
            point.summary["scenario"][Json::json_pointer(pointer)] = value;
          set_metrics(point.summary, tensor, policy, rate * (1 + 0.01 * seed));
        } else {
          point.error = "killed by signal 9 after 60 s: over its time limit </script><!-- \u2028";
        }
        results.points.push_back(std::move(point));
      }
  return results;
}

}  // namespace weir::test
