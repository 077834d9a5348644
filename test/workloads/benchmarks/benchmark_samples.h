#pragma once
// A small result of each load generator, made by hand: its fields are those of the source that is named above
// it.
namespace weir::test {

// vllm/benchmarks/serve.py of vllm-project/vllm, commit 009e6d4, with --save-result --save-detailed. One of
// its requests failed.
inline constexpr const char* vllm_bench_result = R"({"date": "20261101-101010", "endpoint_type": "openai",
  "backend": "openai", "label": null, "model_id": "meta-llama/Llama-3.1-8B-Instruct", "num_prompts": 4,
  "request_rate": "inf", "burstiness": 1.0, "max_concurrency": 2, "duration": 2.0, "completed": 3, "failed": 1,
  "total_input_tokens": 600, "total_output_tokens": 60, "request_throughput": 1.5, "request_goodput": null,
  "output_throughput": 30.0, "total_token_throughput": 330.0,
  "input_lens": [100, 200, 300, 50], "output_lens": [10, 20, 30, 0],
  "start_times": [1000.0, 1000.25, 1000.5, 1001.0], "ttfts": [0.05, 0.06, 0.07, 0.0],
  "itls": [[0.01], [0.01], [0.29], []], "generated_texts": ["a \" \\ NaN", "Infinity", "c", ""],
  "errors": ["", "", "", "timeout"],
  "mean_ttft_ms": 60.0, "median_ttft_ms": 60.0, "std_ttft_ms": 8.2, "p99_ttft_ms": 69.8,
  "mean_tpot_ms": 10.0, "mean_itl_ms": 11.0, "mean_e2el_ms": 250.0})";

// python/sglang/bench_serving.py of sgl-project/sglang, commit 0033168: a line a run, and Python's Infinity.
// The first one ran with --output-details.
inline constexpr const char* sglang_bench_results =
    R"({"backend": "sglang", "request_rate": Infinity, "max_concurrency": null, "duration": 2.0, "completed": 2, )"
    R"("total_input_tokens": 300, "total_output_tokens": 30, "total_output_tokens_retokenized": 30, )"
    R"("request_throughput": 1.0, "output_throughput": 15.0, "total_throughput": 165.0, )"
    R"("mean_e2e_latency_ms": 900.0, "mean_ttft_ms": 50.0, "accept_length": NaN, "input_lens": [100, 200], )"
    R"("output_lens": [10, 20], "ttfts": [0.05, 0.05], "itls": [[], []], "errors": ["", ""]})"
    "\n"
    R"({"backend": "sglang", "request_rate": 4.0, "max_concurrency": null, "duration": 2.0, "completed": 2, )"
    R"("total_input_tokens": 300, "total_output_tokens": 30, "total_output_tokens_retokenized": 30, )"
    R"("request_throughput": 1.0, "output_throughput": 15.0, "mean_e2e_latency_ms": 800.0, "mean_ttft_ms": 40.0})"
    "\n";

// profile_export.jsonl of ai-dynamo/aiperf, commit db4f639 (docs/tutorials/working-with-profile-exports.md):
// two requests, and one that was cancelled.
inline constexpr const char* aiperf_records =
    R"({"metadata": {"session_num": 0, "request_start_ns": 1759813207500000000, "was_cancelled": false}, )"
    R"("metrics": {"input_sequence_length": {"value": 550, "unit": "tokens"}, )"
    R"("output_sequence_length": {"value": 46, "unit": "tokens"}, )"
    R"("time_to_first_token": {"value": 50.0, "unit": "ms"}, "request_latency": {"value": 500.0, "unit": "ms"}, )"
    R"("inter_token_latency": {"value": 10.0, "unit": "ms"}}, "error": null})"
    "\n"
    R"({"metadata": {"session_num": 1, "request_start_ns": 1759813208500000000, "was_cancelled": false}, )"
    R"("metrics": {"input_sequence_length": {"value": 450, "unit": "tokens"}, )"
    R"("output_sequence_length": {"value": 24, "unit": "tokens"}, )"
    R"("time_to_first_token": {"value": 40000.0, "unit": "us"}, "request_latency": {"value": 0.5, "unit": "s"}, )"
    R"("inter_token_latency": {"value": 20.0, "unit": "ms"}}, "error": null})"
    "\n"
    R"({"metadata": {"session_num": 2, "request_start_ns": 1759813208600000000, "was_cancelled": true}, )"
    R"("metrics": {"error_isl": {"value": 550, "unit": "tokens"}}, )"
    R"("error": {"code": 499, "type": "RequestCancellationError", "message": "cancelled"}})"
    "\n";

// profile_export_aiperf.json of the same (aiperf/common/models/export_models.py), which genai-perf's is like.
inline constexpr const char* aiperf_summary = R"({"request_throughput": {"unit": "requests/sec", "avg": 1.25},
  "request_latency": {"unit": "ms", "avg": 500.0, "p50": 490.0, "p99": 600.0, "std": 9.0},
  "request_count": {"unit": "requests", "avg": 2.0}, "time_to_first_token": {"unit": "ns", "avg": 45000000.0},
  "inter_token_latency": {"unit": "ms", "avg": 15.0}, "output_token_throughput": {"unit": "tokens/sec", "avg": 47.0},
  "input_config": {"endpoint": {"model_names": ["llama"]}, "loadgen": {"concurrency": 8}}, "was_cancelled": false})";

