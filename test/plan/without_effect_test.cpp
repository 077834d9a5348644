// A key that a scenario gives in vain is noted; a default never is.
#include <catch2/catch.hpp>

#include "sim/plan/plan.h"
#include "test/app/run_weir.h"
#include "test/serving/run_in_child.h"

using namespace weir;

namespace {

Json json(const std::string& text) {
  return parse_json(text, "a value");
}

// llama3.1-8b on one H100, and nothing in vain.
Json one_h100() {
  Json s = test::small_scenario();
  s["cluster"] = json(R"({"nodes": [{"devices": [{"kind": "h100_sxm"}]}]})");
  return s;
}

std::vector<std::string> notes_of(const Json& document) {
  return read_plan(document, "s.json").scenario.notes;
}

// The notes of the small scenario with one value set.
std::vector<std::string> notes_with(const std::string& pointer, const Json& value) {
  Json document = one_h100();
  document[Json::json_pointer(pointer)] = value;
  return notes_of(document);
}

const std::string replica = "/serving/replicas/0", device = "/cluster/nodes/0/devices/0";

void check_note(const std::vector<std::string>& notes, const std::string& what) {
  INFO(what);
  REQUIRE(notes.size() == 1);
  INFO(notes[0]);
  CHECK(notes[0].find(what) != std::string::npos);
}

}  // namespace

TEST_CASE("without effect: collectives as flows are plain ones, whatever was measured of the engine's") {
  Json s = one_h100();
  s["cluster"] = json(
      R"({"nodes": [{"devices": [{"kind": "h100_sxm", "count": 2}], "interconnect": "nvlink4_switch"}]})");
  s["serving"]["replicas"][0] = json(R"({"parallelism": {"tensor": 2}, "engine": {"kind": "vllm_v1"}})");
  CHECK(notes_of(s).empty());
  s["collectives"] = "flows";
  check_note(notes_of(s), "not the collectives that were measured of vllm");
  s["serving"]["replicas"][0]["engine"]["kind"] = "ideal";
  CHECK(notes_of(s).empty());
}

TEST_CASE("notes: a scenario's defaults give none, said or not") {
  CHECK(notes_of(one_h100()).empty());
  CHECK(notes_of(read_plan(one_h100(), "s.json").scenario.resolved).empty());
}

TEST_CASE("notes: activity that no policy asks for") {
  check_note(notes_with("/workload/activity", json(R"({"kind": "generated", "density": 0.2})")),
             "/workload/activity: is not used");
}

TEST_CASE("notes: policies where they change nothing") {
  check_note(notes_with(replica + "/placement", json(R"({"kind": "greedy_min_load"})")),
             replica + "/placement: greedy_min_load changes nothing");
  CHECK(notes_with(replica + "/placement", json(R"({"kind": "round_robin"})")).empty());
  check_note(notes_with(replica + "/batching", json(R"({"kind": "sub_batch_interleaving"})")),
             replica + "/batching: two sub-batches take turns on h100_sxm");
  CHECK(notes_with(replica + "/batching", json(R"({"kind": "sub_batch_interleaving", "interleave": "off"})"))
            .empty());
  check_note(notes_with(replica + "/prefetch", json(R"({"kind": "preserve"})")),
             replica + "/prefetch: preserve fetches nothing: with tensor 1");
  check_note(
      notes_with(replica + "/partitioning", json(R"({"kind": "device_only", "fused_all_reduce_chunks": 4})")),
      replica + "/partitioning/fused_all_reduce_chunks: 4 changes nothing: with tensor 1");
  Json two = one_h100();
  two["cluster"]["nodes"][0] =
      json(R"({"devices": [{"kind": "h100_sxm", "count": 2}], "interconnect": "nvlink4_switch"})");
  two["serving"]["replicas"][0] = json(R"({"parallelism": {"tensor": 2}, "prefetch": {"kind": "preserve"},
      "batching": {"kind": "sub_batch_interleaving"},
      "partitioning": {"kind": "device_only", "fused_all_reduce_chunks": 2}})");
  CHECK(notes_of(two).empty());
}

