#include "test/app/run_weir.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <thread>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>

#include "sim/app/command_line.h"
#include "test/app/scratch_directory.h"

namespace weir::test {
namespace fs = std::filesystem;
namespace {

[[noreturn]] void become_weir(const std::vector<std::string>& arguments, const HowToRun& how,
                              const fs::path& out, const fs::path& err) {
  ::dup2(::open(out.c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
  ::dup2(::open(err.c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
  if (::chdir(how.folder.c_str()) != 0) ::_exit(126);
  for (const std::string& assignment : how.environment) ::putenv(const_cast<char*>(assignment.c_str()));
  std::vector<char*> argv;
  for (const std::string& word : how.under) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(const_cast<char*>(WEIR_BINARY));
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  ::execvp(argv[0], argv.data());
  ::_exit(127);
}

}  // namespace

std::string contents(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void wait(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

Ended run_command(const std::vector<std::string>& arguments) {
  const ScratchDirectory scratch;
  std::fflush(nullptr);  // or the child prints it too
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(::open((scratch / "out").c_str(), O_WRONLY | O_CREAT, 0600), STDOUT_FILENO);
    ::dup2(::open((scratch / "err").c_str(), O_WRONLY | O_CREAT, 0600), STDERR_FILENO);
    std::vector<const char*> argv = {WEIR_BINARY};
    for (const std::string& a : arguments) argv.push_back(a.c_str());
    const int code = run_command_line(static_cast<int>(argv.size()), argv.data());
    std::fflush(nullptr);
    std::cout.flush();
    ::_exit(code);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(scratch / "out"),
          contents(scratch / "err")};
}

Ended run_weir(std::vector<std::string> arguments, const HowToRun& how) {
  const ScratchDirectory scratch;
  const pid_t child = ::fork();
  if (child == 0) become_weir(arguments, how, scratch / "out", scratch / "err");
  how.meanwhile(child);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(scratch / "out"),
          contents(scratch / "err")};
}

Ended run_small(const ScratchDirectory& scratch, const std::string& name,
                const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {
      "run", shipped("quickstart.json"), "--set", "/workload/requests/count=40", "--out", "out/" + name};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_weir(arguments, {.folder = scratch.path()});
}

std::string write(const fs::path& file, const std::string& text) {
  std::ofstream(file) << text;
  return file.string();
}

int lines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

std::string shipped(const std::string& name) {
  return WEIR_SOURCE_DIR "/scenarios/" + name;
}

namespace {

std::vector<fs::path> json_files(bool sweeps) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(WEIR_SOURCE_DIR "/scenarios")) {
    const std::string name = entry.path().filename(), folder = entry.path().parent_path().filename();
    if (name != "study.json" && name.ends_with(".json") && name != "config.json" &&
        !name.ends_with("schema.json") && folder != "plan" && sweeps == (folder == "sweeps"))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<fs::path> shipped_scenarios() {
  return json_files(false);
}

std::vector<fs::path> shipped_sweeps() {
  return json_files(true);
}

std::vector<std::string> made_short(const std::string& name) {
  static const std::map<std::string, int> requests = {{"hermes/alpaca", 8},
                                                      {"hermes/sharegpt", 4},
                                                      {"kv_reuse/agents", 24},
                                                      {"kv_reuse/agents_disk", 24},
                                                      {"l3/hbm_pim", 50},
                                                      {"l3/neo", 50},
                                                      {"l3/quick", 50},
                                                      {"l3/spare_memory", 50},
                                                      {"neupims/alpaca_online", 300},
                                                      {"neupims/gpt3-175b_tp8_pp4", 60},
                                                      {"neupims/gpt3-30b_tp4_pp2", 250},
                                                      {"neupims/llama3.1-70b_online", 300},
                                                      {"neupims/sharegpt_online", 300},
                                                      {"wide_ep/deepseek_r1_12_nodes", 2000}};
  const auto at = requests.find(name);
  if (at == requests.end()) return {};
  return {"--set", "/workload/requests/count=" + std::to_string(at->second)};
}

std::string name_of_shipped(const fs::path& file) {
  return fs::relative(file, WEIR_SOURCE_DIR "/scenarios").replace_extension().string();
}

}  // namespace weir::test
