// Links of the Markdown pages lead somewhere: to a file of the repository, and to a heading of a page. Their
// commands are in blocks that test/docs/walk.py runs.
#include <catch2/catch.hpp>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

namespace fs = std::filesystem;
namespace {

const fs::path repository = WEIR_SOURCE_DIR;
// Pages that `make docs` writes from the schemas alone.
const std::set<std::string> written_pages = {"docs/schema.md", "docs/sweep_schema.md",
                                             "docs/study_schema.md"};

// What a block of code is: sh is walked, text behind it what it prints, bash is not walked.
const std::set<std::string> languages = {"sh", "text", "bash", "json"};

std::vector<fs::path> markdown_pages() {
  std::vector<fs::path> pages{repository / "README.md", repository / "CHANGELOG.md"};
  for (const auto& entry : fs::recursive_directory_iterator(repository / "docs"))
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  return pages;
}

// Without blocks of code, in which brackets are no links.
std::string prose_of(const fs::path& page) {
  std::ifstream in(page);
  std::string text;
  bool code = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("```")) code = !code;
    if (!code) text += line + "\n";
  }
  return text;
}

// A heading's name as GitHub and pandoc (gfm) make it: letters, digits, - and _ of its text; blanks are -.
std::string name_of_heading(std::string text) {
  text = std::regex_replace(text, std::regex("\\[([^\\]]*)\\]\\([^)]*\\)"), "$1");
  std::string name;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') name += '-';
    if (std::isalnum(byte) || c == '-' || c == '_' || byte >= 0x80)
      name += static_cast<char>(std::tolower(byte));
  }
  return name;
}

std::set<std::string> headings_of(const fs::path& page) {
  std::set<std::string> names;
  std::istringstream in(prose_of(page));
  for (std::string line; std::getline(in, line);)
    if (const std::size_t end = line.find_first_not_of('#'); end > 0 && end < 7 && line[end] == ' ')
      names.insert(name_of_heading(line.substr(end + 1)));
  return names;
}

std::vector<std::string> links_of(const fs::path& page) {
  static const std::regex link("\\]\\(([^)\\s]+)\\)");
  const std::string text = std::regex_replace(prose_of(page), std::regex("`[^`\n]*`"), "");
  std::vector<std::string> links;
  for (std::sregex_iterator at(text.begin(), text.end(), link), end; at != end; ++at)
    links.push_back((*at)[1]);
  return links;
}

// A complaint about a link of the page; none if it leads somewhere.
std::string complaint_of(const fs::path& page, const std::string& link) {
  if (link.find("://") != std::string::npos || link.starts_with("mailto:")) return "";
  const std::size_t hash = link.find('#');
  const std::string file = link.substr(0, hash);
  const fs::path target = file.empty() ? page : (page.parent_path() / file).lexically_normal();
  if (written_pages.contains(target.lexically_relative(repository).string())) return "";
  if (!fs::exists(target)) return "no such file";
  if (hash == std::string::npos || target.extension() != ".md") return "";
  return headings_of(target).contains(link.substr(hash + 1)) ? "" : "no such heading";
}

}  // namespace

TEST_CASE("docs: every link leads to a file of the repository and a heading of its page") {
  std::size_t links = 0;
  for (const fs::path& page : markdown_pages())
    for (const std::string& link : links_of(page)) {
      INFO(page.lexically_relative(repository).string() << ": " << link);
      CHECK(complaint_of(page, link) == "");
      ++links;
    }
  CHECK(links > 100);
  CHECK(complaint_of(repository / "README.md", "docs/nowhere.md") == "no such file");
  CHECK(complaint_of(repository / "README.md", "docs/results.md#nothing") == "no such heading");
}

TEST_CASE("docs: every page with commands is in a list of those that are walked") {
  std::set<std::string> listed, with_commands;
  for (const char* list : {"walked_pages.txt", "long_walks.txt"}) {
    std::ifstream in(repository / "test/docs" / list);
    for (std::string page; std::getline(in, page);) {
      INFO(page << " is listed twice");
      CHECK(listed.insert(page).second);
    }
  }
  for (const fs::path& page : markdown_pages()) {
    const std::string name = page.lexically_relative(repository).string();
    std::ifstream in(page);
    bool block = false;
    for (std::string line; std::getline(in, line);) {
      INFO(name << ": " << line);
      if (line.starts_with("```")) {
        block = !block;
        if (line == "```sh") with_commands.insert(name);
        CHECK((!block || languages.contains(line.substr(3))));
      } else if (!block) {  // set in by four, as blocks may be, a command would not be seen
        CHECK_FALSE(std::regex_search(line, std::regex("^    (build/)?(weir|python3|mpirun|make) ")));
      }
    }
  }
  CHECK(with_commands == listed);
}

TEST_CASE("docs: the scenarios that the tutorial and the architects' page show are those that they run") {
  const auto without_space = [](std::string text) {
    std::erase_if(text, [](unsigned char c) { return std::isspace(c) != 0; });
    return text;
  };
  const auto contents_of = [&](const std::string& file) {
    std::ostringstream text;
    text << std::ifstream(repository / file).rdbuf();
    return without_space(text.str());
  };
  for (const auto& [page, file] : {std::pair("docs/tutorial.md", "docs/tutorial/service.json"),
                                   {"docs/tutorial.md", "docs/tutorial/layouts.json"},
                                   {"docs/architects.md", "docs/architects/fast_pim.json"},
                                   {"docs/architects.md", "docs/architects/npu.json"},
                                   {"docs/studies.md", "docs/studies/chunked_prefill.json"}}) {
    INFO(page << " shows " << file);
    CHECK(contents_of(page).find(contents_of(file)) != std::string::npos);
  }
}
