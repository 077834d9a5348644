// The JSON reader and the scenario reader on any bytes whatever: a Scenario or a ConfigError. What begins
// like an object is a scenario as it stands; other bytes are edits of a good one, two bytes each, for no
// search through random bytes finds one. Where a byte is left over, it is one that trains.
#include <string>
#include <vector>

#include "sim/plan/plan.h"
#include "test/fuzz/json_edits.h"

using namespace weir;

namespace {

const Json good = parse_json(R"({
  "name": "fuzz", "seed": 1, "model": "llama3.1-8b",
  "precision": {"weights": "bf16", "activations": "bf16", "kv_cache": "bf16"},
  "cluster": {"nodes": [{"count": 1, "devices": [{"kind": "h100_sxm", "count": 2}], "interconnect": "nvlink4_switch"}],
              "network": {"topology": "fat_tree", "link_bandwidth_gb_per_s": 50, "link_latency_us": 5}},
  "serving": {"replicas": [{"count": 1, "role": "both", "parallelism": {"tensor": 2, "pipeline": 1, "expert": 1},
      "batching": {"kind": "chunked_prefill", "max_batch_requests": 256, "max_batch_tokens": 8192},
      "kv_cache": {"block_tokens": 16, "memory_fraction": 0.9, "admission": "chunk", "preemption": "recompute"},
      "engine": {"kind": "vllm_v1"}}], "routing": {"kind": "least_outstanding"}},
  "workload": {"requests": {"kind": "lognormal", "count": 10, "input": {"mean": 100, "std": 50, "max": 1000},
                            "output": {"mean": 100, "std": 50}},
               "arrivals": {"kind": "gamma", "rate_per_s": 5, "cv": 2, "warmup_requests": 1}},
  "slo": {"ttft_ms": 1000, "tpot_ms": 50}
})",
                             "good");

const Json good_training = parse_json(R"({
  "kind": "training", "name": "fuzz", "seed": 1, "assumptions": "paper", "fast_forward": true,
  "cluster": {"nodes": [{"count": 1, "devices": [{"kind": "xeon_e5_2630v3"}, {"kind": "hetero_pim"}, {"kind": "gtx1080ti"}],
                         "interconnect": "none"}]},
  "training": [{"name": "a", "model": "alexnet", "batch": 32, "steps": 10, "devices": ["xeon_e5_2630v3", "hetero_pim"],
                "data_parallel": 1, "clock_multiple": 2, "host_waiting_w": 10,
                "runtime": {"kind": "hetero_pim", "candidates_share": 0.9, "recursive_kernels": true,
                            "operation_pipeline": true, "when_busy": "sooner"},
                "beside": {"model": "word2vec", "batch": 128, "steps": 10, "runtime": {"kind": "spare_cores"}}},
               {"model": "word2vec", "devices": ["gtx1080ti"], "runtime": {"kind": "gpu_only"}}]
})",
                                      "good");

const std::vector<Json> values = {nullptr,
                                  true,
                                  0,
                                  1,
                                  2,
                                  3,
                                  -1,
                                  0.5,
                                  1e300,
                                  -1e-300,
                                  1000000,
                                  9223372036854775807,
                                  18446744073709551615u,
                                  2.7,
                                  "",
                                  "x",
                                  "h100_sxm",
                                  "a100_sxm_40gb",
                                  "none",
                                  "mixtral-8x7b",
                                  "qwen3-30b-a3b",
                                  "orca",
                                  "static",
                                  "round_robin",
                                  "closed_loop",
                                  "named",
                                  "csv",
                                  "sequence",
                                  "swap",
                                  "prefill",
                                  "decode",
                                  "fp8",
                                  "training",
                                  "hetero_pim",
                                  "xeon_e5_2630v3",
                                  "cpu_only",
                                  "lstm",
                                  Json::array(),
                                  Json::object(),
                                  Json::array({Json::object()})};

// A long workload is no mistake, only slow to draw.
void shorten(Json& document) {
  for (const char* key : {"/workload/requests/count"}) {
    const Json::json_pointer at(key);
    if (document.contains(at) && document[at].is_number() && document[at].get<double>() > 1000)
      document[at] = 1000;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    Json document = size % 2 == 0 ? good : good_training;
    if (size > 0 && (data[0] == '{' || data[0] == '[' || data[0] == ' '))
      document = parse_json(std::string(data, data + size), "fuzz.json");
    else
      test::edit(document, {data, size}, values);
    shorten(document);
    read_plan(document, "fuzz.json");
  } catch (const ConfigError& e) {
    if (e.problems().empty()) std::abort();
  }
  return 0;
}
