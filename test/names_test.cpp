// The core knows nobody of the catalogs by name: what follows from a device, a model, a study or a policy
// follows from what it says of itself, so that another one needs no line there.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "devices/device.h"
#include "models/llm/architecture.h"
#include "models/nn/net_catalog.h"
#include "policies/batching/batching.h"
#include "policies/partitioning/partitioning.h"
#include "policies/placement/neurons/neuron_placement.h"
#include "policies/placement/placement.h"
#include "policies/prefetch/prefetch.h"
#include "policies/routing/routing.h"
#include "policies/runtime/runtime.h"
#include "policies/speculation/speculation.h"
#include "sim/studies/studies.h"

namespace fs = std::filesystem;
using namespace weir;
namespace {

const char* const rooms[] = {"sim/step", "sim/plan", "sim/serving"};
const char* const interfaces[] = {
    "devices/device.h",
    "models/machine/machine.h",
    "models/llm/operator_graph.h",
    "policies/batching/batch.h",
    "policies/batching/batching.h",
    "policies/partitioning/partitioning.h",
    "policies/placement/neurons/neuron_placement.h",
    "policies/placement/placement.h",
    "policies/prefetch/prefetch.h",
    "policies/routing/routing.h",
    "policies/runtime/runtime.h",
    "policies/speculation/speculation.h",
};

// Names that are words of the language too, each with its reason. As a whole literal none is allowed: that
// would be the name, which something is compared with.
const std::map<std::string, std::string> generic_words = {
    {"draft", "a token that is guessed, whoever does it"},
    {"none", "an enumerator, and a word of help texts"},
    {"priority", "of a request, whatever the policy makes of it"},
    {"random", "what a seed is for"},
    {"static", "C++'s own"},
};

std::set<std::string> names_of_catalogs() {
  std::set<std::string> all;
  for (const std::vector<std::string>& names :
       {device_names(), architecture_names(), net_names(), names_of(studies()), names_of(batching_policies()),
        names_of(partitioning_policies()), names_of(placement_policies()),
        names_of(neuron_placement_policies()), names_of(prefetch_policies()), names_of(routing_policies()),
        names_of(runtime_policies()), names_of(speculations())})
    all.insert(names.begin(), names.end());
  return all;
}

bool in_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

struct Piece {  // of a source
  std::string text;
  bool literal;  // without its quotes; literals side by side are one
};

std::size_t end_of_literal(const std::string& source, std::size_t begin) {
  std::size_t at = begin + 1;
  while (at < source.size() && source[at] != source[begin]) at += source[at] == '\\' ? 2 : 1;
  return std::min(at + 1, source.size());
}

std::size_t end_of_word(const std::string& source, std::size_t begin) {
  const bool number = std::isdigit(static_cast<unsigned char>(source[begin]));
  std::size_t at = begin;
  while (at < source.size() && (in_word(source[at]) || (number && (source[at] == '\'' || source[at] == '.'))))
    ++at;
  return at;
}

// Where a comment that begins here ends; here, if none does.
std::size_t end_of_comment(const std::string& source, std::size_t begin) {
  const bool line = source.compare(begin, 2, "//") == 0;
  if (!line && source.compare(begin, 2, "/*") != 0) return begin;
  const std::size_t end = line ? source.find('\n', begin) : source.find("*/", begin + 2);
  return end == std::string::npos ? source.size() : line ? end : end + 2;
}

// Identifiers and string literals, the paths of quoted includes among these. Raw strings are not known.
std::vector<Piece> pieces_of(const std::string& source) {
  std::vector<Piece> pieces;
  bool joins = false;  // nothing but space since the literal before
  for (std::size_t at = 0; at < source.size();) {
    const std::size_t begin = at;
    if (const std::size_t end = end_of_comment(source, at); end > at) {
      at = end;
    } else if (source[at] == '"') {
      at = end_of_literal(source, at);
      if (!joins) pieces.push_back({"", true});
      pieces.back().text += source.substr(begin + 1, at - begin - 2);
      joins = true;
    } else if (source[at] == '\'') {
      at = end_of_literal(source, at);
      joins = false;
    } else if (in_word(source[at])) {
      at = end_of_word(source, at);
      pieces.push_back({source.substr(begin, at - begin), false});
      joins = false;
    } else {
      joins = joins && std::isspace(static_cast<unsigned char>(source[at]));
      ++at;
    }
  }
  return pieces;
}

// As a word of the text, however it goes on: "gpu_pim.h" has gpu_pim, "my_gpu_pim" and "gpu-pim" have not.
bool has_word(const std::string& text, const std::string& word) {
  const auto ends = [&](std::size_t at) {
    return at >= text.size() || (!in_word(text[at]) && text[at] != '-');
  };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (ends(at - 1) && ends(at + word.size())) return true;  // before the text: a very large index
  return false;
}

// Every name that the source has.
std::vector<std::string> complaints(const std::string& source, const std::set<std::string>& names) {
  std::vector<std::string> found;
  for (const Piece& piece : pieces_of(source))
    for (const std::string& name : names) {
      const bool whole = piece.text == name, generic = generic_words.contains(name);
      if (whole && piece.literal)
        found.push_back("\"" + name + "\"");
      else if (!generic && (whole || (piece.literal && has_word(piece.text, name))))
        found.push_back(piece.literal ? name + " in \"" + piece.text + "\"" : name);
    }
  return found;
}

std::string read(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::vector<fs::path> core_sources() {
  std::vector<fs::path> files;
  for (const char* room : rooms)
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(WEIR_SOURCE_DIR) / room))
      if (entry.path().extension() == ".h" || entry.path().extension() == ".cpp")
        files.push_back(entry.path());
  for (const char* interface : interfaces) files.push_back(fs::path(WEIR_SOURCE_DIR) / interface);
  return files;
}

}  // namespace