TEST_CASE("notes: keys that another makes void") {
  check_note(notes_with(replica + "/kv_cache", json(R"({"memory_fraction": 0.5, "blocks": 1000})")),
             "/kv_cache/memory_fraction: 0.5 is not used: blocks says");
  check_note(
      notes_with(replica + "/kv_cache", json(R"({"memory_fraction": 0.5, "free_memory_fraction": 0.9})")),
      "is not used: free_memory_fraction says");
  CHECK(notes_with(replica + "/kv_cache", json(R"({"memory_fraction": 0.9, "blocks": 1000})")).empty());
  check_note(notes_with(replica + "/kv_cache", json(R"({"swap_space_gib": 8})")),
             "/kv_cache/swap_space_gib: is not used");
  CHECK(notes_with(replica + "/kv_cache", json(R"({"swap_space_gib": 8, "preemption": "swap"})")).empty());
  check_note(notes_with("/cluster/network", json(R"({"topology": "torus"})")),
             "/cluster/network: is not used");
  check_note(notes_with("/cluster/network", json(R"({"link_latency_us": 6})")),
             "/cluster/network: is not used");
  CHECK(notes_with("/cluster/network", json(R"({"topology": "fat_tree", "link_latency_us": 5})")).empty());
  Json nodes = one_h100();
  nodes["cluster"]["nodes"][0]["count"] = 2;
  nodes["cluster"]["network"]["topology"] = "torus";
  nodes["serving"]["replicas"][0]["count"] = 2;
  CHECK(notes_of(nodes).empty());
}

TEST_CASE("notes: tiers that nobody looks into") {
  const Json tiers = json(R"([{"kind": "host", "capacity_gb": 100}])");
  const std::string at = replica + "/kv_cache/tiers";
  check_note(notes_with(at, tiers), at + ": no two prompts begin alike");
  Json apart = one_h100();
  apart["cluster"]["nodes"][0]["devices"][0]["count"] = 2;
  apart["serving"]["replicas"] = json(R"([{"role": "prefill"}, {"role": "decode"}])");
  apart["serving"]["replicas"][1]["kv_cache"]["tiers"] = tiers;
  check_note(notes_of(apart),
             "/serving/replicas/1/kv_cache/tiers: are not used: prompts are computed on other");
  Json told = read_json_file(test::shipped("kv_reuse/agents.json"));
  told["serving"]["routing"] = {{"kind", "kv_aware"}};
  const std::vector<std::string> notes = notes_of(told);
  CHECK(std::ranges::any_of(notes, [](const std::string& note) {
    return note.starts_with("/serving/routing: replicas do not tell what their tiers keep");
  }));
}

TEST_CASE("notes: assumptions and kernels that are of no device here") {
  check_note(notes_with("/assumptions", "paper"), "/assumptions: \"paper\" changes nothing");
  Json l2 = one_h100();
  l2["cluster"]["nodes"][0]["devices"][0]["kind"] = "l2_npu";
  l2["assumptions"] = "paper";
  CHECK(notes_of(l2).empty());

  check_note(
      notes_with(device + "/memory_bandwidth_gb_per_s", 4000),
      device + ": kernel efficiencies of hopper, which were measured at another memory_bandwidth_gb_per_s");
  CHECK(notes_with(device + "/price_per_hour", 1).empty());
  CHECK(notes_with(device + "/memory_capacity_gib", 60).empty());
  check_note(notes_with(replica + "/engine", json(R"({"kind": "trtllm"})")),
             replica +
                 "/engine: kernels that nobody measured under trtllm on this device (hopper_trtllm): "
                 "elementwise of hopper stand in");
  Json a100 = one_h100();
  a100["cluster"]["nodes"][0]["devices"][0]["kind"] = "a100_sxm_80gb";
  a100["serving"]["replicas"][0]["engine"] = json(R"({"kind": "trtllm"})");
  check_note(notes_of(a100),
             replica + "/engine: kernels of trtllm were not measured on this device: those of vllm stand in");
  CHECK(notes_with(replica + "/engine", json(R"({"kind": "ideal"})")).empty());
  Json t4 = one_h100();
  t4["model"] = "opt-13b";
  t4["precision"] = json(R"({"weights": "fp16", "activations": "fp16", "kv_cache": "fp16"})");
  t4["cluster"]["nodes"][0] =
      json(R"({"devices": [{"kind": "t4", "count": 4}], "interconnect": "pcie3_x16"})");
  t4["serving"]["replicas"][0]["parallelism"]["tensor"] = 4;
  check_note(notes_of(t4),
             device + "/kind: kernel efficiencies of ampere (Ampere) on a GPU whose own generation (Turing)");
}

