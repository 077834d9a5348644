// weir sweep --resume: what it goes on with, and what it refuses.
#include <catch2/catch.hpp>

#include "sim/app/sweep/sweep.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"
#include "test/app/sweep/small_sweep.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

Ended sweep(const std::string& file, const fs::path& out, std::vector<std::string> more = {}) {
  std::vector<std::string> arguments = {"sweep", file, "--out", out.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_weir(arguments);
}

}  // namespace

TEST_CASE("weir sweep: --resume runs what failed again, and refuses what it cannot go on with") {
  const ScratchDirectory scratch;
  const std::string file = write_small_sweep(scratch / "small.json", 4);
  REQUIRE(sweep(file, scratch / "out", {"--resume"}).code == 0);  // nothing there yet: it starts
  const std::string whole = contents(scratch / "out/results.csv");
  {
    const Sweep points = read_sweep(file);
    ResultStore store(scratch / "out/results.sqlite", record_of(points));
    store.put(points.points[2], {"the machine was full", "", 0, 0, 0}, scenario_of(points, points.points[2]));
  }
  const Ended resumed = sweep(file, scratch / "out", {"--resume"});
  CHECK_THAT(resumed.err, Catch::Contains("3 of 4 points are there already"));
  CHECK(contents(scratch / "out/results.csv") == whole);

  const std::string other = write_small_sweep(scratch / "other.json", 5);
  const Ended refused = sweep(other, scratch / "out", {"--resume"});
  CHECK(refused.code == 2);
  CHECK_THAT(refused.err, Catch::Contains("another sweep"));
  CHECK(contents(scratch / "out/results.csv") == whole);
  fs::create_directory(scratch / "theirs");
  std::ofstream(scratch / "theirs/thesis.tex") << "years of work";
  CHECK(sweep(file, scratch / "theirs").code == 2);
  CHECK(sweep(file, scratch / "theirs", {"--resume"}).code == 2);
  CHECK(fs::exists(scratch / "theirs/thesis.tex"));
}

TEST_CASE("weir sweep: --resume gives points that failed at a limit another chance with a higher one") {
  const ScratchDirectory scratch;
  const std::string hasty = write_small_sweep(scratch / "small.json", 3, 5'000, R"({"time_s": 1e-3})");
  const Ended first = sweep(hasty, scratch / "out");
  CHECK(first.code == 3);
  CHECK_THAT(first.out, Catch::Contains("3 failed"));
  CHECK(sweep(hasty, scratch / "out", {"--resume", "--quiet"}).code == 3);
  const std::string patient = write_small_sweep(scratch / "small.json", 3, 5'000, R"({"time_s": 60})");
  const Ended ended = sweep(patient, scratch / "out", {"--resume"});
  INFO(ended.err);
  CHECK(ended.code == 0);
  CHECK_THAT(ended.out, Catch::Contains("3 points done") && !Catch::Contains("failed"));
}

TEST_CASE("weir sweep: --resume refuses when a file that the scenarios name has other contents") {
  const ScratchDirectory scratch;
  const auto write_trace = [&](int tokens) {
    std::ofstream(scratch / "trace.csv") << "arrival_s,input_tokens,output_tokens\n0,100," << tokens << "\n";
  };
  fs::create_directory(scratch / "profile");
  const auto write_profile = [&](const std::string& dense) {
    for (const char* other : {"per_sequence", "attention"}) {
      std::ofstream file(scratch / ("profile/" + std::string(other) + ".csv"));
      if (other == std::string("attention")) {
        file << "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n";
        for (const char* row : {"0,0,1,64", "0,0,1,4096", "0,0,64,64", "0,0,64,4096", "64,0,0,0",
                                "64,4096,0,0", "4096,0,0,0", "4096,4096,0,0"})
          file << row << ",10\n";
      } else {
        file << "layer,sequences,time_us\n";
        for (const char* layer : {"lm_head", "sampler"}) file << layer << ",1,10\n" << layer << ",64,10\n";
      }
    }
    std::ofstream file(scratch / "profile/dense.csv");
    file << "layer,tokens,time_us\n";
    for (const char* layer : {"layernorm", "qkv_proj", "rotary_emb", "o_proj", "gate_up_proj", "act_fn",
                              "down_proj", "embedding", "final_layernorm"})
      file << layer << ",1,10\n" << layer << ",4096," << dense << "\n";
  };
  write_trace(10);
  write_profile("100");
  std::ofstream(scratch / "sweep.json") << R"({
    "scenario": {"model": "llama3.1-8b",
                 "cluster": {"nodes": [{"devices": [{"kind": "h100_sxm", "profile": "profile"}]}]},
                 "serving": {"replicas": [{}]},
                 "workload": {"requests": {"kind": "csv", "file": "trace.csv"}, "arrivals": {"kind": "trace"}}},
    "seeds": 2})";
  const std::string file = scratch / "sweep.json";
  const Ended first = sweep(file, scratch / "out");
  INFO(first.err);
  REQUIRE(first.code == 0);
  CHECK_THAT(sweep(file, scratch / "out", {"--resume"}).err, Catch::Contains("2 of 2 points are there"));

  write_trace(11);
  const Ended trace = sweep(file, scratch / "out", {"--resume"});
  CHECK(trace.code == 2);
  CHECK_THAT(trace.err, Catch::Contains("its file trace.csv differs"));
  write_trace(10);
  write_profile("101");
  CHECK_THAT(sweep(file, scratch / "out", {"--resume"}).err, Catch::Contains("its file profile differs"));
  write_profile("100");
  CHECK(sweep(file, scratch / "out", {"--resume"}).code == 0);
}
