// The published JSON Schema, the reader and the shipped scenarios say the same.
#include <catch2/catch.hpp>

#include <fstream>
#include <random>
#include <sstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "sim/core/embedded.h"
#include "sim/plan/plan.h"
#include "test/app/run_weir.h"

namespace weir {
extern const EmbeddedFiles memory_catalog, kernel_catalog, interconnect_catalog;
}

using namespace weir;
using test::shipped;
using test::shipped_scenarios;

namespace {

class Validator {
 public:
  Validator() {
    const auto document = nlohmann::json::parse(scenario_schema().dump());
    valijson::SchemaParser().populateSchema(valijson::adapters::NlohmannJsonAdapter(document), schema_);
  }
  bool accepts(const Json& scenario, std::string* why = nullptr) {
    const auto document = nlohmann::json::parse(scenario.dump());
    valijson::ValidationResults results;
    const bool valid =
        valijson::Validator().validate(schema_, valijson::adapters::NlohmannJsonAdapter(document), &results);
    for (valijson::ValidationResults::Error error; why && results.popError(error);) {
      for (const std::string& step : error.context) *why += step;
      *why += ": " + error.description + "\n";
    }
    return valid;
  }

 private:
  valijson::Schema schema_;
};

std::vector<Problem> problems_of(const Json& scenario, const std::string& file) {
  try {
    read_plan(scenario, file);
    return {};
  } catch (const ConfigError& e) {
    return e.problems();
  }
}

// What a schema can know: presence, types, ranges, names. The rest is about files and about what fits
// together.
bool schema_can_know(const Problem& problem) {
  for (const char* wording : {"required, but missing", "unknown key", "expected a number",
                              "expected an integer", "expected true or false", "expected a string",
                              "expected an object", "expected a list", "expected one of", "no such"})
    if (problem.what.starts_with(
            wording))  // any path is a string; which devices there are, the cluster says;
      return problem.pointer.find("/model") == problem.pointer.npos &&    // a model's keys are Hugging Face's
             problem.pointer.find("_by_type") == problem.pointer.npos &&  // types of operators are keys there
             // What a given set of kernels need not say is in its base.
             !(problem.pointer.find("/kernels/") != problem.pointer.npos &&
               problem.what.starts_with("required")) &&
             !problem.pointer.ends_with("/profile") && !problem.pointer.ends_with("/device") &&
             !problem.pointer.ends_with("/base");
  return false;
}

// All places below `value`, as JSON pointers.
void places(const Json& value, const std::string& pointer, std::vector<std::string>& all) {
  if (!pointer.empty()) all.push_back(pointer);
  if (value.is_object())
    for (const auto& [key, below] : value.items()) places(below, pointer + "/" + key, all);
  if (value.is_array())
    for (std::size_t i = 0; i < value.size(); ++i) places(value[i], pointer + "/" + std::to_string(i), all);
}

// One random slip at one of its places: a value of another type, a number out of any range, a key misspelt or
// left out.
Json mutated(Json scenario, const std::vector<std::string>& all, std::mt19937& random) {
  const Json::json_pointer at(all[random() % all.size()]);
  static const std::vector<Json> wrong = {nullptr,
                                          true,
                                          -1,
                                          0,
                                          2.5,
                                          -1e300,
                                          "no such thing",
                                          Json::array(),
                                          Json::object(),
                                          Json::array({1}),
                                          {{"kind", "no such kind"}}};
  Json& parent = scenario[at.parent_pointer()];
  const std::string last = at.back();
  switch (random() % 4) {
    case 0:
      if (parent.is_object()) {
        parent.erase(last);
        break;
      }
      [[fallthrough]];
    case 1:
      if (parent.is_object()) {
        parent[last + "x"] = parent[last];
        parent.erase(last);
        break;
      }
      [[fallthrough]];
    default:
      scenario[at] = wrong[random() % wrong.size()];
  }
  return scenario;
}

const EmbeddedFiles* catalog_behind(const std::string& key) {
  return key.ends_with("memory") ? &memory_catalog
         : key == "kernels"      ? &kernel_catalog
         : key == "interconnect" ? &interconnect_catalog
                                 : nullptr;
}

// The keys of a catalog's row: those that are no row's own, the scenario shows, where it has an object.
void check_row_shown(const Json& row, const Json& scenario, const std::string& pointer) {
  const EmbeddedFiles* catalog = catalog_behind(pointer.substr(pointer.rfind('/') + 1));
  for (const auto& [key, below] : row["properties"].items()) {
    const auto has = [&, name = key](const auto& file) {
      return embedded_json(file.second, std::string(file.first)).contains(name);
    };
    INFO(pointer << "/" << key);
    if (key != "about" && !(catalog && std::any_of(catalog->begin(), catalog->end(), has)))
      CHECK((scenario.is_string() ? key == "base" : scenario.contains(key)));
  }
}

// Keys of another item of a list; lists within become one.
void show_too(Json& together, const Json& item) {
  for (const auto& [key, value] : item.items())
    if (value.is_array() && together.contains(key))
      together[key].insert(together[key].end(), value.begin(), value.end());
    else
      together[key] = value;
}

// Every key that the schema declares is in the scenario; where a tagged union could be another, its "about"
// says which command lists them.
void check_shown(const Json& schema, const Json& scenario, const std::string& pointer) {
  if (schema.contains("items") && schema["items"].is_object() &&
      !schema["items"].contains(
          "items")) {  // one item may show what another cannot have: a GPU's keys, an NPU's
    Json together;
    for (const Json& item : scenario)
      if (together.is_object() && item.is_object())
        show_too(together, item);
      else
        together = item;
    const Json& items = schema["items"];
    if (!items.contains("oneOf")) return check_shown(items, together, pointer + "/0");
    for (const Json& alternative : items["oneOf"]) check_shown(alternative, together, pointer + "/0");
  }
  if (schema.contains("properties"))
    for (const auto& [key, below] : schema["properties"].items()) {
      if (key == "about") continue;
      INFO(pointer << "/" << key);
      CHECK(scenario.contains(key));
      if (scenario.contains(key)) check_shown(below, scenario[key], pointer + "/" + key);
    }
  const std::string kind = scenario.is_object() ? scenario.value("kind", "") : "";
  bool has_others = false;
  for (const Json& alternative : schema.value("oneOf", Json::array())) {
    if (!alternative.contains("properties")) continue;  // a name may stand for the object
    const Json& properties = alternative["properties"];
    if (properties.contains("base")) {
      check_row_shown(alternative, scenario, pointer);
      continue;
    }
    INFO(pointer << " is the object, not a name");
    REQUIRE(scenario.is_object());
    if (!properties.contains("kind") || properties["kind"].value("const", "") == kind)
      check_shown(alternative, scenario, pointer);
    else
      has_others = true;
  }
  INFO(pointer);
  if (has_others) CHECK_THAT(scenario.value("about", ""), Catch::Contains("weir list"));
}

}  // namespace

