// Inputs that people have, and what they must give: the project's own small ones (test/app/cases), and those
// of ../shared/cases where that folder is there. case_checks/ says what each must give.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>

#include "test/app/case_checks/case_checks.h"

namespace fs = std::filesystem;
namespace weir::test {

nlohmann::json CaseRun::summary(const std::string& results) const {
  const std::string text = contents(folder / results / "summary.json");
  return text.empty() ? nlohmann::json::object() : nlohmann::json::parse(text);
}

bool CaseRun::refused() const {
  return ended.code == 2 && !fs::exists(folder / "out");
}

namespace {

// COMMAND is shell, in which `weir` is this build's.
CaseRun run_case(const fs::path& folder, const ScratchDirectory& scratch) {
  const fs::path copy = scratch / folder.filename().string();
  fs::copy(folder, copy, fs::copy_options::recursive);
  fs::permissions(copy, fs::perms::owner_all, fs::perm_options::add);
  fs::create_symlink(WEIR_BINARY, scratch / "weir");
  const std::string script =
      write(scratch / "run", "cd '" + copy.string() + "' && PATH='" + scratch.path().string() + "':$PATH\n" +
                                 contents(folder / "COMMAND"));
  const std::string out = (scratch / "stdout").string(), err = (scratch / "stderr").string();
  const int status = std::system(("sh '" + script + "' > '" + out + "' 2> '" + err + "'").c_str());
  return {{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), contents(out), contents(err)},
          copy};
}

CaseCheck check_of(const std::string& folder, bool& known) {
  const auto& table = case_checks();
  const auto row = std::ranges::find(table, folder, &NamedCase::folder);
  known = row != table.end();
  return known ? row->check : nullptr;
}

void run_cases(const fs::path& root) {
  std::set<fs::path> folders;
  for (const auto& entry : fs::directory_iterator(root))
    if (entry.is_directory()) folders.insert(entry.path());
  for (const fs::path& folder : folders) {
    const std::string name = folder.filename();
    CAPTURE(name, contents(folder / "EXPECTED"));
    bool known = false;
    const CaseCheck check = check_of(name, known);
    CHECK(known);  // a row of case_checks() says what a folder must give
    const ScratchDirectory scratch;
    const CaseRun run = run_case(folder, scratch);
    CHECK(run.ended.code < 128);
    if (check) check(run);
  }
}

}  // namespace

TEST_CASE("cases: the project's own small inputs give what they must") {
  run_cases(WEIR_SOURCE_DIR "/test/app/cases");
}

TEST_CASE("cases: every folder of ../shared/cases gives what its EXPECTED says") {
  const fs::path root = WEIR_SOURCE_DIR "/../shared/cases";
  if (!fs::is_directory(root)) {
    WARN("skipped: " << root << " is not there");
    return;
  }
  run_cases(root);
}

}  // namespace weir::test
