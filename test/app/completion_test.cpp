// Completion and the man page have the arguments that weir's parser has.
#include <catch2/catch.hpp>

#include <cstdlib>
#include <set>
#include <sstream>

#include "test/app/run_weir.h"

using namespace weir::test;

namespace {

std::set<std::string> lines_of(const std::string& text) {
  std::set<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.insert(line.substr(0, line.find('\t')));
  return lines;
}

std::set<std::string> offered(std::vector<std::string> words) {
  words.insert(words.begin(), "__complete");
  const Ended ended = run_weir(words);
  CHECK(ended.code == 0);
  CHECK(ended.err == "");
  return lines_of(ended.out);
}

// Bash's offers behind these words; the last one is being typed.
std::set<std::string> in_bash(const ScratchDirectory& scratch, const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += " '" + word + "'";
  const std::string script = "source <(\"$0\" completion bash)\nCOMP_WORDS=(\"$0\"" + line +
                             ")\nCOMP_CWORD=" + std::to_string(words.size()) +
                             "\ncompopt() { :; }\n_weir\nprintf '%s\\n' \"${COMPREPLY[@]}\"\n";
  const Ended ended = run_weir({}, {.folder = scratch.path(), .under = {"bash", "-c", script}});
  CHECK(ended.err == "");
  return lines_of(ended.out);
}

}  // namespace

TEST_CASE("completion: commands, options, and values from the tables that the commands read") {
  using Set = std::set<std::string>;
  CHECK(offered({"re"}) == Set{"reproduce", "report"});
  CHECK(offered({"--v"}) == Set{"--version"});
  CHECK(offered({"run", "--save"}) == Set{"--save-detailed"});
  CHECK(offered({"run", ""}) == Set{":files"});
  CHECK(offered({"run", "x.json", "--out", ""}) == Set{":directories"});
  CHECK(offered({"plot", ""}) == Set{":directories"});
  CHECK(offered({"plot", "d", "--format", "p"}) == Set{"pdf", "png"});
  CHECK(offered({"plot", "d", "--kind", "heat"}) == Set{"heatmap"});
  CHECK(offered({"check", "--schema", "s"}) == Set{"scenario", "study", "sweep"});
  CHECK(offered({"pim", "hbm2_neupims", "--row-buffers", ""}) == Set{"dual", "single"});
  CHECK(offered({"memory", "ddr4_3200_l3"}).contains("ddr4_3200_l3"));
  CHECK(offered({"memory", "ddr4_3200_l3", ""}) == Set{":files"});
  CHECK_FALSE(offered({"pim", ""}).contains("ddr4_3200_l3"));
  CHECK(offered({"plan", "q.json", "--devices", "8xh100"}) == Set{"8xh100_sxm"});
  CHECK(offered({"plan", "q.json", "--objective", "d"}) ==
        Set{"dollars_per_hour", "dollars_per_mtok", "devices"});
  CHECK(offered({"list", "dev"}) == Set{"devices"});
  CHECK(offered({"list", "devices", "h100"}) == Set{"h100_nvl", "h100_pcie", "h100_sxm"});
  CHECK(offered({"list", "--json", "devices", "h100"}) == Set{"h100_nvl", "h100_pcie", "h100_sxm"});
  CHECK(offered({"list", "devices", "h100_sxm", ""}).empty());
  CHECK(offered({"reproduce", "l"}) == Set{"l3", ":files"});
  CHECK(offered({"reproduce", "l3", "--figures", "--out", ""}) == Set{":directories"});
  CHECK(offered({"completion", ""}) == Set{"bash", "zsh", "fish"});
  CHECK(offered({"nothing", ""}).empty());
}

TEST_CASE("completion: every command and every option of its help is offered") {
  for (const std::string& command : offered({""})) {
    const std::string help = run_weir({command, "--help"}).out;
    for (const std::string& option : offered({command, "--"})) CHECK_THAT(help, Catch::Contains(option));
    std::istringstream in(help);
    for (std::string word; in >> word;)
      if (word.starts_with("--") && word.size() > 2 && std::isalpha(static_cast<unsigned char>(word[2])))
        if (const std::string name = word.substr(0, word.find_first_of(",.:;= )"));
            help.find("\n  " + name) != std::string::npos)
          CHECK(offered({command, name}).contains(name));
  }
}

TEST_CASE("completion: bash completes with the script that weir prints") {
  const ScratchDirectory scratch;
  write(scratch / "my scenario.json", "{}");
  std::filesystem::create_directory(scratch / "my results");
  using Set = std::set<std::string>;
  CHECK(in_bash(scratch, {"swe"}) == Set{"sweep"});
  CHECK(in_bash(scratch, {"list", "policies", "chunked"}) == Set{"chunked_prefill"});
  CHECK(in_bash(scratch, {"run", "my"}) == Set{"my scenario.json", "my results"});
  CHECK(in_bash(scratch, {"reproduce", "l"}) == Set{"l3"});
  CHECK(in_bash(scratch, {"reproduce", "my"}) == Set{"my scenario.json", "my results"});
  CHECK(in_bash(scratch, {"plot", "my"}) == Set{"my results"});
  CHECK(in_bash(scratch, {"run", "x.json", "--time"}) == Set{"--timeline"});
}

TEST_CASE("completion: the scripts are read by their shells, where these are installed") {
  for (const std::string shell : {"bash", "zsh", "fish"}) {
    const Ended script = run_weir({"completion", shell});
    REQUIRE(script.code == 0);
    CHECK_THAT(script.out, Catch::Contains("__complete"));
    const ScratchDirectory scratch;
    write(scratch / "script", script.out);
    if (std::system(("command -v " + shell + " > /dev/null").c_str()) != 0) continue;
    CHECK(std::system((shell + " -n " + (scratch / "script").string()).c_str()) == 0);
  }
  CHECK(run_weir({"completion", "csh"}).code == 2);
}

TEST_CASE("man page: has every command and option, and groff has nothing to say") {
  const Ended page = run_weir({"--man"});
  REQUIRE(page.code == 0);
  CHECK_THAT(page.out, Catch::StartsWith(".TH WEIR 1"));
  std::string text = page.out;
  for (std::size_t at = 0; (at = text.find("\\-", at)) != std::string::npos;) text.erase(at, 1);
  for (const std::string& command : offered({""})) {
    CHECK_THAT(text, Catch::Contains(".SS weir " + command));
    for (const std::string& option : offered({command, "--"})) CHECK_THAT(text, Catch::Contains(option));
  }
  if (std::system("command -v groff > /dev/null") != 0) return;
  const ScratchDirectory scratch;
  write(scratch / "weir.1", page.out);
  const std::string groff = "groff -ww -Tascii -man " + (scratch / "weir.1").string() + " > " +
                            (scratch / "out").string() + " 2> " + (scratch / "err").string();
  CHECK(std::system(groff.c_str()) == 0);
  CHECK(contents(scratch / "err") == "");
  CHECK_THAT(contents(scratch / "out"), Catch::Contains("User Commands"));
}

TEST_CASE("weir --version: has the commit that was built, or says that it is unknown") {
  const std::string version = run_weir({"--version"}).out;
  const std::size_t at = version.find(" (commit ");
  REQUIRE(at != std::string::npos);
  const std::string commit = version.substr(at + 9, version.find(')', at) - at - 9);
  const bool hash =
      commit.size() >= 12 && commit.substr(0, 12).find_first_not_of("0123456789abcdef") == std::string::npos;
  CHECK((commit == "unknown" || hash));
}
