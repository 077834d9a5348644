#include <catch2/catch.hpp>

#include <array>
#include <functional>

#include "sim/core/catalog.h"
#include "sim/core/params.h"

using namespace weir;

namespace {

struct Thing {
  virtual ~Thing() = default;
  double size = 0;
};

template <int default_size>
std::shared_ptr<const Thing> make_thing(Params& params) {
  auto thing = std::make_shared<Thing>();
  thing->size = params.number({"size", "how large"}, positive, default_size);
  return thing;
}

const Catalog<Thing> things = {{"small", "a small one", make_thing<1>, by_default},
                               {"large", "a large one", make_thing<100>}};

struct Example {
  std::int64_t count = 0;
  Seconds latency;
  std::optional<double> limit;
  bool fast = false;
  std::string name, colour;
  std::vector<std::int64_t> sides;
  std::shared_ptr<const Thing> thing;

  static Example from(Params params) {
    Example e;
    e.count = params.integer({"count", "how many"}, {1, 10});
    e.latency = params.quantity<Seconds>({"latency_us", "how long"}, not_negative, 5);
    e.limit = params.number_or_null({"limit", "at most"}, fraction);
    e.fast = params.flag({"fast", "or slow"}, true);
    e.name = params.text({"name", "what it is called"}, "nobody");
    e.colour = params.choice({"colour", "of its coat"}, {"red", "green"}, "red");
    for (Params& side : params.list({"sides", "its sides"}, 1, Params::Presence::optional)) {
      e.sides.push_back(side.integer({"length", "of the side"}, {0}, 7));
      side.close();
    }
    e.thing = make_from(things, params.object({"thing", "what it holds"}), {"kind", "which"});
    params.close();
    return e;
  }
};

struct Read {
  Example example;
  Json resolved;
  std::vector<std::string> problems;  // "pointer: what"
};

Read read(const Json& document) {
  Reading reading("x.json");
  Read r{Example::from(Params(reading, document)), {}, {}};
  r.resolved = reading.resolved;
  try {
    reading.finish();
  } catch (const ConfigError& e) {
    for (const Problem& p : e.problems()) r.problems.push_back(p.pointer + ": " + p.what);
  }
  return r;
}

std::string only_problem(const Json& document) {
  const std::vector<std::string> problems = read(document).problems;
  REQUIRE(problems.size() == 1);
  return problems.front();
}

std::string complaint(const std::function<void()>& work) {
  try {
    work();
  } catch (const ConfigError& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("params: what is not given takes its default, and the resolved file says so") {
  const Read r = read({{"count", 3}});
  CHECK(r.problems.empty());
  CHECK(r.example.latency.value() == Approx(5e-6));
  CHECK(r.example.fast);
  CHECK(r.example.sides == std::vector<std::int64_t>{7});
  CHECK(r.example.thing->size == 1);
  CHECK(r.resolved == Json{{"count", 3},
                           {"latency_us", 5},
                           {"limit", nullptr},
                           {"fast", true},
                           {"name", "nobody"},
                           {"colour", "red"},
                           {"sides", Json::array({{{"length", 7}}})},
                           {"thing", {{"kind", "small"}, {"size", 1}}}});
}

TEST_CASE("params: a resolved file reads back to itself") {
  const Json given = {{"count", 3}, {"limit", 0.5}, {"thing", {{"kind", "large"}}}, {"about", "a comment"}};
  const Json resolved = read(given).resolved;
  CHECK(read(resolved).problems.empty());
  CHECK(read(resolved).resolved == resolved);
}

TEST_CASE("params: every problem of a file is listed, not just the first") {
  const Json bad = {
      {"latency_us", -1}, {"fast", "yes"}, {"nmae", "x"}, {"sides", Json::array({{{"length", 1.5}}})}};
  CHECK(read(bad).problems == std::vector<std::string>{"/count: required, but missing",
                                                       "/latency_us: expected a number >= 0, got -1",
                                                       "/fast: expected true or false, got \"yes\"",
                                                       "/sides/0/length: expected an integer >= 0, got 1.5",
                                                       "/nmae: unknown key; did you mean \"name\"?"});
}

TEST_CASE("params: a fractional, negative, quoted, huge or missing count is refused, never truncated") {
  for (const Json& wrong :
       {Json(2.7), Json(3.0), Json(-1), Json(0), Json(11), Json("3"), Json(nullptr), Json(true),
        Json(18446744073709551615u), Json(1e300), Json::array(), Json::object()}) {
    INFO(wrong.dump());
    CHECK(only_problem({{"count", wrong}}) ==
          "/count: expected an integer >= 1 and <= 10, got " + wrong.dump());
  }
  CHECK(read({{"count", 1}}).problems.empty());
  CHECK(read({{"count", 10}}).problems.empty());
}

TEST_CASE("params: a range includes its ends, or not, as it says") {
  CHECK(only_problem({{"count", 1}, {"limit", 0}}) == "/limit: expected a number > 0 and <= 1, got 0");
  CHECK(only_problem({{"count", 1}, {"limit", 1.001}}) ==
        "/limit: expected a number > 0 and <= 1, got 1.001");
  CHECK(read({{"count", 1}, {"limit", 1}}).example.limit == 1.0);
  CHECK(read({{"count", 1}, {"latency_us", 0}}).example.latency.value() == 0);
}

TEST_CASE("params: an unknown name lists what exists and guesses what was meant") {
  CHECK(only_problem({{"count", 1}, {"colour", "geren"}}) ==
        "/colour: no such colour (got \"geren\", did you mean \"green\"?, known: red, green)");
  CHECK(only_problem({{"count", 1}, {"thing", {{"kind", "huge"}, {"size", -1}, {"anything", 1}}}}) ==
        "/thing/kind: no such kind (got \"huge\", known: small, large)");
  CHECK(only_problem({{"count", 1}, {"zebra", 1}}) ==
        "/zebra: unknown key (known: count, latency_us, limit, fast, name, colour, sides, thing)");
}

TEST_CASE("catalog: the marked row stands where no kind is given, and where none is marked one is missed") {
  CHECK(default_of(things) == "small");
  const Catalog<Thing> unmarked = {{"large", "a large one", make_thing<100>}};
  CHECK_FALSE(default_of(unmarked));
  Reading reading("x.json");
  const Json nothing = Json::object();
  CHECK_FALSE(make_from(unmarked, Params(reading, nothing), {"kind", "which"}));
  CHECK(reading.failed());
}

TEST_CASE("catalog: who is as he should be, with the defaults of his keys, is found by asking each") {
  CHECK(names_of(things, [](const Thing& thing) { return thing.size > 1; }) ==
        std::vector<std::string>{"large"});
  CHECK(names_of(things, [](const Thing& thing) { return thing.size > 100; }).empty());
}

TEST_CASE("params: an object that need not be given leaves no trace where it is not") {
  const auto size_in = [](const Json& document, Reading& reading) -> std::optional<double> {
    Params params(reading, document);
    std::optional<Params> inner = params.object_if_given({"inner", "what is inside"});
    params.close();
    if (!inner) return {};
    const double size = inner->number({"size", "how large"}, positive, 7);
    inner->close();
    return size;
  };
  Reading without("f"), with("f"), wrong("f"), schema = Reading::describe();
  CHECK_FALSE(size_in(Json::object(), without));
  CHECK(without.resolved == Json::object());
  CHECK(size_in({{"inner", Json::object()}}, with) == 7);
  CHECK(with.resolved == Json{{"inner", {{"size", 7.0}}}});
  size_in({{"inner", nullptr}}, wrong);
  CHECK_THROWS_WITH(wrong.finish(), "f: /inner: expected an object, got null");
  size_in(Json::object(), schema);
  CHECK_FALSE(schema.schema.contains("required"));
  const Json& inner = schema.schema["properties"]["inner"];
  CHECK(inner["description"] == "what is inside");
  CHECK(inner["properties"].contains("size"));
  CHECK_FALSE(inner.contains("default"));
}

TEST_CASE("params: something else in the place of an object or a list is one problem, not one a key") {
  CHECK(only_problem(Json::array()) == ": expected an object, got []");
  CHECK(only_problem({{"count", 1}, {"thing", 3}}) == "/thing: expected an object, got 3");
  CHECK(only_problem({{"count", 1}, {"sides", Json::array()}}) ==
        "/sides: expected a list of at least 1 objects, got []");
  CHECK(only_problem({{"count", 1}, {"about", 5}}) == "/about: expected a string, got 5");
}

TEST_CASE("params: the unit is the key's suffix, the longest that fits") {
  CHECK(Params::unit("link_bandwidth_gb_per_s") == 1e9);
  CHECK(Params::unit("latency_us") == 1e-6);
  CHECK(Params::unit("arrival_s") == 1);
  CHECK(Params::unit("memory_gib") == 1073741824);
  CHECK_THROWS_AS(Params::unit("bandwidth"), std::logic_error);
}

TEST_CASE("params: describing gives a schema of the same keys") {
  Reading reading = Reading::describe();
  const Json nothing = Json::object();
  Example::from(Params(reading, nothing));
  const Json& properties = reading.schema["properties"];
  CHECK(reading.schema["required"] == Json::array({"count"}));
  CHECK(reading.schema["additionalProperties"] == false);
  CHECK(properties["count"] ==
        Json{{"type", "integer"}, {"minimum", 1}, {"maximum", 10}, {"description", "how many"}});
  CHECK(properties["limit"]["type"] == Json::array({"number", "null"}));
  CHECK(properties["limit"]["exclusiveMinimum"] == 0);
  CHECK(properties["sides"]["items"]["properties"]["length"]["default"] == 7);
  CHECK(properties["thing"]["oneOf"].size() == 2);
  CHECK(properties["thing"]["oneOf"][1]["properties"]["size"]["default"] == 100);
  CHECK(properties["thing"]["oneOf"][1]["required"] == Json::array({"kind"}));  // not the default kind
  CHECK_FALSE(properties["thing"]["oneOf"][0].contains("required"));
}

TEST_CASE("json: syntax, depth and duplicate keys are errors that name the file") {
  CHECK(complaint([] { parse_json("{\"a\": 1", "f.json"); }).starts_with("f.json: not valid JSON: "));
  CHECK(complaint([] { parse_json(std::string(64, '[') + std::string(64, ']'), "f.json"); }) == "accepted");
  CHECK(complaint([] { parse_json(std::string(66, '[') + std::string(66, ']'), "f.json"); }) ==
        "f.json: nested deeper than 64 levels");
  CHECK(complaint([] { parse_json(R"({"a": {"b": 1, "b": 2}})", "f.json"); }) ==
        "f.json: the key \"b\" is given twice in one object");
  CHECK(complaint([] { parse_json(R"({"a": {"b": 1}, "b": 2})", "f.json"); }) == "accepted");
  CHECK(
      complaint([] { read_json_file("/nowhere/x.json"); }).starts_with("/nowhere/x.json: cannot be opened"));
  CHECK(complaint([] { read_json_file("/tmp"); }) == "/tmp: is a directory, not a file");
}

TEST_CASE("messages: no more than 200 characters of a value, and none cut in two") {
  CHECK(shortened("short") == "short");
  CHECK(shortened(std::string(200, 'x')) == std::string(200, 'x'));
  CHECK(shortened(std::string(201, 'x')) == std::string(197, 'x') + "...");
  const std::string euros = [] {
    std::string text;
    for (int i = 0; i < 100; ++i) text += "\xe2\x82\xac";
    return text;
  }();
  CHECK(shortened(euros) == euros.substr(0, 195) + "...");
  const std::string much(1 << 20, 'x');
  for (const Json& document : {Json({{"count", much}}), Json({{"count", 1}, {much, 1}}),
                               Json({{"count", 1}, {"colour", much}}), Json({{"count", 1}, {"name", {much}}}),
                               Json({{"count", 1}, {"sides", std::vector(100'000, Json(1))}}),
                               Json({{"count", std::vector(100'000, Json(1))}})}) {
    const std::string what = complaint([&] {
      Reading reading("x.json");
      Example::from(Params(reading, document));
      reading.finish();
    });
    CHECK(what.size() > 10);
    CHECK(what.size() < 350);
  }
}

TEST_CASE("set_pointer: sets a value, makes the objects on its way, and refuses what is no place") {
  Json document = {{"a", {{"b", 1}}}, {"list", Json::array({1, 2})}};
  set_pointer(document, "/a/b=\"x=y\"");
  set_pointer(document, "/c/d={\"e\": 2}");
  set_pointer(document, "/list/1=[3]");
  CHECK(document == Json{{"a", {{"b", "x=y"}}}, {"list", Json::array({1, {3}})}, {"c", {{"d", {{"e", 2}}}}}});
  set_pointer(document, "/list/2=4");  // the next free place, and none behind it
  set_pointer(document, "/list/-=5");
  CHECK(document["list"].size() == 4);
  for (const char* wrong : {"", "a=1", "/a", "/a/b/c=1", "/list/x=1", "/list/5=1", "/list/5/deeper=1",
                            "/list/99999999999=1", "/a=", "/a={"}) {
    INFO(wrong);
    CHECK(complaint([&] { set_pointer(document, wrong); }).starts_with("--set "));
  }
}

TEST_CASE("params: a number of no size that anything has is refused, whatever its range") {
  for (const auto& [value, good] :
       {std::pair{1e-12, true}, {0.9e-12, false}, {1e15, true}, {1.1e15, false}}) {
    INFO(value);
    CHECK(read({{"count", 1}, {"latency_us", value}, {"sides", Json::array({Json::object()})}})
              .problems.empty() == good);
  }
}
