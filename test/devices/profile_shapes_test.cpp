// Tables that know kernels by their shapes: gemm.csv, moe.csv of blocks of experts, mla.csv, attention.csv as
// engines' kernel tables have it, and the profile.json that asks for them.
#include <catch2/catch.hpp>
#include <fstream>
#include <random>

#include "devices/profile/profile_bundle.h"
#include "policies/partitioning/partitioning.h"
#include "sim/studies/validation/kernels.h"
#include "test/app/scratch_directory.h"
#include "test/devices/priced.h"

namespace weir::test {
namespace {

using Files = std::map<std::string, std::string>;

const std::string about =
    R"({"engine": "trtllm", "gpu": "h100_sxm", "tp": 1, "source": "made up", "missing": "analytic"})";
const std::string attention_header =
    "heads,kv_heads,head_dim,kv_type,prompts,prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";

void write(const ScratchDirectory& folder, const Files& files) {
  for (const auto& [file, text] : files) std::ofstream(folder / file) << text;
}

std::string problems_of(const Files& files) {
  const ScratchDirectory folder;
  write(folder, files);
  std::vector<Problem> problems;
  read_bundle(folder.path(), problems);
  std::string text;
  for (const Problem& p : problems) text += p.what + "\n";
  return text;
}

// Not slowed by a power limit, unless a test says so: measured rows are then themselves.
struct ProfiledGpu {
  explicit ProfiledGpu(const Files& files, Json overrides = {{"sustained_compute", 1}})
      : analytic(catalog_device("h100_sxm", overrides)) {
    write(folder, files);
    overrides["profile"] = folder.path().string();
    device = catalog_device("h100_sxm", overrides);
  }
  double us(const Operator& op, const BatchShape& batch) const { return of(*device, op, batch); }
  double analytic_us(const Operator& op, const BatchShape& batch) const { return of(*analytic, op, batch); }
  std::vector<std::string> analytic_layers(const StageGraph& stage) const {
    std::vector<KernelWork> all;
    for (const Operator* op : operators_of(stage)) all.push_back(lowered(*op, {}));
    return device->analytic_layers(all);
  }

  ScratchDirectory folder;
  std::shared_ptr<const Device> analytic, device;

