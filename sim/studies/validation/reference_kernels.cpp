// The measured kernels of the reference folder, file by file.
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "sim/studies/validation/kernels.h"
#include "sim/studies/validation/measured.h"

namespace weir {
namespace {

// Llama-3.1-8B: hidden 4096, 32 query and 8 KV heads of 128, MLP 14336, vocabulary 128256.
const std::map<std::string, std::pair<int, int>> llama_8b = {{"qkv_proj", {4096, 6144}},
                                                             {"o_proj", {4096, 4096}},
                                                             {"gate_up_proj", {4096, 28672}},
                                                             {"down_proj", {14336, 4096}},
                                                             {"lm_head", {4096, 128256}}};
const std::map<std::string, double> llama_8b_bytes = {
    {"layernorm", 4 * 4096 * 2}, {"final_layernorm", 4 * 4096 * 2}, {"rotary_emb", 2 * 40 * 256},
    {"act_fn", 3 * 14336 * 2},   {"embedding", 2 * 4096 * 2},       {"sampler", 128256 * 10}};
constexpr double h100_l2_bytes = 50e6;  // NVIDIA H100 datasheet

// Rows weigh by the part of the logarithmic axis of tokens that they stand for (trapezoidal rule).
std::map<std::int64_t, double> logarithmic_weights(const std::set<std::int64_t>& tokens) {
  std::map<std::int64_t, double> weights;
  for (auto low = tokens.begin(), high = std::next(low); high != tokens.end(); ++low, ++high) {
    const double half = std::log(static_cast<double>(*high) / static_cast<double>(*low)) / 2;
    weights[*low] += half;
    weights[*high] += half;
  }
  return weights;
}

Operator elementwise_operator(const std::string& layer, double bytes_per_row) {
  return {.name = layer, .kernel = Elementwise{Bytes(bytes_per_row)}};
}

class Reader {
 public:
  explicit Reader(const std::filesystem::path& reference) : reference_(reference) {}
  std::vector<KernelSample> take() { return std::move(samples_); }

  void vllm_gemms();
  void vidur_gemms(const std::string& device, const std::string& file);  // after vllm_gemms
  void h100_attention();
  void a100_attention();
  void a100_elementwise();
  void profile(const std::string& device, const std::string& folder);
  void collectives();
  void send_receive();

 private:
  using GemmKey = std::tuple<std::string, std::int64_t, std::int64_t, std::int64_t>;

  Table read(const std::string& file) const { return Table::read(reference_ / file); }
  double seconds(const std::string& device, const Operator& op, const BatchShape& batch) {
    auto& model = devices_[device];
    if (!model) model = burst_device(device);
    return kernel_seconds(*model, op, batch);
  }
  void add(const std::string& group, double measured, double simulated, double weight = 1) {
    samples_.push_back({group, measured, simulated, weight});
  }
  void profiled_layer(const std::string& device, const std::string& layer, std::int64_t rows,
                      double measured);

  std::filesystem::path reference_;
  std::vector<KernelSample> samples_;
  std::map<std::string, std::shared_ptr<const Device>> devices_;
  std::map<GemmKey, double> vllm_gemms_;  // by device, tokens, in, out; 16 bits
};

void Reader::vllm_gemms() {
  const Table table = read("kernels/gemm_vllm.csv");
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const bool half = table.text(i, "dtype") == "bfloat16";
    const DataType type = half ? DataType::bf16 : DataType::fp8;
    const std::string& device = table.text(i, "device");
    const std::int64_t tokens = table.integer(i, "tokens"), in = table.integer(i, "in_features"),
                       out = table.integer(i, "out_features");
    const double measured = 1e-3 * table.number(i, "ms");
    if (half) vllm_gemms_[{device, tokens, in, out}] = measured;
    add("gemm_" + device + (half ? "_bf16" : "_fp8"), measured,
        seconds(device, gemm_operator(in, out, type, type), decode_batch(tokens, 1)));
  }
}

void Reader::vidur_gemms(const std::string& device, const std::string& file) {
  const Table table = read(file);
  std::set<std::int64_t> tokens;
  for (std::size_t i = 0; i < table.rows(); ++i) tokens.insert(table.integer(i, "num_tokens"));
  std::map<std::int64_t, double> weights = logarithmic_weights(tokens);
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::pair<double, double>> layers;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const std::int64_t m = table.integer(i, "num_tokens"), k = table.integer(i, "K"),
                       n = table.integer(i, "N");
    const double measured = 1e-3 * table.number(i, "median_ms");
    const double simulated = seconds(device, gemm_operator(k, n), decode_batch(m, 1));
    add("gemm_" + device + "_bf16_vidur", measured, simulated, weights[m]);
    auto& layer = layers[{table.text(i, "model"), table.text(i, "tp"), m}];
    layer.first += measured;
    layer.second += simulated;
    if (const auto again = vllm_gemms_.find({device, m, k, n}); again != vllm_gemms_.end())
      add("gemm_" + device + "_bf16_measured_twice", measured, again->second, weights[m]);
  }
  for (const auto& [key, time] : layers)
    add("gemm_layer_" + device + "_bf16_vidur", time.first, time.second, weights[std::get<2>(key)]);
}

