#include "test/app/run_weir.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <chrono>
#include <thread>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

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
    if (name.ends_with(".json") && name != "config.json" && !name.ends_with("schema.json") &&
        folder != "plan" && sweeps == (folder == "sweeps"))
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

}  // namespace weir::test
