// The table of rooms, held over every #include there is.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

namespace fs = std::filesystem;
namespace {

// Who may include whom. A new arrow is an architectural decision: change this table in its own commit, with
// the reason.
const std::map<std::string, std::set<std::string>> may_include = {
    {"sim/core", {}},
    {"models", {"sim/core"}},
    {"workloads", {"sim/core"}},
    {"policies", {"sim/core", "models"}},
    {"devices", {"sim/core", "models"}},
    {"devices/actor", {"sim/core", "models", "devices", "simgrid"}},
    {"sim/step", {"sim/core", "models", "policies", "devices"}},
    {"sim/plan", {"sim/core", "models", "policies", "devices", "workloads", "sim/step"}},
    {"sim/serving",
     {"sim/core", "models", "policies", "devices", "devices/actor", "workloads", "sim/step", "sim/plan",
      "sim/serving/platform", "simgrid"}},
    // The cluster in SimGrid is one for replicas and training jobs.
    {"sim/serving/platform",
     {"sim/core", "models", "policies", "devices", "devices/actor", "workloads", "sim/step", "sim/plan",
      "sim/serving", "simgrid"}},
    {"sim/training",
     {"sim/core", "models", "policies", "devices", "devices/actor", "workloads", "sim/step", "sim/plan",
      "sim/serving/platform", "simgrid"}},
    {"sim/app",
     {"sim/core", "models", "policies", "devices", "workloads", "sim/step", "sim/plan", "sim/serving",
      "sim/serving/platform", "sim/training"}},
    {"sim/studies",
     {"sim/core", "models", "policies", "devices", "workloads", "sim/step", "sim/plan", "sim/serving",
      "sim/serving/platform", "sim/training", "sim/app"}},
};

// The same within sim/app, of its folders. What lies beside them (sim/app/*.h) is everyone's.
const std::map<std::string, std::set<std::string>> app_may_include = {
    {"evidence", {}},
    {"quoting", {}},
    {"output", {"evidence"}},
    {"results", {"output"}},
    {"ranking", {"output", "results"}},  // what wins, for the commands that search, print or draw it
    {"sweep", {"output", "results", "ranking", "shell"}},
    {"plan", {"output", "results", "ranking", "evidence", "sweep", "quoting", "shell"}},
    {"measured", {"output", "results"}},
    {"calibrate", {"output", "results", "measured", "shell"}},
    {"compare", {"output", "results", "measured"}},
    {"explain", {"output", "results"}},
    {"plot", {"output", "results", "ranking"}},
    {"report", {"output", "results", "ranking"}},
    {"explore",
     {"evidence", "output", "report", "sweep", "shell"}},  // its page is a report's, its loads a search's
    {"memory", {"output", "shell"}},
    {"list", {"output"}},
    {"shell", {}},
    {"reproduce", {"output", "shell"}},
    {"mpi", {"sweep", "plan"}},
};

std::string app_folder_of(const std::string& path) {
  static const std::regex folder("^sim/app/(\\w+)/");
  std::smatch match;
  return std::regex_search(path, match, folder) ? match[1].str() : "";
}

// The room a path belongs to; "" for the libraries we use.
std::string room_of(const std::string& path) {
  if (path.starts_with("simgrid/") || path.starts_with("xbt/")) return "simgrid";
  std::string found;
  for (const auto& [room, allowed] : may_include)
    if (path.starts_with(room + "/") && room.size() > found.size()) found = room;
  return found;
}

// What is wrong with one line of a file of `room`; "" if nothing is.
std::string complaint(const std::string& room, const std::string& line) {
  static const std::regex include(R"re(^\s*#\s*include\s*(["<])([^">]+)[">])re");
  std::smatch match;
  if (!std::regex_search(line, match, include)) return "";
  const std::string included = room_of(match[2]);
  if (included.empty()) return match[1] == "\"" ? "a quoted include that names no room" : "";
  if (included == room || may_include.at(room).contains(included)) return "";
  return room + " may not include " + included;
}

// Without those of a room within it.
std::vector<fs::path> sources(const fs::path& room) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(WEIR_SOURCE_DIR) / room))
    if ((entry.path().extension() == ".h" || entry.path().extension() == ".cpp") &&
        (!may_include.contains(room.string()) ||
         room_of(fs::relative(entry.path(), WEIR_SOURCE_DIR).string()) == room))
      files.push_back(entry.path());
  return files;
}

}  // namespace

