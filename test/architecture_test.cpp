// docs/architecture.md is held to the tree: paths and names exist, tables have every field, and readers read.
#include <catch2/catch.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace fs = std::filesystem;
namespace {

const fs::path root = WEIR_SOURCE_DIR;

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<std::string> all_of(const std::string& text, const char* pattern, int group) {
  const std::regex regex(pattern);
  std::vector<std::string> found;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at)
    found.push_back((*at)[static_cast<std::size_t>(group)]);
  return found;
}

// Texts in backticks, but for command lines.
std::vector<std::string> quoted(const std::string& text) {
  return all_of(text, "`([^` \n]+)`", 1);
}

bool is_path(const std::string& text) {
  return text.find('/') != std::string::npos || text.ends_with(".txt") || text.ends_with(".md");
}

std::set<std::string> words_of(const std::string& text) {
  const std::vector<std::string> all = all_of(text, "\\w+", 0);
  return {all.begin(), all.end()};
}

std::set<std::string> words_of_sources() {
  std::set<std::string> words;
  for (const char* room : {"sim", "models", "devices", "policies", "workloads"})
    for (const auto& entry : fs::recursive_directory_iterator(root / room))
      if (entry.path().extension() == ".h" || entry.path().extension() == ".cpp")
        words.merge(words_of(read(entry.path())));
  return words;
}

// Removes what is between the brackets, innermost first.
std::string without(std::string text, const char* pattern) {
  const std::regex regex(pattern);
  for (std::string before; before != text;) before = text, text = std::regex_replace(text, regex, " ");
  return text;
}

// The fields that a header declares in a struct.
std::set<std::string> fields_of(const std::string& header, const std::string& name) {
  const std::string source = "\n" + std::regex_replace(header, std::regex("//[^\n]*"), "");
  const std::size_t begin = source.find("\nstruct " + name + " {"), end = source.find("\n};", begin);
  if (begin == std::string::npos || end == std::string::npos) return {};
  const std::size_t body = source.find('{', begin) + 1;
  std::string text = without(source.substr(body, end - body), "\\{[^{}]*\\}(?!\\s*[;,])");  // functions
  text = without(without(std::move(text), "<[^<>]*>"), "\\{[^{}]*\\}");
  std::set<std::string> fields;
  for (const std::string& statement : all_of(text, "[^;]+", 0)) {
    if (statement.find('(') != std::string::npos || statement.find("struct") != std::string::npos) continue;
    for (const std::string& one : all_of(statement, "(\\w+)\\s*(?:=[^,]*)?(?:,|$)", 1)) fields.insert(one);
  }
  return fields;
}

struct Row {
  std::vector<std::string> fields;
  std::vector<std::string> readers;  // paths
};

// The table whose first column is headed by the name.
std::vector<Row> table_of(const std::string& page, const std::string& name) {
  std::vector<Row> rows;
  std::istringstream lines(page.substr(std::min(page.size(), page.find("\n| `" + name + "` |") + 1)));
  std::string line;
  std::getline(lines, line);
  std::getline(lines, line);
  while (std::getline(lines, line) && line.starts_with("| ")) {
    const std::size_t column = line.find(" | ");
    Row row{quoted(line.substr(0, column)), {}};
    for (const std::string& one : quoted(line.substr(column)))
      if (is_path(one)) row.readers.push_back(one);
    rows.push_back(std::move(row));
  }
  return rows;
}

const std::pair<const char*, const char*> tables[] = {{"Operator", "models/llm/operator_graph.h"},
                                                      {"DeviceSpec", "devices/device.h"},
                                                      {"Batch", "policies/batching/batch.h"},
                                                      {"Iteration", "sim/serving/replica/iteration.h"}};

}  // namespace

TEST_CASE("architecture: every path and every name on the page exists") {
  const std::string page = read(root / "docs/architecture.md");
  const std::set<std::string> words = words_of_sources();
  const std::vector<std::string> all = quoted(page);
  CHECK(all.size() > 100);
  for (const std::string& one : all) {
    INFO(one);
    if (is_path(one))
      CHECK(fs::exists(root / one));
    else
      for (const std::string& word : words_of(one)) CHECK(words.contains(word));
  }
}

TEST_CASE("architecture: its tables have every field, and each reader reads one of its row") {
  const std::string page = read(root / "docs/architecture.md");
  for (const auto& [name, header] : tables) {
    INFO(name);
    std::set<std::string> told;
    for (const Row& row : table_of(page, name)) {
      told.insert(row.fields.begin(), row.fields.end());
      for (const std::string& reader : row.readers) {
        INFO(reader << " of " << row.fields.front());
        const std::set<std::string> words = words_of(read(root / reader));
        CHECK(std::ranges::any_of(row.fields, [&](auto& field) { return words.contains(field); }));
      }
    }
    CHECK(told == fields_of(read(root / header), name));
    CHECK(told.size() > 3);
  }
}

TEST_CASE("architecture: fields of a struct are found, and nothing else of it") {
  const std::string header = R"(
struct Example {
  std::string name;  // in messages; never empty
  std::function<int(double)> peak;
  std::map<std::string, std::vector<int>> sizes = {{"a", {1, 2}}};
  double begin = 0, end = 1;
  struct Part {
    int inner;
  };
  int members{};

  int& own() { return members; }
  bool operator==(const Example&) const = default;
};
struct Other {
  int not_ours;
};
)";
  CHECK(fields_of(header, "Example") ==
        std::set<std::string>{"name", "peak", "sizes", "begin", "end", "members"});
  CHECK(fields_of(header, "Missing").empty());
}
