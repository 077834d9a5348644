#include "test/devices/reference.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace weir::test {
namespace {

const std::map<std::string, std::string> profiles = {{"rtx4090", "rtx4090_llama3.1-8b_tp1"},
                                                     {"rtx_pro_6000", "rtx_pro_6000_llama3.1-8b_tp1"}};
// Llama-3.1-8B: hidden 4096, 32 query and 8 KV heads of 128, MLP 14336, vocabulary 128256.
const std::map<std::string, std::pair<int, int>> llama_8b = {{"qkv_proj", {4096, 6144}},
                                                             {"o_proj", {4096, 4096}},
                                                             {"gate_up_proj", {4096, 28672}},
                                                             {"down_proj", {14336, 4096}},
                                                             {"lm_head", {4096, 128256}}};
const std::map<std::string, double> llama_8b_bytes = {
    {"layernorm", 4 * 4096 * 2}, {"final_layernorm", 4 * 4096 * 2}, {"rotary_emb", 2 * 40 * 256},
    {"act_fn", 3 * 14336 * 2},   {"embedding", 2 * 4096 * 2},       {"sampler", 128256 * 10}};

BatchShape rows_batch(double rows) {
  BatchShape batch;
  batch.decodes = batch.decode_context_sum = batch.sequences = static_cast<std::int64_t>(rows);
  batch.decode_context_max = 1;
  return batch;
}

double seconds(const Device& device, const Operator& op, const BatchShape& batch) {
  return device.cost(op, batch, no_links()).time.value();
}

}  // namespace

std::filesystem::path reference_folder() {
  const char* folder = std::getenv("WEIR_REFERENCE");
  const std::filesystem::path path = folder ? folder : "";
  return !path.empty() && std::filesystem::is_directory(path / "kernels") ? path : std::filesystem::path();
}

std::vector<CsvRow> read_reference(const std::string& file) {
  std::ifstream in(reference_folder() / file);
  std::vector<CsvRow> rows;
  std::vector<std::string> header;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    std::stringstream cells(line);
    std::vector<std::string> values;
    for (std::string cell; std::getline(cells, cell, ',');) values.push_back(cell);
    if (header.empty()) {
      header = values;
      continue;
    }
    CsvRow row;
    for (std::size_t i = 0; i < values.size() && i < header.size(); ++i) row.cells[header[i]] = values[i];
    rows.push_back(std::move(row));
  }
  return rows;
}

std::map<std::string, GroupError> errors_by_group(const std::vector<Comparison>& all) {
  std::map<std::string, GroupError> groups;
  for (const Comparison& c : all) {
    GroupError& g = groups[c.group];
    const double e = c.simulated / c.measured - 1;
    ++g.rows;
    g.mean_absolute += std::abs(e);
    g.bias += e;
  }
  for (auto& [name, g] : groups) {
    g.mean_absolute /= g.rows;
    g.bias /= g.rows;
  }
  return groups;
}

std::shared_ptr<const Device> catalog_device(const std::string& kind, const Json& overrides) {
  Reading reading("test");
  Params params(reading, overrides);
  auto device = make_device(kind, params);
  params.close();
  reading.finish();
  return device;
}

Operator gemm_operator(std::int64_t in, std::int64_t out, DataType weights, DataType activations) {
  Operator op;
  op.name = "qkv_proj";
  op.kind = OperatorKind::gemm;
  op.in_features = in;
  op.out_features = out;
  op.weights = weights;
  op.activations = activations;
  return op;
}

Operator attention_operator(std::int64_t query_heads, std::int64_t kv_heads, std::int64_t head_dim) {
  Operator op;
  op.name = "attention";
  op.kind = OperatorKind::attention;
  op.query_heads = query_heads;
  op.kv_heads = kv_heads;
  op.head_dim = head_dim;
  return op;
}

BatchShape decode_batch(std::int64_t requests, std::int64_t context) {
  BatchShape batch;
  batch.decodes = batch.sequences = requests;
  batch.decode_context_sum = requests * context;
  batch.decode_context_max = context;
  return batch;
}

const CollectiveModel& no_links() {
  static const auto none = make_collectives(LinkSpec{}, "");
  return *none;
}