 private:
  static double of(const Device& on, const Operator& op, const BatchShape& batch) {
    return 1e6 * priced(on, op, batch).time.value();
  }
};

BatchShape rows(std::int64_t m) {
  return decode_batch(m, 1);
}

BatchShape prompts(const std::vector<PrefillChunk>& chunks, BatchShape decodes = {}) {
  decodes.prefill = chunks;
  for (const PrefillChunk& c : chunks) decodes.prefill_tokens += c.tokens;
  decodes.sequences += static_cast<std::int64_t>(chunks.size());
  return decodes;
}

Architecture model(const std::string& name) {
  Reading reading("test");
  return find_architecture(name, reading, "");
}

const std::string gemms =
    "type,m,n,k,time_us\n"
    "bf16,1,4096,4096,20\nbf16,16,4096,4096,22\nbf16,17,4096,4096,30\nbf16,256,4096,4096,44\n"
    "bf16,1,8192,4096,50\nbf16,256,8192,4096,60\n"
    "bf16,1,4096,8192,30\nbf16,256,4096,8192,90\n";

const Operator attention = attention_operator(32, 8);

}  // namespace

TEST_CASE(
    "profile shapes: measured GEMMs are themselves, kinks too, and between them logarithms are linear") {
  const ProfiledGpu gpu({{"profile.json", about}, {"gemm.csv", gemms}});
  const Operator op = gemm_operator(4096, 4096);
  CHECK(gpu.us(op, rows(16)) == Approx(22));
  CHECK(gpu.us(op, rows(17)) == Approx(30));
  CHECK(gpu.us(gemm_operator(8192, 4096), rows(256)) == Approx(90));
  CHECK(gpu.us(gemm_operator(4096, 8192), rows(256)) == Approx(60));
  const auto factor = [&](const Operator& of, std::int64_t m) {
    return gpu.us(of, rows(m)) / gpu.analytic_us(of, rows(m));
  };
  CHECK(factor(op, 4) == Approx(std::sqrt(factor(op, 1) * factor(op, 16))));
  CHECK(factor(op, 9999) == Approx(factor(op, 256)));  // scaled from the last
  // Half way between two widths in logarithms; at a corner that was not measured the others count.
  CHECK(factor(gemm_operator(4096, 5793), 1) ==
        Approx(std::sqrt(factor(op, 1) * factor(gemm_operator(4096, 8192), 1))).epsilon(1e-4));
  CHECK(factor(gemm_operator(8192, 8192), 256) > 0);
  CHECK(factor(gemm_operator(4096, 1 << 20), 256) == Approx(factor(gemm_operator(4096, 8192), 256)));
  // Another type was not measured.
  CHECK(factor(gemm_operator(4096, 4096, DataType::fp8, DataType::fp8), 16) == 1);
}

TEST_CASE("profile shapes: rows below the first that was measured are the analytic device's") {
  const ProfiledGpu gpu(
      {{"profile.json", about}, {"gemm.csv", "type,m,n,k,time_us\nbf16,4096,4096,4096,999\n"}});
  const Operator op = gemm_operator(4096, 4096);
  CHECK(gpu.us(op, rows(4095)) == Approx(gpu.analytic_us(op, rows(4095))));
  CHECK(gpu.us(op, rows(4096)) == Approx(999));
  CHECK_THAT(gpu.analytic_layers(build_stage(model("llama3.1-8b"), {}, {}, 0)),
             Catch::VectorContains(std::string("o_proj below 4096 rows")));
}

TEST_CASE("profile shapes: tables are of bursts, which a power limit slows as it slows the analytic device") {
  const Files files = {{"profile.json", about},
                       {"gemm.csv", "type,m,n,k,time_us\nbf16,1,4096,4096,20\nbf16,8192,4096,4096,500\n"}};
  const ProfiledGpu burst(files), slowed(files, {{"sustained_compute", 0.5}});
  const Operator op = gemm_operator(4096, 4096);
  CHECK(burst.us(op, rows(8192)) == Approx(500));
  CHECK(slowed.us(op, rows(8192)) ==
        Approx(500 * slowed.analytic_us(op, rows(8192)) / burst.analytic_us(op, rows(8192))));
  CHECK(slowed.us(op, rows(8192)) > 900);
  CHECK(slowed.us(op, rows(1)) < 21);  // bound by memory
}

TEST_CASE("profile shapes: alike prompts and decodes are themselves, of their own heads alone") {
  const std::string table = attention_header +
                            "32,8,128,bf16,1,512,0,0,0,40\n32,8,128,bf16,4,512,0,0,0,90\n"
                            "32,8,128,bf16,1,2048,0,0,0,300\n32,8,128,bf16,4,2048,0,0,0,900\n"
                            "32,8,128,bf16,0,0,0,1,15,10\n32,8,128,bf16,0,0,0,1,4095,50\n"
                            "32,8,128,bf16,0,0,0,8,15,12\n32,8,128,bf16,0,0,0,8,4095,140\n";
  const ProfiledGpu gpu({{"profile.json", about}, {"attention.csv", table}});
  const std::vector<PrefillChunk> one = {{512, 0}}, four = {{2048, 0}, {2048, 0}, {2048, 0}, {2048, 0}},
                                  behind = {{512, 4096}}, mixed = {{512, 0}, {2048, 0}};
  CHECK(gpu.us(attention, prompts(one)) == Approx(40));
  CHECK(gpu.us(attention, prompts(four)) == Approx(900));
  CHECK(gpu.us(attention, decode_batch(8, 16)) == Approx(12));
  CHECK(gpu.us(attention, decode_batch(8, 2056)) == Approx(76));
  CHECK(gpu.us(attention, decode_batch(1, 4096)) == Approx(50));
  // What a chunk reads of the cache is the analytic device's, as is how prompts and decodes share the
  // machine.
  const auto factor = [&](const BatchShape& b) {
    return gpu.us(attention, b) / gpu.analytic_us(attention, b);
  };
  CHECK(factor(prompts(behind)) == Approx(factor(prompts(one))));
  CHECK(factor(prompts(mixed)) > 0);
  const BatchShape both = prompts(one, decode_batch(8, 2056));
  const double alone =
      gpu.analytic_us(attention, prompts(one)) + gpu.analytic_us(attention, decode_batch(8, 2056));
  CHECK(gpu.us(attention, both) == Approx((40. + 76) * gpu.analytic_us(attention, both) / alone));
  // Other heads, or another cache, were not measured.
  CHECK(gpu.us(attention_operator(32, 4), prompts(one)) ==
        gpu.analytic_us(attention_operator(32, 4), prompts(one)));
  const std::vector<std::string> layers = gpu.analytic_layers(build_stage(model("llama3.1-8b"), {}, {}, 0));
  CHECK_THAT(layers, !Catch::VectorContains(std::string("attention")));
  CHECK_THAT(gpu.analytic_layers(build_stage(model("llama3.1-8b"), {.kv_cache = DataType::fp8}, {}, 0)),
             Catch::VectorContains(std::string("attention")));
}

TEST_CASE("profile shapes: decodes of an engine's table are a line until the next knot") {
  std::string table = attention_header;
  for (const int n : {1, 4, 16})
    for (const int kv : {1, 255, 4095})
      table += fmt::format("32,8,128,bf16,0,0,0,{},{},{}\n", n, kv, 10 + n * kv / 64.);
  const ProfiledGpu gpu({{"profile.json", about}, {"attention.csv", table}});
  std::mt19937 random(7);
  for (int i = 0; i < 200; ++i) {
    const auto n = static_cast<std::int64_t>(1 + random() % 20);
    const auto context = static_cast<std::int64_t>(2 + random() % 5000);
    const AffineKernelCost affine = decode_attention(*gpu.device, attention, decode_batch(n, context));
    REQUIRE(affine.steps >= 1);
    for (const std::int64_t step : {std::int64_t{0}, affine.steps - 1})
      REQUIRE(1e6 * (affine.first.time + static_cast<double>(step) * affine.slope.time).value() ==
              Approx(gpu.us(attention, decode_batch(n, context + step))).epsilon(1e-9));
  }
  CHECK_THAT(gpu.analytic_layers(build_stage(model("llama3.1-8b"), {}, {}, 0)),
             Catch::VectorContains(std::string("attention of prompts")));
}

TEST_CASE("profile shapes: a block of experts is measured whole, the nearest to an even choice of them") {
  const std::string table =
      "type,hidden,inter,topk,experts,ep,tp,distribution,tokens,time_us\n"
      "bf16,4096,14336,2,8,1,1,balanced,1,10\nbf16,4096,14336,2,8,1,1,power_law_1.2,1,70\n"
      "bf16,4096,14336,2,8,1,1,power_law_1.01,1,60\nbf16,4096,14336,2,8,1,1,power_law_1.01,64,240\n";
  const ProfiledGpu gpu({{"profile.json", about}, {"moe.csv", table}});
  const StageGraph stage = build_stage(model("mixtral-8x7b"), {}, {}, 0);
  double at_8 = 0;
  for (const Operator* op : operators_of(stage))
    if (op->name.starts_with("moe_") && op->name != "moe_router")
      at_8 += gpu.us(placed_on(*gpu.device, *op), rows(8));
  CHECK(at_8 == Approx(std::sqrt(60. * 240)));
  const std::vector<std::string> layers = gpu.analytic_layers(stage);
  for (const char* measured : {"moe_gate_up", "moe_act", "moe_down", "moe_sum"})
    CHECK_THAT(layers, !Catch::VectorContains(std::string(measured)));
  CHECK_THAT(layers, Catch::VectorContains(std::string("moe_router")));
  // Another model's experts are not these.
  const std::vector<std::string> other = gpu.analytic_layers(build_stage(model("mixtral-8x22b"), {}, {}, 0));
  CHECK_THAT(other, Catch::VectorContains(std::string("moe_gate_up")) &&
                        Catch::VectorContains(std::string("moe_sum")));
}

TEST_CASE("profile shapes: what the tables lack is refused unless the profile says that it is analytic") {
  std::string strict = about;
  strict.replace(strict.find("\"analytic\""), 10, "\"error\"");
  const ProfiledGpu gpu({{"profile.json", strict}, {"gemm.csv", gemms}});
  const StageGraph stage = build_stage(model("llama3.1-8b"), {}, {}, 0);
  CHECK_THAT(cannot_run(*gpu.device, stage), Catch::Contains("has no layer"));
  CHECK(gpu.analytic_layers(stage).empty());
  const ProfiledGpu lenient({{"profile.json", about}, {"gemm.csv", gemms}});
  CHECK(cannot_run(*lenient.device, stage) == "");
  CHECK_THAT(cannot_run(*lenient.device, build_stage(model("llama3.1-8b"), {}, {.tensor = 2}, 0)),
             Catch::Contains("measured at tensor parallelism 1, not 2"));
  const std::vector<std::string> layers = lenient.analytic_layers(stage);
  CHECK_THAT(layers, Catch::VectorContains(std::string("layernorm")) &&
                         Catch::VectorContains(std::string("attention")) &&
                         Catch::VectorContains(std::string("sampler")));
  CHECK_THAT(layers, !Catch::VectorContains(std::string("qkv_proj")) &&
                         !Catch::VectorContains(std::string("lm_head")));
  CHECK_FALSE(lenient.device->measures_sampler());
  CHECK(lenient.device->spec().notes.kernel_library == "trtllm");
}

TEST_CASE("profile shapes: a folder without a profile.json has none of its tables") {
  CHECK_THAT(problems_of({{"gemm.csv", gemms}}), Catch::Contains("dense.csv: cannot be opened"));
  CHECK(problems_of({{"profile.json", about}, {"gemm.csv", gemms}}) == "");
  CHECK_THAT(problems_of({{"profile.json", about}}), Catch::Contains("has no tables"));
}

TEST_CASE("profile shapes: all that is wrong is told at once, with file, line and column") {
  const std::string all = problems_of(
      {{"profile.json", R"({"engine": 3, "gpu": "h100_sxm", "tp": 0, "sauce": "", "missing": "guess"})"},
       {"gemm.csv",
        "type,m,n,k,time_us\nfp7,1,2,3,4\nbf16,1.5,2,3,4\nbf16,1,0,3,4\nbf16,1,2,3,0\nbf16,1,2,3,nan\n"
        "bf16,1,2,3\nint4/bf16,1,2,3,4\nint4/bf16,1,2,3,4\n"},
       {"moe.csv",
        "type,hidden,inter,topk,experts,ep,tp,distribution,tokens,time_us\n"
        "bf16,8,8,9,8,1,1,uniform,1,1\nbf16,8,8,2,8,3,1,uniform,1,1\nbf16,8,8,2,8,1,3,uniform,1,1\n"
        "bf16,8,8,2,8,1,1,power_law_x,1,1\nbf16,8,8,2,8,1,1,uniform,0,1\n"},
       {"mla.csv",
        "module,phase,heads,sequences,tokens,context,kv_type,time_us\n"
        "mha,context,1,1,1,0,bf16,1\nmla,prefill,1,1,1,0,bf16,1\nmla,context,1,1,1,0,b16,1\n"
        "mla,context,1,1,1,-1,bf16,1\nmla,context,1,1,1,0,bf16,1\nmla,context,1,1,1,0,bf16,1\n"},
       {"attention.csv", attention_header +
                             "32,8,128,bf17,1,512,0,0,0,40\n32,8,128,bf16,1,512,0,1,16,40\n"
                             "32,8,128,bf16,1,512,64,0,0,40\n32,0,128,bf16,1,512,0,0,0,40\n"}});
  for (const char* expected : {"profile.json: /engine",
                               "profile.json: /tp",
                               "profile.json: /source",
                               "profile.json: /sauce",
                               "profile.json: /missing",
                               "gemm.csv:2: type: no such type \"fp7\"",
                               "gemm.csv:3: m: expected a whole number >= 1, got \"1.5\"",
                               "gemm.csv:4: n: expected a whole number",
                               "gemm.csv:5: time_us: expected a number > 0",
                               "gemm.csv:6: time_us",
                               "gemm.csv:7: expected 5 values, got 4",
                               "gemm.csv: m 1 n 2 k 3 is measured twice",
                               "moe.csv:2: topk: 9 of 8 experts",
                               "moe.csv:3: ep: 3",
                               "moe.csv:4: tp: 3",
                               "moe.csv:5: distribution: expected",
                               "moe.csv:6: tokens: expected a whole number",
                               "mla.csv:2: module: expected mla or dsa",
                               "mla.csv:3: phase: expected context or generation",
                               "mla.csv:4: kv_type: no such type",
                               "mla.csv:5: context: expected a number >= 0",
                               "mla.csv:7: the point is measured twice",
                               "attention.csv:2: kv_type: no such type",
                               "attention.csv:3: expected prompts alone",
                               "attention.csv:4: expected prompts alone",
                               "attention.csv:5: kv_heads: expected a whole number"})
    CHECK_THAT(all, Catch::Contains(expected));
}

TEST_CASE("profile shapes: any change of good tables is refused, or prices kernels in finite time") {
  const Files good = {
      {"profile.json", about},
      {"gemm.csv", gemms},
      {"attention.csv", attention_header + "32,8,128,bf16,1,512,0,0,0,40\n32,8,128,bf16,4,64,0,0,0,90\n"
                                           "32,8,128,bf16,0,0,0,1,15,10\n32,8,128,bf16,0,0,0,8,4095,140\n"},
      {"moe.csv",
       "type,hidden,inter,topk,experts,ep,tp,distribution,tokens,time_us\n"
       "bf16,4096,14336,2,8,1,1,uniform,1,10\nbf16,4096,14336,2,8,1,1,uniform,64,70\n"},
      {"mla.csv",
       "module,phase,heads,sequences,tokens,context,kv_type,time_us\nmla,context,1,1,1,0,bf16,1\n"}};
  std::mt19937 random(11);
  const std::string letters = "0123456789.,-+einf\n\"{}:/x ";
  const StageGraph stage = build_stage(model("mixtral-8x7b"), {}, {}, 0);
  int read = 0, refused = 0;
  for (int round = 0; round < 600; ++round) {
    Files files = good;
    auto it = std::next(files.begin(), static_cast<std::ptrdiff_t>(random() % files.size()));
    for (unsigned change = 0, digits = random() % 2; change <= random() % 3; ++change) {
      std::size_t at = random() % it->second.size();
      while (digits && !std::isdigit(static_cast<unsigned char>(it->second[at])))
        at = random() % it->second.size();
      const char letter = letters[random() % (digits ? 10 : letters.size())];
      if (random() % 2)
        it->second[at] = letter;
      else
        it->second.insert(at, 1, letter);
    }
    try {
      const ProfiledGpu gpu(files);
      ++read;
      const std::vector<PrefillChunk> chunks = {{100, 0}, {7, 300}};
      for (const BatchShape& batch :
           {rows(1), rows(33), prompts(chunks), prompts(chunks, decode_batch(5, 77))})
        for (const Operator* op : operators_of(stage)) {
          if (op->as<Communication>()) continue;
          const double us = gpu.us(*op, batch);
          REQUIRE((std::isfinite(us) && us >= 0));
        }
    } catch (const ConfigError& e) {
      ++refused;
      REQUIRE(!e.problems().empty());
      for (const Problem& p : e.problems()) REQUIRE(p.what.size() < 1000);
    }
  }
  CHECK(read > 100);
  CHECK(refused > 100);
}

}  // namespace weir::test
