#include "sim/studies/validation/measured.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/embedded.h"
#include "sim/core/params.h"
#include "sim/studies/validation/closed_loops.h"

namespace weir {

extern const EmbeddedFiles measured_files;

namespace {

// The names that AIConfigurator's table uses.
std::string weir_name(const std::string& model) {
  if (model == "Qwen/Qwen3-32B") return "qwen3-32b";
  if (model == "meta-llama/Llama-3.1-8B-Instruct") return "llama3.1-8b";
  if (model == "meta-llama/Llama-3.1-70B") return "llama3.1-70b";
  return model;
}

// By the generators' public sources. The H200's: InferenceX of 2025 (vLLM 0.10.2, which prepares a step while
// the one before runs, lengths by --random-range-ratio 0.8, all at once, no warm-up, max_num_seqs as many as
// are in flight). The others: AIConfigurator's benchmark (bench_run.sh.j2: fixed lengths, a warm-up of two
// rounds, which ends before the others start), and TensorRT-LLM takes prompts whole
// (extra_engine_args.1.0.0rc3.yaml.j2); vLLM's server on an H100 has 1,024 seats (vllm/engine/arg_utils.py).
// The tokens of a step are not on record: there is room for one prompt beside decodes. The templates' 1,500
// more would let prompts of 1,024 tokens run in pairs, which stay pairs to the end, and no server shows that.
void load_as_generated(MeasuredServer& s, const std::string& version) {
  if (s.device == "h200_sxm") {
    s.load = {.shortest = 0.8,
              .batching = "chunked_prefill",
              .max_batch_requests = s.concurrency,
              .max_batch_tokens = 8192};
    s.engine_keys["version"] = "0.10.2";
    s.engine_keys["async_scheduling"] = true;  // benchmarks/70b_fp8_h200_slurm.sh
    return;
  }
  s.load = {.warmup_rounds = 2,
            .batching = "chunked_prefill",
            .max_batch_requests = 1024,
            .max_batch_tokens = 128 + s.input_tokens};
  s.engine_keys["version"] = version;
  if (s.engine != "trtllm") return;
  s.load.batching = "orca";
  load_as_trtllm_runs(s);
}

MeasuredLoad read_load(Params load) {
  const Range<std::int64_t> count{1};
  MeasuredLoad l;
  l.shortest = load.number({"shortest", "Lengths are uniform from this share on."}, fraction, 1);
  l.warmup_rounds = load.integer({"warmup_rounds", "Requests for each in flight, before."}, {0}, 0);
  l.rounds = load.integer({"rounds", "Requests for each in flight, measured."}, count, 10);
  l.most_requests = load.integer({"most_requests", "That are measured; 0: any number."}, {0}, 0);
  l.batching = load.text({"batching", "Kind of the server's batching."});
  l.max_batch_requests = load.integer({"max_batch_requests", "As the server was told."}, count);
  l.max_batch_tokens = load.integer({"max_batch_tokens", "As the server was told."}, count);
  load.close();
  return l;
}

}  // namespace

std::int64_t MeasuredLoad::requests(std::int64_t concurrency) const {
  const std::int64_t all = rounds * concurrency;
  return most_requests > 0 ? std::min(all, most_requests) : all;
}

// How many requests a mean is of, the digits of silicon_sample.csv say: times 20 for each client, or 2,000,
// they are whole nanoseconds (one or two less where a request failed), times 10 they are not. Seats are as
// many as clients in the templates of 2025 (max_batch_size: bs), less what the rows say of themselves. What
// client and front end let through is by the tokens/s of even rows, and one server alone comes near it
// (docs/calibration/README.md).
void load_as_trtllm_runs(MeasuredServer& server) {
  server.load.max_batch_requests = 0;
  server.load.rounds = 20;
  server.load.most_requests = 2000;
  server.engine_keys["front_end_tokens_per_s"] = 10'000;
}

std::string MeasuredServer::number() const {
  return weights == "fp8" && model.starts_with("qwen3") ? "fp8_block" : weights;
}

std::string MeasuredServer::group() const {
  return fmt::format("{}_{}_{}_{}{}_tp{}{}{}", device, engine, model, weights, pools.empty() ? "" : "_apart",
                     tensor, attention_data > 1 ? fmt::format("_dp{}", attention_data) : "",
                     expert > 1 ? fmt::format("_ep{}", expert) : "");
}

std::vector<MeasuredServer> reference_servers(const std::filesystem::path& reference) {
  const Table table = Table::read(reference / "serving" / "datacenter_gpus.csv");
  std::vector<MeasuredServer> servers;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    servers.push_back({.device = table.text(i, "system"),
                       .engine = table.text(i, "engine") == "trtllm" ? "trtllm" : "vllm_v1",
                       .model = weir_name(table.text(i, "model")),
                       .weights = table.text(i, "weights"),
                       .tensor = static_cast<int>(table.integer(i, "tp")),
                       .input_tokens = table.integer(i, "input_tokens"),
                       .output_tokens = table.integer(i, "output_tokens"),
                       .concurrency = table.integer(i, "concurrency"),
                       .load = {},
                       .ttft_ms = table.number(i, "ttft_ms"),
                       .tpot_ms = table.number(i, "tpot_ms"),
                       .source = "AIConfigurator silicon_sample.csv"});
    load_as_generated(servers.back(), table.text(i, "engine_version"));
  }
  seat_clients(servers);
  return servers;
}

Json shipped_table(const std::string& stem) {
  if (const auto text = text_of(measured_files, stem))
    return embedded_json(*text, "measured/" + stem + ".json");
  throw ConfigError("measured/" + stem + ".json", "", "is not embedded");
}

std::vector<MeasuredServer> shipped_servers() {
  Reading reading("measured/servers.json");
  const Json document = shipped_table("servers");
  Params table(reading, document);
  const std::string source = table.text({"source", "Where the figures were published."});
  const Range<std::int64_t> count{1};
  std::vector<MeasuredServer> servers;
  for (Params& row : table.list({"servers", "One row a measured case."}, 1)) {
    MeasuredServer s;
    s.device = row.text({"device", "Kind."});
    s.engine = row.text({"engine", "Engine preset."});
    s.model = row.text({"model", "Catalog name."});
    s.weights = row.text({"weights", "Number format."});
    s.tensor = static_cast<int>(row.integer({"tensor", "Tensor-parallel ranks."}, count));
    s.input_tokens = row.integer({"input_tokens", "Of every request."}, count);
    s.output_tokens = row.integer({"output_tokens", "Of every request."}, count);
    s.concurrency = row.integer({"concurrency", "Requests in flight."}, count);
    s.load = read_load(row.object({"load", "How it was loaded."}, Params::Presence::required));
    if (const Json* keys =
            row.value({"engine_keys", "As a scenario's engine has them."}, {}, Json::object())) {
      s.engine_keys = *keys;
      if (!keys->is_object()) row.fail("engine_keys", "must be an object");
    }
    s.ttft_ms = row.number({"ttft_ms", "Mean."}, positive);
    s.tpot_ms = row.number({"tpot_ms", "Mean."}, positive);
    s.source = source;
    row.close();
    servers.push_back(std::move(s));
  }
  table.close();
  reading.finish();
  return servers;
}

}  // namespace weir