std::vector<Comparison> compare_gemms() {
  std::vector<Comparison> all;
  std::map<std::string, std::shared_ptr<const Device>> devices;
  const auto add = [&](const std::string& group, const std::string& kind, const Operator& op, double rows,
                       double measured) {
    auto& device = devices[kind];
    if (!device) device = catalog_device(kind);
    all.push_back({group, measured, seconds(*device, op, rows_batch(rows))});
  };
  for (const CsvRow& row : read_reference("kernels/gemm_vllm.csv")) {
    const bool half = row.text("dtype") == "bfloat16";
    const DataType type = half ? DataType::bf16 : DataType::fp8;
    Operator op = gemm_operator(static_cast<std::int64_t>(row.number("in_features")),
                                static_cast<std::int64_t>(row.number("out_features")), type, type);
    add("gemm " + row.text("device") + (half ? " bf16" : " fp8"), row.text("device"), op,
        row.number("tokens"), 1e-3 * row.number("ms"));
  }
  for (const auto& [file, kind] :
       {std::pair{"kernels/gemm_a100.csv", "a100_sxm_80gb"}, std::pair{"kernels/gemm_h100.csv", "h100_sxm"}})
    for (const CsvRow& row : read_reference(file))
      add(std::string("gemm ") + kind + " bf16, Vidur's older profile", kind,
          gemm_operator(static_cast<std::int64_t>(row.number("K")),
                        static_cast<std::int64_t>(row.number("N"))),
          row.number("num_tokens"), 1e-3 * row.number("median_ms"));
  for (const auto& [kind, folder] : profiles)
    for (const auto& [file, rows] :
         {std::pair{"dense.csv", "tokens"}, std::pair{"per_sequence.csv", "sequences"}})
      for (const CsvRow& row : read_reference("profiles/" + folder + "/" + file))
        if (const auto it = llama_8b.find(row.text("layer")); it != llama_8b.end())
          add("gemm " + kind + " bf16", kind, gemm_operator(it->second.first, it->second.second),
              row.number(rows), 1e-6 * row.number("time_us"));
  return all;
}

std::vector<Comparison> compare_attention() {
  std::vector<Comparison> all;
  const auto h100 = catalog_device("h100_sxm"), a100 = catalog_device("a100_sxm_80gb");
  for (const CsvRow& row : read_reference("kernels/attention_h100_vllm.csv")) {
    const auto query = static_cast<std::int64_t>(row.number("query_heads"));
    const auto kv = static_cast<std::int64_t>(row.number("kv_heads"));
    const Operator op = attention_operator(query, kv);
    const auto batch = static_cast<std::int64_t>(row.number("batch"));
    const auto isl = static_cast<std::int64_t>(row.number("isl")),
               step = static_cast<std::int64_t>(row.number("step"));
    if (row.text("phase") == "decode") {
      const bool cold = static_cast<double>(batch * (isl + step) * kv) * 512 > 50e6;
      const double simulated = seconds(*h100, op, decode_batch(batch, isl + step));
      all.push_back({"decode attention h100_sxm", 1e-3 * row.number("ms"), simulated});
      if (cold)
        all.push_back(
            {"decode attention h100_sxm, KV beyond the L2 cache", 1e-3 * row.number("ms"), simulated});
    } else if (isl >= 16) {
      const std::vector<PrefillChunk> chunks(static_cast<std::size_t>(batch), {isl, step});
      BatchShape shape;
      shape.prefill = chunks;
      shape.prefill_tokens = batch * isl;
      all.push_back({"prefill attention h100_sxm", 1e-3 * row.number("ms"), seconds(*h100, op, shape)});
    }
  }
  for (const CsvRow& row : read_reference("kernels/attn_decode_a100_h8192_q64_kv8_tp2.csv"))
    all.push_back({"decode attention a100_sxm_80gb", 1e-3 * row.number("ms"),
                   seconds(*a100, attention_operator(32, 4),
                           decode_batch(static_cast<std::int64_t>(row.number("batch_size")),
                                        static_cast<std::int64_t>(row.number("kv_cache_size")) + 1))});
  for (const CsvRow& row : read_reference("kernels/attn_prefill_a100_h8192_q64_kv8_tp2.csv")) {
    const PrefillChunk chunk{static_cast<std::int64_t>(row.number("prefill_chunk_size")),
                             static_cast<std::int64_t>(row.number("kv_cache_size"))};
    BatchShape shape;
    shape.prefill = std::span(&chunk, 1);
    shape.prefill_tokens = chunk.tokens;
    all.push_back({"prefill attention a100_sxm_80gb", 1e-3 * row.number("ms"),
                   seconds(*a100, attention_operator(32, 4), shape)});
  }
  for (const auto& [kind, folder] : profiles) {
    const auto device = catalog_device(kind);
    for (const CsvRow& row : read_reference("profiles/" + folder + "/attention.csv")) {
      const PrefillChunk chunk{static_cast<std::int64_t>(row.number("prefill_chunk")),
                               static_cast<std::int64_t>(row.number("kv_prefill"))};
      const auto n = static_cast<std::int64_t>(row.number("n_decode"));
      BatchShape shape = decode_batch(n, n > 0 ? static_cast<std::int64_t>(row.number("kv_decode")) + 1 : 0);
      if (chunk.tokens > 0) shape.prefill = std::span(&chunk, 1);
      shape.prefill_tokens = chunk.tokens;
      const std::string phase = chunk.tokens == 0 ? "decode" : n == 0 ? "prefill" : "mixed";
      all.push_back({phase + " attention " + kind, 1e-6 * row.number("time_us"),
                     seconds(*device, attention_operator(32, 8), shape)});
    }
  }
  return all;
}

