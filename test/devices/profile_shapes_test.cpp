// Tables that know kernels by their shapes: gemm.csv, moe.csv of blocks of experts, mla.csv, attention.csv as
// engines' kernel tables have it, and the profile.json that asks for them.
#include <catch2/catch.hpp>

#include "devices/profile/profile_shapes.h"
#include "test/devices/profiled_gpu.h"
#include "test/workloads/samples.h"

namespace weir::test {

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

TEST_CASE("profile shapes: heads with a sliding window are measured apart from those that attend to all") {
  std::string header = attention_header;
  header.replace(header.find("prompts"), 0, "window,");
  const auto decodes = [](int window, int us) {
    return fmt::format("32,8,128,bf16,{0},0,0,0,1,15,{1}\n32,8,128,bf16,{0},0,0,0,1,65535,{1}\n", window, us);
  };
  Operator narrow = attention;
  std::get<Attention>(narrow.kernel).window = 128;
  const ProfiledGpu both(
      {{"profile.json", about}, {"attention.csv", header + decodes(0, 50) + decodes(128, 10)}});
  const ProfiledGpu whole({{"profile.json", about}, {"attention.csv", header + decodes(0, 50)}});
  const BatchShape batch = decode_batch(1, 4096);
  CHECK(both.us(attention, batch) == Approx(50));
  CHECK(both.us(narrow, batch) == Approx(10));
  CHECK(whole.us(attention, batch) == Approx(50));
  CHECK(whole.us(narrow, batch) == whole.analytic_us(narrow, batch));
}

TEST_CASE("profile shapes: many matrices in one kernel are not looked up among single ones") {
  const ProfiledGpu gpu({{"profile.json", about}, {"gemm.csv", gemms}});
  Operator one{.name = "one", .kernel = Gemm{4096, 4096, DataType::bf16, DataType::bf16, DataType::bf16}};
  Operator many = one;
  std::get<Gemm>(many.kernel).matrices = 16;
  CHECK(gpu.us(placed_on(*gpu.device, one), rows(16)) == Approx(22));
  many = placed_on(*gpu.device, many);
  CHECK(gpu.us(many, rows(16)) == gpu.analytic_us(many, rows(16)));
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

TEST_CASE("profile shapes: a block of experts is of one rank of those that cut it") {
  const TemporaryFile file(
      "type,hidden,inter,topk,experts,ep,tp,distribution,tokens,time_us\n"
      "bf16,4096,14336,2,8,4,2,balanced,16,10\nbf16,4096,14336,2,8,4,2,uniform,16,30\n");
  std::vector<Problem> problems;
  const std::vector<ExpertTimes> blocks = read_expert_blocks(file.name(), problems);
  CHECK(problems.empty());
  REQUIRE(blocks.size() == 2);
  CHECK((blocks[0].distribution == "uniform" && blocks[1].distribution == "balanced"));
  for (const ExpertTimes& of : blocks) CHECK(of.block == ExpertBlock{{}, 4096, 7168, 2, 8, 4});
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

}  // namespace weir::test