TEST_CASE("names: no source of steps, plans, serving or an interface names one of a catalog") {
  const std::set<std::string> names = names_of_catalogs();
  REQUIRE(names.size() > 50);
  const std::vector<fs::path> files = core_sources();
  REQUIRE(files.size() > 60);
  for (const fs::path& file : files) {
    const std::string source = read(file);
    INFO(file.string());
    CHECK(pieces_of(source).size() > 5);  // an empty source would pass in silence
    CHECK(source.find("R\"") == std::string::npos);
    CHECK(complaints(source, names) == std::vector<std::string>());
  }
}

TEST_CASE("names: the generic ones are few, and each is a name") {
  CHECK(generic_words.size() <= 12);
  const std::set<std::string> names = names_of_catalogs();
  for (const auto& [word, reason] : generic_words) {
    INFO(word);
    CHECK(names.contains(word));
    CHECK_FALSE(reason.empty());
  }
}

TEST_CASE(
    "names: one that is planted is seen, whole, as a word of a message, in an include, as an identifier") {
  const std::set<std::string> names = names_of_catalogs();
  const auto seen = [&](const std::string& source) { return complaints(source, names).size(); };
  CHECK(seen("if (device.kind == \"h100_sxm\") return 1;") == 1);
  CHECK(seen("note(\"expected gpu_pim, or \"\n     \"llama3.1-8b\");") == 2);
  CHECK(seen("note(\"expected gpu_\" \"pim\");") == 1);
  CHECK(seen("note(\"{\\\"kind\\\": \\\"gpu_pim\\\"}\");") == 1);
  CHECK(seen("#include \"policies/partitioning/gpu_pim.h\"") == 1);
  CHECK(seen("const bool neupims = true;") == 1);
  CHECK(seen("char quote = '\"'; auto routing = \"round_robin\"; int n = 1'000;") == 1);
  CHECK(seen("const bool off = kind == \"none\";") == 1);  // generic, yet compared with
  CHECK(seen("/* orca */ int n = 1;  // t4, \"l40s\"\n") == 0);
  CHECK(seen("int my_orca = orcas; note(\"none of opt-13bs, gpu_pims or x-t4\");") == 0);
  CHECK(seen("static int random = Predictor::none;") == 0);
  CHECK(seen("fail(\"// no comment\"); auto model = \"t4\";") == 1);
}

TEST_CASE("names: every family of policies has one default, which makes itself of nothing") {
  const auto check = [](const auto& table) {
    INFO(table.front().name);
    CHECK(std::ranges::count_if(table, [](const auto& entry) { return entry.is_default; }) == 1);
    const Json nothing = Json::object();
    Reading reading("");
    CHECK(make_from(table, Params(reading, nothing), {"kind", "which"}));
    CHECK(reading.resolved["kind"] == *default_of(table));
  };
  check(batching_policies());
  check(partitioning_policies());
  check(placement_policies());
  check(neuron_placement_policies());
  check(prefetch_policies());
  check(routing_policies());
  check(runtime_policies());
}
