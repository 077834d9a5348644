// weir report: the results of a run or a sweep as a page to explore and to pass around.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "sim/app/command_line.h"
#include "sim/app/interruption.h"
#include "sim/app/output/place/result_file.h"
#include "sim/app/output/result_directory.h"
#include "sim/app/report/page.h"

namespace weir {
namespace {

int report(const std::filesystem::path& directory, const std::optional<std::string>& out) {
  require_results(directory);
  const ResultFile file{out ? std::filesystem::path(*out) : directory / "report.html",
                        "a page of weir report", is_report_page};
  const Interruption interruption;
  const auto lock = file.lock();
  const ResultSet results = read_results(directory);
  if (const std::string missing = what_is_missing(results); !missing.empty())
    fmt::print(stderr, "note: {}\n", missing);
  Interruption::check();
  const std::string page = report_page(results);
  Interruption::check();
  file.write([&](OutputFile& to) { to.text(page); });
  fmt::print(stderr, "report in {}: open it in a browser\n", file.path.string());
  return exit_done;
}

}  // namespace

std::function<int()> declare_report(CLI::App& app) {
  struct Arguments {
    std::string directory;
    std::optional<std::string> out;
  };
  const auto a = std::make_shared<Arguments>();
  app.add_option("DIR", a->directory, "results of weir run or weir sweep")->required();
  app.add_option("--out", a->out, "the page, one file that needs no network (default: DIR/report.html)")
      ->type_name("FILE.html");
  return [a] { return report(a->directory, a->out); };
}

}  // namespace weir
