#include <fmt/format.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "policies/partitioning/partitioning.h"
#include "sim/studies/validation/kernels.h"
#include "sim/studies/validation/measured.h"
#include "test/devices/priced.h"
#include "test/reference_folder.h"

namespace weir::test {
namespace {

using Files = std::map<std::string, std::string>;

// A bundle small enough to reckon with by hand: times are linear in tokens, and in decodes times context.
Files small_bundle() {
  Files files;
  std::string dense = "layer,tokens,time_us\r\n";
  for (const char* layer : {"layernorm", "qkv_proj", "rotary_emb", "o_proj", "gate_up_proj", "act_fn",
                            "down_proj", "embedding", "final_layernorm"})
    for (const int tokens : {1, 2, 8, 64, 1024})
      dense += fmt::format("{},{},{}\r\n", layer, tokens, 10 + tokens);
  std::string sequences = "layer,sequences,time_us\n";
  for (const char* layer : {"lm_head", "sampler"})
    for (const int n : {1, 16, 256}) sequences += fmt::format("{},{},{}\n", layer, n, 100 + n);
  std::string attention = "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";
  for (const int n : {1, 4, 16})
    for (const int kv : {16, 256, 4096})
      attention += fmt::format("0,0,{},{},{}\n", n, kv, 20 + 0.01 * n * kv);
  for (const int chunk : {16, 512})
    for (const int context : {0, 1024}) {
      attention += fmt::format("{},{},0,0,{}\n", chunk, context, 30 + 0.001 * chunk * (context + chunk / 2));
      for (const int n : {1, 4, 16})
        for (const int kv : {16, 256, 4096})
          attention += fmt::format("{},{},{},{},{}\n", chunk, context, n, kv,
                                   30 + 0.001 * chunk * (context + chunk / 2) + 0.02 * n * kv);
    }
  files["dense.csv"] = dense;
  files["per_sequence.csv"] = sequences;
  files["attention.csv"] = attention;
  files["skew.csv"] = "not,read\n";
  return files;
}

class Folder {
 public:
  Folder(const std::string& name, const Files& files)
      : path_(std::filesystem::temp_directory_path() / fmt::format("weir-profile-{}", ::getpid()) / name) {
    std::filesystem::create_directories(path_);
    for (const auto& [file, text] : files) std::ofstream(path_ / file) << text;
  }
  ~Folder() { std::filesystem::remove_all(path_.parent_path()); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::shared_ptr<const Device> profiled(const std::filesystem::path& folder,
                                       const std::string& kind = "rtx4090") {
  return catalog_device(kind, {{"profile", folder.string()}});
}

std::string problems_of(const Files& files) {
  const Folder folder("tp1", files);
  try {
    profiled(folder.path());
  } catch (const ConfigError& e) {
    std::string all;
    for (const Problem& p : e.problems()) all += p.pointer + ": " + p.what + "\n";
    return all;
  }
  return "";
}

Operator layer(const std::string& name, Rows rows = Rows::tokens) {
  Operator op = gemm_operator(4096, 4096);
  op.name = name;
  op.rows = rows;
  return op;
}

double us(const Device& device, const Operator& op, const BatchShape& batch) {
  return 1e6 * priced(device, op, batch).time.value();
}

BatchShape prefill(const std::vector<PrefillChunk>& chunks, BatchShape decodes = {}) {
  decodes.prefill = chunks;
  for (const PrefillChunk& c : chunks) decodes.prefill_tokens += c.tokens;
  decodes.sequences += static_cast<std::int64_t>(chunks.size());
  return decodes;
}

const Operator attention = attention_operator(32, 8);

}  // namespace

TEST_CASE("profiled device: measured rows are themselves, and between them times are linear") {
  const Folder folder("tp1", small_bundle());
  const auto device = profiled(folder.path());
  CHECK(us(*device, layer("qkv_proj"), decode_batch(8, 1)) == Approx(18));
  CHECK(us(*device, layer("qkv_proj"), decode_batch(40, 1)) == Approx(50));
  CHECK(us(*device, layer("lm_head", Rows::sequences), decode_batch(100, 1)) == Approx(200));
  // A decode's context counts its own new token, the profiler's KV length does not.
  CHECK(us(*device, attention, decode_batch(4, 257)) == Approx(20 + 0.01 * 4 * 256));
  CHECK(us(*device, attention, decode_batch(10, 1001)) == Approx(20 + 0.01 * 10 * 1000));
  const std::vector<PrefillChunk> chunk = {{512, 1024}};
  CHECK(us(*device, attention, prefill(chunk)) == Approx(30 + 0.001 * 512 * 1280));
  CHECK(us(*device, attention, prefill(chunk, decode_batch(16, 257))) ==
        Approx(30 + 0.001 * 512 * 1280 + 0.02 * 16 * 256));
  // Flops, bytes and energy stay the analytic device's.
  const auto analytic = catalog_device("rtx4090");
  const KernelCost a = priced(*device, attention, decode_batch(4, 257));
  const KernelCost b = priced(*analytic, attention, decode_batch(4, 257));
  CHECK(a.flops == b.flops);
  CHECK(a.moved[own_memory] == b.moved[own_memory]);
  CHECK(a.energy == b.energy);
}

TEST_CASE("profiled device: several prompts are looked up as one of as many tokens and keys") {
  const Folder folder("tp1", small_bundle());
  const auto device = profiled(folder.path());
  // 256 tokens with 640 keys each on average: (256 + 256) tokens behind 512 + 128 - 256 others.
  const std::vector<PrefillChunk> two = {{256, 512}, {256, 512}}, one = {{512, 384}};
  CHECK(us(*device, attention, prefill(two)) == Approx(us(*device, attention, prefill(one))));
  // Fresh prompts see fewer keys than one of their length together: never dearer than that one.
  const std::vector<PrefillChunk> fresh = {{256, 0}, {256, 0}}, whole = {{512, 0}};
  CHECK(us(*device, attention, prefill(fresh)) < us(*device, attention, prefill(whole)));
}

TEST_CASE("profiled device: unequal decodes lie between their mean and their longest") {
  const Folder folder("tp1", small_bundle());
  const auto device = profiled(folder.path());
  const std::vector<PrefillChunk> chunk = {{512, 0}};
  for (const std::int64_t n : {2, 4, 16})
    for (const bool beside : {false, true}) {
      BatchShape equal = decode_batch(n, 500), unequal = equal, longest = decode_batch(n, 3000);
      unequal.decode_context_max = 3000;
      if (beside) {
        equal = prefill(chunk, equal);
        unequal = prefill(chunk, unequal);
        longest = prefill(chunk, longest);
      }
      CHECK(us(*device, attention, equal) < us(*device, attention, unequal));
      CHECK(us(*device, attention, unequal) <= us(*device, attention, longest));
    }
}

TEST_CASE("profiled device: beyond the tables their edge scales as the analytic model does") {
  const Folder folder("tp1", small_bundle());
  const auto device = profiled(folder.path());
  const auto analytic = catalog_device("rtx4090");
  const auto check = [&](const Operator& op, const BatchShape& outside, const BatchShape& edge) {
    CHECK(us(*device, op, outside) ==
          Approx(us(*device, op, edge) * us(*analytic, op, outside) / us(*analytic, op, edge)));
    CHECK(us(*device, op, outside) > us(*device, op, edge));
  };
  check(layer("qkv_proj"), decode_batch(4096, 1), decode_batch(1024, 1));
  check(attention, decode_batch(64, 1000), decode_batch(16, 1000));
  check(attention, decode_batch(4, 20001), decode_batch(4, 4097));
  const std::vector<PrefillChunk> long_chunk = {{2048, 0}}, edge_chunk = {{512, 0}}, deep = {{512, 5000}},
                                  edge_deep = {{512, 1024}};
  check(attention, prefill(long_chunk), prefill(edge_chunk));
  check(attention, prefill(deep), prefill(edge_deep));
  // Shorter chunks than any measured cost as much: kernels calculate whole tiles.
  const std::vector<PrefillChunk> short_chunk = {{3, 0}}, first_chunk = {{16, 0}};
  CHECK(us(*device, attention, prefill(short_chunk)) <= us(*device, attention, prefill(first_chunk)));
}

TEST_CASE("profiled device: decode attention is affine until the next knot") {
  const Folder folder("tp1", small_bundle());
  const auto device = profiled(folder.path());
  std::mt19937 random(7);
  std::int64_t knots = 0;
  for (int i = 0; i < 500; ++i) {
    const auto n = static_cast<std::int64_t>(1 + random() % 20),
               sum = n * static_cast<std::int64_t>(1 + random() % 4500);
    BatchShape batch = decode_batch(n, 1);
    batch.decode_context_sum = sum + static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
    batch.decode_context_max =
        batch.decode_context_sum / n + 1 + static_cast<std::int64_t>(n > 1 ? random() % 1000 : 0);
    const AffineKernelCost affine = decode_attention(*device, attention, batch);
    REQUIRE(affine.steps >= 1);
    knots += affine.steps > 1;
    for (const std::int64_t step : {std::int64_t{0}, affine.steps / 2, affine.steps - 1}) {
      BatchShape then = batch;
      then.decode_context_sum += step * n;
      then.decode_context_max += step;
      const double k = static_cast<double>(step);
      REQUIRE(1e6 * (affine.first.time + k * affine.slope.time).value() ==
              Approx(us(*device, attention, then)).epsilon(1e-12));
    }
  }
  CHECK(knots > 100);
  // The next knot above 100 tokens is 256: steps 0 to 155 stay below it.
  CHECK(decode_attention(*device, attention, decode_batch(4, 101)).steps == 156);
}

TEST_CASE("profiled device: says what its tables lack for a model") {
  Reading reading("test");
  const Architecture llama = find_architecture("llama3.1-8b", reading, ""),
                     qwen = find_architecture("qwen3-32b", reading, ""),
                     experts = find_architecture("mixtral-8x7b", reading, "");
  const Folder folder("tp1", small_bundle());
  const auto device = profiled(folder.path());
  CHECK(cannot_run(*device, build_stage(llama, {}, {}, 0)) == "");
  CHECK_THAT(cannot_run(*device, build_stage(qwen, {}, {}, 0)),
             Catch::Contains("dense.csv has no layer qk_norm"));
  CHECK_THAT(cannot_run(*device, build_stage(experts, {}, {}, 0)), Catch::Contains("moe.csv has no layer"));
  CHECK_THAT(cannot_run(*device, build_stage(llama, {}, {.tensor = 2}, 0)),
             Catch::Contains("tensor parallelism 1, not 2"));
  CHECK_THROWS_WITH(priced(*device, layer("qk_norm"), decode_batch(1, 1)), Catch::Contains("dense.csv"));
  const Json fused = {{"kind", "device_only"}, {"fused_all_reduce_chunks", 2}};
  const auto policy = make_from(partitioning_policies(), Params(reading, fused), {"kind", ""});
  CHECK_THAT(
      cannot_run(*device, policy->place(build_stage(llama, {}, {.tensor = 2}, 0), device->spec().units)),
      Catch::Contains("dense.csv has no layer o_proj 1/2") && Catch::Contains("fused_all_reduce"));
  Files files = small_bundle();
  files["moe.csv"] = "tokens,activated_experts,time_us\n1,2,50\n64,8,400\n1024,8,500\n";
  const Folder with_experts("mixtral", files);
  const auto moe = profiled(with_experts.path());
  CHECK(cannot_run(*moe, build_stage(experts, {}, {}, 0)) == "");
  Operator up = layer("moe_gate_up");
  up.kernel = GroupedGemm{.each = std::get<Gemm>(up.kernel), .here = 8, .active = 2, .total = 8};
  CHECK(us(*moe, up, decode_batch(64, 1)) == Approx(400));  // the whole block
  CHECK(us(*moe, layer("moe_down"), decode_batch(64, 1)) == 0);
}

TEST_CASE("profiled device: every malformed row is a problem with its line") {
  Files files = small_bundle();
  files["dense.csv"] += "qkv_proj,oops,3\r\nqkv_proj,4\r\nqkv_proj,5,-1\r\n";
  files["per_sequence.csv"] += "sampler,16,7\n";
  const std::string all = problems_of(files);
  CHECK_THAT(all, Catch::Contains("/profile: ") &&
                      Catch::Contains("dense.csv:47: tokens: expected a number >= 0, got \"oops\""));
  CHECK_THAT(all, Catch::Contains("dense.csv:48: expected 3 values, got 2"));
  CHECK_THAT(all, Catch::Contains("dense.csv:49: time_us"));
  CHECK_THAT(all, Catch::Contains("per_sequence.csv: sampler is measured twice"));
  files = small_bundle();
  files["attention.csv"] = "prefill_chunk,n_decode,time_us\n";
  CHECK_THAT(problems_of(files), Catch::Contains("attention.csv:1: no column kv_decode"));
  files.erase("dense.csv");
  CHECK_THAT(problems_of(files), Catch::Contains("dense.csv: cannot be opened"));
}

TEST_CASE("profiled device: reads the newer columns of the same tables") {
  Files files = small_bundle();
  files["attention.csv"] =
      "layer,prefill_chunk,prefill_key,n_decode,kv_decode,decode_q_len,time_us\n"
      "attention,0,0,1,16,1,10\nattention,0,0,1,64,1,20\nattention,0,0,1,64,4,99\n"
      "attention,16,8,0,0,1,12\nattention,16,72,0,0,1,14\n";
  const Folder folder("newer", files);
  const auto device = profiled(folder.path());
  const std::vector<PrefillChunk> chunk = {{16, 32}};
  CHECK(us(*device, attention, decode_batch(1, 41)) == Approx(15));
  CHECK(us(*device, attention, prefill(chunk)) == Approx(13));  // 40 keys, half way between 8 and 72
}

TEST_CASE("profiled device: the measured bundles give back their rows") {
  if (reference_folder().empty()) {
    WARN("skipped: WEIR_REFERENCE names no folder of measurements");
    return;
  }
  for (const auto& [kind, name] : {std::pair{"rtx4090", "rtx4090_llama3.1-8b_tp1"},
                                   std::pair{"rtx_pro_6000", "rtx_pro_6000_llama3.1-8b_tp1"}}) {
    const std::filesystem::path folder = reference_folder() / "profiles" / name;
    const auto device = profiled(folder, kind);
    Reading reading("test");
    const Architecture llama = find_architecture("llama3.1-8b", reading, "");
    CHECK(cannot_run(*device, build_stage(llama, {}, {}, 0)) == "");
    CHECK(cannot_run(*device, build_stage(llama, {}, {.tensor = 2}, 0)) != "");
    const Table dense = Table::read(folder / "dense.csv"), attentions = Table::read(folder / "attention.csv");
    for (std::size_t i = 0; i < dense.rows(); ++i)
      REQUIRE(us(*device, layer(dense.text(i, "layer")), decode_batch(dense.integer(i, "tokens"), 1)) ==
              Approx(dense.number(i, "time_us")));
    for (std::size_t i = 0; i < attentions.rows(); ++i) {
      const std::vector<PrefillChunk> chunk = {
          {attentions.integer(i, "prefill_chunk"), attentions.integer(i, "kv_prefill")}};
      const std::int64_t n = attentions.integer(i, "n_decode");
      BatchShape batch;
      if (n > 0) batch = decode_batch(n, attentions.integer(i, "kv_decode") + 1);
      if (chunk[0].tokens > 0) batch = prefill(chunk, batch);
      REQUIRE(us(*device, attention, batch) == Approx(attentions.number(i, "time_us")));
    }
  }
}

}  // namespace weir::test
