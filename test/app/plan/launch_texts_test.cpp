// Names and paths that a shell or YAML would take for more than text, in everything that `weir plan` prints
// to be run.
#include <catch2/catch.hpp>

#include <regex>

#include "sim/app/plan/launch/launch.h"
#include "sim/app/quoting/quoting.h"
#include "test/app/hostile_texts.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

Texts launched_texts() {
  Texts texts = hostile_texts();
  std::erase_if(texts, [](const std::string& text) { return text.find('\0') != std::string::npos; });
  for (const char* more : {"a\ntouch hurt",
                           "a\r\ntouch hurt\r\n#",
                           "x; touch hurt",
                           "$(touch hurt)",
                           "`touch hurt`",
                           "a}; touch hurt",
                           "'; touch hurt; '",
                           "\"; touch hurt; \"",
                           "'\ntouch hurt\n'",
                           "> hurt",
                           "a > hurt",
                           "&& hurt",
                           "--flags",
                           "--host 6.6.6.6 --port 1",
                           "-rf",
                           "$(HF_TOKEN)",
                           "$$(HF_TOKEN)",
                           "$HF_TOKEN",
                           "${HF_TOKEN}",
                           "${MODEL:-x}",
                           "a: b",
                           "a:\n  - b",
                           "- a",
                           "? a",
                           "&anchor",
                           "*alias",
                           "!!python/object:os.system",
                           "{a: b}",
                           "[a",
                           "|",
                           ">-",
                           "%YAML 1.1",
                           "---",
                           "...",
                           "a\n---\nkind: Pod",
                           "yes",
                           "null",
                           "0x10",
                           "a\xC2\x85touch hurt",
                           "a\xE2\x80\xA8touch hurt",
                           "a\xE2\x80\xA9"
                           "b",
                           "\xEF\xBB\xBF"
                           "bom",
                           "\xE2\x80\xAEtxt.hs",
                           "a\x1b[31mred",
                           " leading",
                           "trailing ",
                           "a\\\ntouch hurt",
                           "EOF",
                           "{model}",
                           "'{port}'",
                           "{value}",
                           "a --b --c --d"})
    texts.emplace_back(more);
  REQUIRE(texts.size() >= 140);
  return texts;
}

Json scenario_named(const std::string& name, const std::string& engine, int nodes, bool apart) {
  Json replicas = Json::array();
  for (const char* role :
       apart ? std::vector<const char*>{"prefill", "decode"} : std::vector<const char*>{"both"})
    replicas.push_back({{"role", role},
                        {"count", 1},
                        {"parallelism", {{"tensor", nodes > 1 && !apart ? 16 : 4}}},
                        {"kv_cache", {{"preemption", "swap"}}},
                        {"engine", {{"kind", engine}}}});
  return {{"name", name},
          {"model", "llama3.1-70b"},
          {"cluster",
           {{"nodes",
             {{{"count", nodes},
               {"devices", {{{"kind", "h100_sxm"}, {"count", 8}}}},
               {"interconnect", "nvlink4_switch"}}}}}},
          {"serving", {{"replicas", replicas}}},
          {"workload",
           {{"requests", {{"kind", "fixed"}, {"count", 1}, {"input_tokens", 1}, {"output_tokens", 1}}},
            {"arrivals", {{"kind", "all_at_once"}}}}}};
}

struct Printed {
  std::string script, manifest;
};

// `text` is wherever a scenario can have one.
Printed printed_with(const std::string& text, const StartedService& plain) {
  StartedService service = plain;
  service.name = service.model = text;
  for (StartedPool& pool : service.pools) {
    pool.title += " " + text;
    for (StartedReplica& replica : pool.replicas) replica.command.comments.push_back(text);
  }
  return {shell_script(service), service.nodes > 1 ? kubernetes_manifests(service) : compose_file(service)};
}

// In a folder of its own where no program is found: what it says on stderr.
std::string ran(const std::string& script, const std::string& shell, const std::string& argument) {
  const ScratchDirectory scratch;
  fs::create_directory(scratch / "empty");
  fs::create_directory(scratch / "in");
  write(scratch / "script", script);
  const std::string command = "cd '" + (scratch / "in").string() +
                              "' && env -i PATH=../empty NODE0=one NODE1=two NODE=0 HEAD=one " + shell +
                              " ../script " + argument + " > ../out 2> ../err < /dev/null";
  std::ignore = std::system(command.c_str());
  CHECK(fs::is_empty(scratch / "in"));
  CHECK(contents(scratch / "out").empty());
  return contents(scratch / "err");
}

void check_only_misses(const std::string& said, const std::string& program, int times) {
  const std::regex miss("\\.\\./script: (line )?[0-9]+: " + program + ": (command )?not found");
  CAPTURE(said);
  CHECK(std::distance(std::sregex_iterator(said.begin(), said.end(), miss), {}) == times);
  CHECK(std::regex_replace(said, miss, "").find_first_not_of("\n") == std::string::npos);
}

}  // namespace