TEST_CASE("layering: every include follows the table of rooms") {
  for (const auto& [room, allowed] : may_include) {
    const std::vector<fs::path> files = sources(room);
    INFO(room);
    REQUIRE_FALSE(files.empty());  // an empty walk would pass in silence
    int includes = 0;
    for (const fs::path& file : files) {
      std::ifstream in(file);
      for (std::string line; std::getline(in, line);) {
        INFO(file.string() << ": " << line);
        CHECK(complaint(room, line) == "");
        includes += line.starts_with("#include");
      }
    }
    CHECK(includes > 0);
  }
}

TEST_CASE("layering: within sim/app, commands stand on results and output, and never these on a command") {
  const std::regex include(R"re(^\s*#\s*include\s*"([^"]+)")re");
  std::set<std::string> seen;
  for (const fs::path& file : sources("sim/app")) {
    const std::string folder = app_folder_of(fs::relative(file, WEIR_SOURCE_DIR).string());
    if (folder.empty()) continue;
    INFO(file.string());
    REQUIRE(app_may_include.contains(folder));
    seen.insert(folder);
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      const std::string included = app_folder_of(match[1]);
      INFO(line);
      CHECK((included.empty() || included == folder || app_may_include.at(folder).contains(included)));
    }
  }
  CHECK(seen.size() == app_may_include.size());
}

TEST_CASE("layering: a forbidden, relative or indirect include is seen") {
  CHECK(complaint("models", "#include <simgrid/s4u.hpp>") == "models may not include simgrid");
  CHECK(complaint("policies", "  #  include \"devices/device.h\"") == "policies may not include devices");
  CHECK(complaint("sim/core", "#include \"models/llm/architecture.h\"") == "sim/core may not include models");
  CHECK(complaint("sim/serving", "#include \"sim/app/command_line.h\"") ==
        "sim/serving may not include sim/app");
  CHECK(complaint("sim/step", "#include \"sim/plan/scenario.h\"") == "sim/step may not include sim/plan");
  CHECK(complaint("sim/app", "#include <simgrid/s4u.hpp>") == "sim/app may not include simgrid");
  CHECK(complaint("devices", "#include \"device.h\"") == "a quoted include that names no room");
  CHECK(complaint("devices", "#include <simgrid/s4u.hpp>") == "devices may not include simgrid");
  CHECK(complaint("sim/serving", "#include <simgrid/s4u.hpp>") == "");
  CHECK(complaint("sim/app", "#include \"sim/studies/studies.h\"") == "sim/app may not include sim/studies");
  CHECK(complaint("policies", "#include \"sim/core/catalog.h\"") == "");
}

TEST_CASE("layering: a room has at most eight headers, and no room or file is called utils") {
  const std::regex vague("(^|[_.-])(utils?|common|helpers?|managers?|misc)([_.-]|$)");
  std::map<fs::path, int> headers;
  for (const auto& [room, allowed] : may_include) {
    for (const fs::path& file : sources(room)) {
      headers[file.parent_path()] += file.extension() == ".h";
      for (const fs::path& part : fs::relative(file, WEIR_SOURCE_DIR)) {
        INFO(file.string());
        CHECK_FALSE(std::regex_search(part.string(), vague));
      }
    }
  }
  REQUIRE_FALSE(headers.empty());
  for (const auto& [folder, count] : headers) {
    INFO(folder.string());
    CHECK(count <= 8);
  }
}

// Two types of one name in two sources compile and link, and then share whatever the compiler did not inline:
// a std::vector of the one grows by the size of the other. (It happened: AddressSanitizer found it.)
TEST_CASE("layering: no type of ours has its name twice") {
  const std::regex type(R"re(^(?:struct|class|enum class) (\w+)(?: final)?(?: : [^;]*)?\s*\{)re");
  std::map<std::string, std::string> defined;
  for (const auto& [room, allowed] : may_include) {
    for (const fs::path& file : sources(room)) {
      bool unnamed = false;
      std::ifstream in(file);
      for (std::string line; std::getline(in, line);) {
        if (line == "namespace {") unnamed = true;
        if (line == "}  // namespace") unnamed = false;
        std::smatch match;
        if (unnamed || !std::regex_search(line, match, type)) continue;
        const auto [first, added] = defined.emplace(match[1], file.string());
        INFO(match[1].str() << " in " << file.string() << " and " << first->second);
        CHECK(added);
      }
    }
  }
  CHECK(defined.size() > 50);
}