// benchmarks.json of vllm-project/guidellm, commit ee7a774 (src/guidellm/benchmark/schemas): two loads, of
// the second one not all requests were kept.
inline constexpr const char* guidellm_report = R"({"metadata": {"version": 2, "guidellm_version": "0.7.3"},
  "config": {}, "benchmarks": [
  {"type_": "generative_benchmark", "config": {"strategy": {"type_": "concurrent", "streams": 4}},
   "metrics": {"request_totals": {"successful": 2, "incomplete": 0, "errored": 0, "total": 2},
    "requests_per_second": {"successful": {"mean": 1.5}}, "output_tokens_per_second": {"successful": {"mean": 52.5}},
    "time_to_first_token_ms": {"successful": {"mean": 45.0, "median": 44.0, "std_dev": 5.0,
                               "percentiles": {"p50": 44.0, "p90": 49.0, "p95": 49.5, "p99": 49.9}}},
    "inter_token_latency_ms": {"successful": {"mean": 15.0}}, "request_latency": {"successful": {"mean": 0.5}}},
   "requests": {"successful": [
     {"request_start_time": 1759813207.5, "prompt_tokens": 550, "output_tokens": 46},
     {"request_start_time": 1759813208.5, "prompt_tokens": 450, "output_tokens": 24}],
    "incomplete": [], "errored": []}},
  {"type_": "generative_benchmark", "config": {"strategy": {"type_": "constant", "rate": 2.5}},
   "metrics": {"request_totals": {"successful": 3}},
   "requests": {"successful": [{"request_start_time": 1.0, "prompt_tokens": 5, "output_tokens": 4}]}}]})";

// summary_lifecycle_metrics.json of kubernetes-sigs/inference-perf, commit 010d12f
// (inference_perf/reportgen/base.py).
inline constexpr const char* inference_perf_summary = R"({"load_summary": {"count": 50, "concurrency": 8},
  "failures": {"count": 1}, "successes": {"count": 49, "prompt_len": {"mean": 1000.0}, "output_len": {"mean": 190.0},
    "throughput": {"requests_per_sec": 9.9, "output_tokens_per_sec": 1890.0, "total_tokens_per_sec": 11790.0},
    "latency": {"request_latency": {"mean": 2.08, "median": 1.9, "p90": 2.5, "p99": 3.3},
      "time_to_first_token": {"mean": 0.1, "median": 0.09}, "time_per_output_token": {"mean": 0.0105},
      "inter_token_latency": {"mean": 0.0105}}}})";

// per_request_lifecycle_metrics.json of the same: a request, and one that failed.
inline constexpr const char* inference_perf_requests =
    R"([{"start_time": 5.0, "end_time": 6.2, "request": "", "error": null,
    "info": {"input_tokens": 30, "output_tokens": 3, "output_token_times": [5.5, 5.75, 6.0]}},
    {"start_time": 5.5, "end_time": 6.0, "error": {"error_type": "x"}, "info": {"input_tokens": 7}}])";

// token_benchmark_ray.py of ray-project/llmperf, commit 036ff0a: its summary, and a response.
inline constexpr const char* llmperf_summary = R"({"model": "m", "num_concurrent_requests": 4,
  "results_num_completed_requests": 30, "results_number_errors": 1, "results_num_completed_requests_per_min": 60.0,
  "results_mean_output_throughput_token_per_s": 150.0, "results_ttft_s_mean": 0.5, "results_ttft_s_stddev": 0.1,
  "results_ttft_s_quantiles_p50": 0.4, "results_ttft_s_quantiles_p99": 0.9,
  "results_end_to_end_latency_s_mean": 2.0, "results_end_to_end_latency_s_quantiles_p50": 1.9})";
inline constexpr const char* llmperf_responses =
    R"([{"error_code": null, "inter_token_latency_s": 0.4, "ttft_s": 0.5,
    "end_to_end_latency_s": 1.3, "number_input_tokens": 20, "number_output_tokens": 5}])";

// tensorrt_llm/bench/dataclasses/reporting.py of NVIDIA/TensorRT-LLM, commit 0249976.
inline constexpr const char* trtllm_report = R"({"engine": {"model": "m"}, "world_info": {"tp_size": 1},
    "request_info": {"num_requests": 10, "avg_input_length": 100, "avg_output_length": 20},
    "performance": {"total_latency_ms": 5000, "request_throughput_req_s": 2,
      "request_latency_percentiles_ms": {"average": 900, "p99": 1000}},
    "streaming_metrics": {"avg_ttft_ms": 40, "avg_tpot_ms": 9,
      "ttft_percentiles": {"average": 40, "p50": 39, "minimum": 1}}})";

}  // namespace weir::test
