// Wrong tables of a profile that know kernels by their shapes.
#include <catch2/catch.hpp>
#include <random>

#include "test/devices/profiled_gpu.h"

namespace weir::test {

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

TEST_CASE("profile shapes: a window is a whole number of tokens") {
  std::string header = attention_header;
  header.replace(header.find("prompts"), 0, "window,");
  const std::string all = problems_of({{"profile.json", about},
                                       {"attention.csv", header + "32,8,128,bf16,1.5,1,512,0,0,0,40\n"
                                                                  "32,8,128,bf16,-1,1,512,0,0,0,40\n"
                                                                  "32,8,128,bf16,128,1,512,0,0,0,40\n"}});
  CHECK_THAT(all, Catch::Contains("attention.csv:2: window: expected tokens that a token attends to"));
  CHECK_THAT(all, Catch::Contains("attention.csv:3: window"));
  CHECK_THAT(all, !Catch::Contains("attention.csv:4"));
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