void Reader::h100_attention() {
  const Table table = read("kernels/attention_h100_vllm.csv");
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const std::int64_t query = table.integer(i, "query_heads"), kv = table.integer(i, "kv_heads"),
                       batch = table.integer(i, "batch"), isl = table.integer(i, "isl"),
                       step = table.integer(i, "step");
    const Operator op = attention_operator(query, kv);
    const double measured = 1e-3 * table.number(i, "ms");
    if (table.text(i, "phase") == "decode") {
      const double simulated = seconds("h100_sxm", op, decode_batch(batch, isl + step));
      add("decode_attention_h100_sxm", measured, simulated);
      if (static_cast<double>(batch * (isl + step) * kv) * 2 * 128 * 2 > h100_l2_bytes)
        add("decode_attention_h100_sxm_beyond_l2", measured, simulated);
    } else if (isl >= 16) {
      const std::vector<PrefillChunk> chunks(static_cast<std::size_t>(batch), {isl, step});
      add("prefill_attention_h100_sxm", measured, seconds("h100_sxm", op, prefill_batch(chunks)));
    }
  }
}

void Reader::a100_attention() {
  const Operator op = attention_operator(32, 4);
  const Table decodes = read("kernels/attn_decode_a100_h8192_q64_kv8_tp2.csv");
  for (std::size_t i = 0; i < decodes.rows(); ++i)
    add("decode_attention_a100_sxm_80gb", 1e-3 * decodes.number(i, "ms"),
        seconds("a100_sxm_80gb", op,
                decode_batch(decodes.integer(i, "batch_size"), decodes.integer(i, "kv_cache_size") + 1)));
  const Table prefills = read("kernels/attn_prefill_a100_h8192_q64_kv8_tp2.csv");
  for (std::size_t i = 0; i < prefills.rows(); ++i) {
    const PrefillChunk chunk{prefills.integer(i, "prefill_chunk_size"), prefills.integer(i, "kv_cache_size")};
    add("prefill_attention_a100_sxm_80gb", 1e-3 * prefills.number(i, "ms"),
        seconds("a100_sxm_80gb", op, prefill_batch({&chunk, 1})));
  }
}

// Its adds and norms are kernels of their own there, one in vLLM and in Weir: left out.
void Reader::a100_elementwise() {
  const std::map<std::string, std::string> layers = {
      {"mlp_act", "act_fn"}, {"attn_rope", "rotary_emb"}, {"emb", "embedding"}};
  const Table table = read("kernels/elementwise_a100.csv");
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto layer = layers.find(table.text(i, "op"));
    if (layer == layers.end()) continue;
    const std::int64_t tokens = table.integer(i, "num_tokens");
    const Operator op =
        elementwise_operator(layer->second, table.number(i, "bytes") / static_cast<double>(tokens));
    add("elementwise_a100_sxm_80gb", 1e-3 * table.number(i, "median_ms"),
        seconds("a100_sxm_80gb", op, decode_batch(tokens, 1)));
  }
}

void Reader::profiled_layer(const std::string& device, const std::string& layer, std::int64_t rows,
                            double measured) {
  const BatchShape batch = decode_batch(rows, 1);
  if (const auto gemm = llama_8b.find(layer); gemm != llama_8b.end())
    add("gemm_" + device + "_bf16", measured,
        seconds(device, gemm_operator(gemm->second.first, gemm->second.second), batch));
  if (const auto bytes = llama_8b_bytes.find(layer); bytes != llama_8b_bytes.end())
    add("elementwise_" + device, measured,
        seconds(device, elementwise_operator(layer, bytes->second), batch));
}

