// `weir reproduce validation --only sessions`, on a folder of runs made by hand and on the measured ones.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "sim/core/params.h"
#include "test/app/run_weir.h"
#include "test/app/scratch_directory.h"
#include "test/reference_folder.h"

namespace weir::test {

TEST_CASE("weir reproduce validation --only sessions: rows of a folder of runs, and what plays each again") {
  const ScratchDirectory scratch;
  const auto folder = scratch.path() / "reference" / "sessions";
  std::filesystem::create_directories(folder);
  write(
      folder / "runs.csv",
      "run,hw,model,precision,engine,tp,ep,concurrency,offload,offload_gb,kv_capacity_tokens,share_computed\n"
      "1,h100,llama3.1-8b,bf16,vllm,1,1,2,none,,64000,0.4\n"
      "2,h100,llama3.1-8b,fp8,vllm,1,1,2,lmcache,20,64000,0.4\n"
      "3,h100,llama3.1-8b,bf16,sglang,1,1,2,none,,64000,0.4\n"
      "4,h100,llama3.1-8b,bf16,vllm,1,1,2,none,,64000,0.4\n");
  std::string requests =
      "run,conversation_id,turn_index,phase,start_s,input_tokens,output_tokens,ttft_ms,e2e_ms,itl_mean_ms,"
      "cancelled,error\n";
  for (const int run : {1, 2, 3})
    for (int turn = 0; turn < 40; ++turn)
      requests += fmt::format("{},{},{},profiling,{},{},20,100,400,10,0,\n", run, turn % 2 ? "a" : "b",
                              10 + turn / 2, 45 * turn, 2000 + 100 * turn);
  requests += "4,a,1,profiling,0,900,20,100,400,10,1,\n";  // was cancelled, so the run has none
  write(folder / "requests.csv", requests);
  const auto out = scratch.path() / "out";
  const Ended ended = run_weir({"reproduce", "validation", "--only", "sessions", "--reference",
                                (scratch.path() / "reference").string(), "--out", out.string()});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  std::map<std::string, Json> rows;
  for (const Json& row : read_json_file(out / "reproduce.json")) rows[row["id"]] = row;
  CHECK(rows.size() == 9);  // none of the other parts of the study
  for (const char* run : {"1", "2"})
    for (const char* what : {"computed", "ttft", "itl"}) {
      const Json& row = rows.at(fmt::format("sessions_{}_{}", run, what));
      INFO(row.dump());
      REQUIRE(row["simulated"].is_number());
      CHECK(row["within"].is_boolean());
    }
  CHECK(rows.at("sessions_left_out_sglang")["simulated"] == 1);
  CHECK(rows.at("sessions_1_computed")["paper"] == 40);
  CHECK(rows.at("sessions_1_computed")["accept_max"] == 46);
  CHECK(rows.at("sessions_2_computed")["accept_max"] == 50);  // the knee is nearer than 15 points
  CHECK(rows.at("sessions_1_ttft")["accept_max"].get<double>() == Approx(140));
  CHECK(rows.at("sessions_itl_all")["accept_max"] == 15);
  // Every prompt but its last 100 tokens is there, from the history on.
  CHECK(rows.at("sessions_1_computed")["simulated"].get<double>() < 10);
  const auto again = scratch.path() / "again";
  const Ended played =
      run_weir({"run", (out / "sessions" / "1_seed2.json").string(), "--out", again.string()});
  INFO(played.err);
  REQUIRE(played.code == 0);
  CHECK(read_json_file(again / "summary.json")["completed"] == 40);
}

TEST_CASE("weir reproduce validation --only sessions: the measured runs are within their bounds") {
  if (reference_folder().empty() || !std::filesystem::exists(reference_folder() / "sessions" / "runs.csv")) {
    WARN("skipped: WEIR_REFERENCE names no folder with recorded sessions");
    return;
  }
  const ScratchDirectory scratch;
  const auto out = scratch.path() / "out";
  const Ended ended = run_weir({"reproduce", "validation", "--only", "sessions", "--out", out.string()});
  INFO(ended.err);
  REQUIRE(ended.code == 0);
  std::size_t judged = 0;
  for (const Json& row : read_json_file(out / "reproduce.json")) {
    INFO(row.dump());
    CHECK(row["within"] != false);
    judged += row["within"].is_boolean();
  }
  CHECK(judged > 60);
}

}  // namespace weir::test
