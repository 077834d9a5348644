#include "sim/studies/validation/vidur_profile.h"

#include <set>
#include <vector>

#include "sim/app/output/output_file.h"
#include "sim/studies/validation/measured.h"

namespace weir {
namespace {

using Times = std::map<double, double>;  // us by tokens

Times times_of(const Table& table, const std::string& model, const std::string& op) {
  Times times;
  for (std::size_t i = 0; i < table.rows(); ++i)
    if (table.text(i, "model") == model && table.text(i, "tp") == "2" && table.text(i, "op") == op)
      times[table.number(i, "num_tokens")] = 1e3 * table.number(i, "median_ms");
  return times;
}

void write_layer(OutputFile& out, const char* layer, const Times& times) {
  for (const auto& [rows, us] : times) out.print("{},{},{}\n", layer, rows, us);
}

// Vidur counts neither embedding nor LM head nor sampler.
constexpr double nothing_us = 1e-3;

void write_dense(const std::filesystem::path& reference, const std::string& model,
                 const std::filesystem::path& folder) {
  const Table gemms = Table::read(reference / "kernels" / "gemm_a100.csv");
  const Table others = Table::read(reference / "kernels" / "elementwise_a100.csv");
  OutputFile dense(folder / "dense.csv");
  dense.text("layer,tokens,time_us\n");
  write_layer(dense, "qkv_proj", times_of(gemms, model, "attn_pre_proj"));
  write_layer(dense, "o_proj", times_of(gemms, model, "attn_post_proj"));
  write_layer(dense, "gate_up_proj", times_of(gemms, model, "mlp_up_proj"));
  write_layer(dense, "down_proj", times_of(gemms, model, "mlp_down_proj"));
  write_layer(dense, "rotary_emb", times_of(others, model, "attn_rope"));
  write_layer(dense, "act_fn", times_of(others, model, "mlp_act"));
  const Times before = times_of(others, model, "input_layernorm"), add = times_of(others, model, "add");
  for (const auto& [tokens, after] : times_of(others, model, "post_attention_layernorm"))
    dense.print("layernorm,{0},{1}\nembedding,{0},{2}\nfinal_layernorm,{0},{2}\n", tokens,
                (before.at(tokens) + after + add.at(tokens)) / 2, nothing_us);
  dense.close();
  OutputFile sequences(folder / "per_sequence.csv");
  sequences.text("layer,sequences,time_us\n");
  for (const int n : {1, 128}) sequences.print("lm_head,{0},{1}\nsampler,{0},{1}\n", n, nothing_us);
  sequences.close();
}

struct Row {
  double size, kv, us;  // size: a chunk's tokens, or decodes
};

std::vector<Row> points(const std::filesystem::path& file, const char* size, const char* kv) {
  const Table table = Table::read(file);
  std::vector<Row> points;
  for (std::size_t i = 0; i < table.rows(); ++i)
    points.push_back({table.number(i, size), table.number(i, kv), 1e3 * table.number(i, "ms")});
  return points;
}

// A step's prompt chunk and its decodes are two kernels. Time is near linear between those numbers
// of decodes that are kept.
void write_attention(const std::filesystem::path& reference, const std::filesystem::path& folder) {
  const auto kernels = reference / "kernels";
  std::vector<Row> decodes =
      points(kernels / "attn_decode_a100_h8192_q64_kv8_tp2.csv", "batch_size", "kv_cache_size");
  const std::set<double> enough = {1, 2, 4, 8, 16, 32, 48, 64, 96, 128};
  std::erase_if(decodes, [&](const Row& d) { return !enough.contains(d.size); });
  // vidur/config: attention_decode_batching_overhead_fraction, for grouped-query models.
  for (Row& d : decodes) d.us *= d.size > 1 ? 1.1 : 1;
  OutputFile out(folder / "attention.csv");
  out.text("prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n");
  for (const Row& d : decodes) out.print("0,0,{},{},{}\n", d.size, d.kv, d.us);
  for (const Row& p :
       points(kernels / "attn_prefill_a100_h8192_q64_kv8_tp2.csv", "prefill_chunk_size", "kv_cache_size")) {
    if (p.size > 512) continue;  // the runs' chunk
    out.print("{},{},0,0,{}\n", p.size, p.kv, p.us);
    for (const Row& d : decodes) out.print("{},{},{},{},{}\n", p.size, p.kv, d.size, d.kv, p.us + d.us);
  }
  out.close();
}

}  // namespace

void write_vidur_profile(const std::filesystem::path& reference, const std::string& model,
                         const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_dense(reference, model, folder);
  write_attention(reference, folder);
}

}  // namespace weir