TEST_CASE("launch: scripts run what the engine's command says, whatever a scenario is called") {
  const StartedService one = service_of(read_plan(scenario_named("n", "vllm_v1", 1, false), "scenario.json"));
  const StartedService two = service_of(read_plan(scenario_named("n", "sglang", 2, false), "scenario.json"));
  for (const std::string& text : launched_texts()) {
    CAPTURE(text);
    check_only_misses(ran(printed_with(text, one).script, "/bin/sh", ""), "vllm", 1);
    check_only_misses(ran(printed_with(text, two).script, "/bin/sh", "1"), "python", 1);
  }
  for (const char* text : {"a\ntouch hurt", "a}; touch hurt", "$(touch hurt)", "it's"}) {
    CAPTURE(text);
    check_only_misses(ran(printed_with(text, one).script, "/bin/bash", ""), "vllm", 1);
  }
}

TEST_CASE("launch: the model's path reaches the engine as it is, and never as a flag") {
  const StartedService one = service_of(read_plan(scenario_named("n", "vllm_v1", 1, false), "scenario.json"));
  for (const std::string& text : launched_texts()) {
    if (text.empty()) continue;  // then the script's MODEL is empty, as before
    const ScratchDirectory scratch;
    write(scratch / "vllm", "#!/bin/sh\nprintf %s \"$2\" > \"$CUDA_VISIBLE_DEVICES\"\n");
    fs::permissions(scratch / "vllm", fs::perms::owner_all);
    write(scratch / "script", printed_with(text, one).script);
    REQUIRE(std::system(
                ("cd '" + scratch.path().string() + "' && env -i PATH=. /bin/sh script 2> err").c_str()) ==
            0);
    CHECK(contents(scratch / "0,1,2,3") == text);
  }
  const ScratchDirectory scratch;
  fs::copy(WEIR_SOURCE_DIR "/models/llm/catalog/llama3.1-70b.json", scratch / "--trust-remote-code.json");
  Json scenario = scenario_named("n", "vllm_v1", 1, false);
  scenario["model"] = "--trust-remote-code.json";
  const Launch launch = launch_of(read_plan(scenario, scratch / "scenario.json"));
  CHECK(launch.script.find("MODEL=${MODEL:-./--trust-remote-code.json}\n") != std::string::npos);
}

TEST_CASE("launch: the commands for people are comments and the engine's command") {
  for (const std::string& text : launched_texts()) {
    CAPTURE(text);
    for (const auto& [engine, program, times] : {std::tuple("vllm_v1", "vllm", 1), {"trtllm", "sh", 1}}) {
      Plan plan = read_plan(scenario_named("n", engine, 1, false), "scenario.json");
      plan.scenario.name = text;
      plan.scenario.resolved["model"] = text;
      check_only_misses(ran(launch_of(plan).commands, "/bin/sh", ""), program, times);
    }
  }
}

TEST_CASE("launch: every manifest is YAML with the model that it was given") {
  const StartedService one = service_of(read_plan(scenario_named("n", "vllm_v1", 1, true), "scenario.json"));
  const StartedService two = service_of(read_plan(scenario_named("n", "sglang", 2, false), "scenario.json"));
  const ScratchDirectory scratch;
  int number = 0;
  for (const std::string& text : launched_texts())
    for (const StartedService& service : {one, two}) {
      write(scratch / fmt::format("{}.yaml", ++number), printed_with(text, service).manifest);
      write(scratch / fmt::format("{}.model", number), text);
    }
  CHECK(std::system(("/usr/bin/python3 " WEIR_SOURCE_DIR "/test/app/plan/parse_manifests.py '" +
                     scratch.path().string() + "'")
                        .c_str()) == 0);
}

TEST_CASE("quoting: a word of a shell is the text, and plain where it can be") {
  CHECK(shell_word("meta-llama/Llama-3.1-70B") == "meta-llama/Llama-3.1-70B");
  CHECK(shell_word("") == "''");
  CHECK(shell_word("$x") == "'$x'");
  CHECK(shell_word("it's") == "'it'\\''s'");
  CHECK(yaml_scalar("a\n\"b\"\xC2\x85\xF0\x9F\x98\x80\x07\xFF") ==
        "\"a\\x0a\\\"b\\\"\\x85\xF0\x9F\x98\x80\\x07\xEF\xBF\xBD\"");
  CHECK(yaml_block("a: b\n  c", 4) == "|-\n    a: b\n      c");
  CHECK(yaml_block(" a", 4) == "\" a\"");
  CHECK(comment_text("a\nb\xE2\x80\xA8\x1b[0m \xE6\x97\xA5") == "a\\x0ab\\u2028\\x1b[0m \xE6\x97\xA5");
}