TEST_CASE("schema: scenarios/schema.json is what `weir check --schema` prints") {
  std::ostringstream committed;
  committed << std::ifstream(shipped("schema.json")).rdbuf();
  INFO("if not: make schema");
  CHECK((committed.str() == scenario_schema().dump(2) + "\n"));
}

TEST_CASE("schema: every shipped scenario is accepted by it and by the reader, and says what it shows") {
  Validator validator;
  REQUIRE(shipped_scenarios().size() > 20);
  for (const auto& file : shipped_scenarios()) {
    const Json scenario = read_json_file(file);
    std::string why;
    INFO(file.string());
    CHECK(validator.accepts(scenario, &why));
    CHECK(why == "");
    CHECK(problems_of(scenario, file.string()).empty());
    CHECK(scenario.contains("about"));
  }
}

TEST_CASE("schema: it and the reader judge ten thousand slips of the pen alike, as far as a schema can") {
  Validator validator;
  std::mt19937 random(11);
  struct Written {
    std::string file;
    Json scenario;
    std::vector<std::string> places;
  };
  std::vector<Written> scenarios;
  for (const auto& file : shipped_scenarios()) {
    if (file.string().find("/bench/") != std::string::npos) continue;
    scenarios.push_back({file.string(), read_json_file(file), {}});
    places(scenarios.back().scenario, "", scenarios.back().places);
  }
  int refused = 0;
  for (int i = 0; i < 10000; ++i) {
    const Written& written = scenarios[random() % scenarios.size()];
    const Json slip = mutated(written.scenario, written.places, random);
    const bool valid = validator.accepts(slip);
    const std::vector<Problem> problems = problems_of(slip, written.file);
    const bool known = std::any_of(problems.begin(), problems.end(), schema_can_know);
    refused += !valid;
    if (valid ? !known : !problems.empty()) continue;
    for (const Problem& p : problems) UNSCOPED_INFO(p.pointer << ": " << p.what);
    FAIL(written.file << (valid ? ": only the reader refuses " : ": only the schema refuses ")
                      << slip.dump());
  }
  CHECK(refused > 2000);
}

TEST_CASE("schema: scenarios/reference.json shows every key there is") {
  check_shown(scenario_schema(), read_json_file(shipped("reference.json")), "");
}

TEST_CASE("schema: scenarios/training_reference.json shows every key there is of training") {
  Json schema = scenario_schema();
  for (Json& kind : schema["oneOf"]) kind["properties"].erase("cluster");  // reference.json's
  check_shown(schema, read_json_file(shipped("training_reference.json")), "");
}