TEST_CASE("notes: numbers beyond a hundred times the catalog's largest") {
  const std::vector<std::string> notes = notes_with(device + "/memory_bandwidth_gb_per_s", 5e6);
  REQUIRE(notes.size() == 2);  // and whose kernels they are
  CHECK(notes[0].find(
            device +
            "/memory_bandwidth_gb_per_s: 5000000 is more than 100 times the largest of the catalog, ") == 0);
  check_note(notes_with(device + "/price_per_hour", 1e6), "/price_per_hour: 1000000 is more than 100 times");
  check_note(
      notes_with("/cluster/nodes/0/interconnect", json(R"({"bandwidth_gb_per_s": 1e6, "latency_us": 1})")),
      "/cluster/nodes/0/interconnect/bandwidth_gb_per_s: 1000000 is more than 100 times");
  Json nodes = one_h100();
  nodes["cluster"]["nodes"][0]["count"] = 2;
  nodes["serving"]["replicas"][0]["count"] = 2;
  nodes["cluster"]["network"]["link_bandwidth_gb_per_s"] = 1e7;
  check_note(notes_of(nodes), "/cluster/network/link_bandwidth_gb_per_s: 10000000 is more than 100 times");
}

TEST_CASE("notes: requests longer than what the model was made for, counted and the longest of them") {
  const auto with_lengths = [](std::int64_t input, std::int64_t output, const Json& longest) {
    Json s = one_h100();
    s["model"] = "opt-13b";  // 2,048 positions
    s["serving"]["replicas"][0]["max_model_len"] = longest;
    s["workload"] =
        json(R"({"requests": {"kind": "fixed", "count": 7}, "arrivals": {"kind": "all_at_once"}})");
    s["workload"]["requests"]["input_tokens"] = input;
    s["workload"]["requests"]["output_tokens"] = output;
    return s;
  };
  check_note(
      notes_of(with_lengths(2000, 49, nullptr)),
      "7 of 7 requests are longer than the 2048 tokens that opt-13b was made for (the longest has 2049)");
  CHECK(notes_of(with_lengths(2000, 48, nullptr)).empty());
  const std::vector<std::string> rejected = notes_of(with_lengths(2000, 49, 2048));  // one by one
  REQUIRE(rejected.size() == 1);
  CHECK_THAT(rejected[0], Catch::StartsWith("no request can ever be served"));
  CHECK(notes_of(with_lengths(2000, 49, 2050)).size() == 1);
  const Scenario s = read_plan(with_lengths(2000, 49, nullptr), "s.json").scenario;
  CHECK(beyond_context(s).requests == 7);
  CHECK(beyond_context(s).longest == 2049);
}

TEST_CASE("notes: shipped scenarios have those that are right, and no other") {
  const std::vector<std::string> right = {
      "made for",
      "serve no replica",
      "host memory among",
      "kernel efficiencies of",
      "kernels that nobody measured under",
      "desynchronised",
      "are GEMMs with its GEMMs' efficiencies: an ESTIMATE",
      "warm batches",
      "moved by a uniform",
      "dropped",
      "estimate",
      "which neurons are active",        // reference.json shows every key, whoever uses it
      "nothing serves or trains on it",  // nor whoever runs on it
      "activates every neuron",          // Hermes-base
      "only preempted requests find",    // reference.json once more, with tiers
      "predict further tokens",          // drafting layers of frontier models
      "layers stand for all",            // Hermes follows eight, and says the error
      "stand in"};                       // kernels of another library, which nobody measured under this one
  for (const std::filesystem::path& file : test::shipped_scenarios()) {
    if (file.string().find("bench") != std::string::npos) continue;
    for (const std::string& note : read_plan(read_json_file(file), file.string()).scenario.notes) {
      INFO(file << ": " << note);
      CHECK(std::any_of(right.begin(), right.end(),
                        [&](const std::string& part) { return note.find(part) != note.npos; }));
    }
  }
}