void Reader::profile(const std::string& device, const std::string& folder) {
  for (const auto& [file, rows] : {std::pair{"dense.csv", "tokens"}, {"per_sequence.csv", "sequences"}}) {
    const Table table = read("profiles/" + folder + "/" + file);
    for (std::size_t i = 0; i < table.rows(); ++i)
      profiled_layer(device, table.text(i, "layer"), table.integer(i, rows),
                     1e-6 * table.number(i, "time_us"));
  }
  const Table attention = read("profiles/" + folder + "/attention.csv");
  for (std::size_t i = 0; i < attention.rows(); ++i) {
    const PrefillChunk chunk{attention.integer(i, "prefill_chunk"), attention.integer(i, "kv_prefill")};
    const std::int64_t n = attention.integer(i, "n_decode");
    BatchShape batch = n > 0 ? decode_batch(n, attention.integer(i, "kv_decode") + 1) : BatchShape{};
    if (chunk.tokens > 0) batch.prefill = {&chunk, 1};
    batch.prefill_tokens = chunk.tokens;
    const std::string phase = chunk.tokens == 0 ? "decode" : n == 0 ? "prefill" : "mixed";
    add(phase + "_attention_" + device, 1e-6 * attention.number(i, "time_us"),
        seconds(device, attention_operator(32, 8), batch));
  }
}

void Reader::collectives() {
  const std::map<std::string, std::string> links = {{"a100_sxm", "nvlink3_switch"},
                                                    {"h100_sxm", "nvlink4_switch"},
                                                    {"l40s_pcie4", "pcie4_x16"},
                                                    {"rtx_pro_6000_pcie5", "pcie5_x16"}};
  const std::map<std::string, Collective> kinds = {{"all_reduce", Collective::all_reduce},
                                                   {"all_gather", Collective::all_gather},
                                                   {"reduce_scatter", Collective::reduce_scatter},
                                                   {"alltoall", Collective::all_to_all}};
  const Table table = read("kernels/collectives.csv");
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const bool own = table.text(i, "library") == "vllm_one_shot";
    const std::string &link = table.text(i, "link"), &operation = table.text(i, "operation");
    const int devices = static_cast<int>(table.integer(i, "devices"));
    if (own && link == "l40s_pcie4" && devices > 2) continue;      // vLLM does not use it there
    if (own && table.number(i, "bytes") >= 8 * 1048576) continue;  // nor from there on: NCCL (max_size)
    const std::string library = own ? "vllm" : "nccl";
    const auto model = make_collectives(find_interconnect(links.at(link)), library);
    add(operation + "_" + links.at(link) + "_" + library, 1e-3 * table.number(i, "ms"),
        model->time(kinds.at(operation), Bytes(table.number(i, "bytes")), devices).value());
  }
}

void Reader::send_receive() {
  const std::map<std::string, std::string> links = {{"a100_dgx", "nvlink3_switch"},
                                                    {"h100_dgx", "nvlink4_switch"}};
  const Table table = read("kernels/send_recv.csv");
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const auto link = links.find(table.text(i, "cluster"));
    if (link == links.end() || table.integer(i, "devices_per_node") != 2) continue;
    const auto model = make_collectives(find_interconnect(link->second), "nccl");
    add("send_receive_" + link->second, 1e-3 * table.number(i, "median_ms"),
        model->time(Collective::send_receive, Bytes(table.number(i, "bytes")), 2).value());
  }
}

}  // namespace

std::vector<KernelSample> reference_kernels(const std::filesystem::path& reference) {
  Reader reader(reference);
  reader.vllm_gemms();
  reader.vidur_gemms("a100_sxm_80gb", "kernels/gemm_a100.csv");
  reader.vidur_gemms("h100_sxm", "kernels/gemm_h100.csv");
  reader.h100_attention();
  reader.a100_attention();
  reader.a100_elementwise();
  reader.profile("rtx4090", "rtx4090_llama3.1-8b_tp1");
  reader.profile("rtx_pro_6000", "rtx_pro_6000_llama3.1-8b_tp1");
  reader.collectives();
  reader.send_receive();
  return reader.take();
}

}  // namespace weir