std::vector<Comparison> compare_elementwise() {
  std::vector<Comparison> all;
  for (const auto& [kind, folder] : profiles) {
    const auto device = catalog_device(kind);
    for (const auto& [file, rows] :
         {std::pair{"dense.csv", "tokens"}, std::pair{"per_sequence.csv", "sequences"}})
      for (const CsvRow& row : read_reference("profiles/" + folder + "/" + file)) {
        const auto it = llama_8b_bytes.find(row.text("layer"));
        if (it == llama_8b_bytes.end()) continue;
        Operator op;
        op.name = it->first;
        op.bytes_per_row = Bytes(it->second);
        all.push_back({"elementwise " + kind, 1e-6 * row.number("time_us"),
                       seconds(*device, op, rows_batch(row.number(rows)))});
      }
  }
  return all;
}

std::vector<Comparison> compare_collectives() {
  const std::map<std::string, std::string> links = {{"a100_sxm", "nvlink3_switch"},
                                                    {"h100_sxm", "nvlink4_switch"},
                                                    {"l40s_pcie4", "pcie4_x16"},
                                                    {"rtx_pro_6000_pcie5", "pcie5_x16"}};
  const std::map<std::string, Collective> kinds = {{"all_reduce", Collective::all_reduce},
                                                   {"all_gather", Collective::all_gather},
                                                   {"reduce_scatter", Collective::reduce_scatter},
                                                   {"alltoall", Collective::all_to_all}};
  std::vector<Comparison> all;
  for (const CsvRow& row : read_reference("kernels/collectives.csv")) {
    const bool own = row.text("library") == "vllm_one_shot";
    const int devices = static_cast<int>(row.number("devices"));
    if (own && row.text("link") == "l40s_pcie4" && devices > 2) continue;  // vLLM does not use it there
    const std::string name = links.at(row.text("link")), library = own ? "vllm" : "nccl";
    const auto model = make_collectives(find_interconnect(name), library);
    all.push_back(
        {row.text("operation") + " " + name + " " + library, 1e-3 * row.number("ms"),
         model->time(kinds.at(row.text("operation")), Bytes(row.number("bytes")), devices).value()});
  }
  for (const CsvRow& row : read_reference("kernels/send_recv.csv")) {
    if (row.number("devices_per_node") != 2) continue;
    const std::string cluster = row.text("cluster");
    if (cluster != "a100_dgx" && cluster != "h100_dgx") continue;
    const std::string name = cluster == "a100_dgx" ? "nvlink3_switch" : "nvlink4_switch";
    const auto model = make_collectives(find_interconnect(name), "nccl");
    all.push_back({"send_receive " + name, 1e-3 * row.number("median_ms"),
                   model->time(Collective::send_receive, Bytes(row.number("bytes")), 2).value()});
  }
  return all;
}

}  // namespace weir::test
