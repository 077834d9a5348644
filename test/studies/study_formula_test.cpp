// Formulas of studies against numbers worked by hand, and what is wrong with others.
#include <catch2/catch.hpp>
#include <cmath>

#include "sim/studies/study_file/cases/study_case.h"
#include "sim/studies/study_file/formula/formula_reader.h"
#include "sim/studies/study_file/formula/text.h"

namespace weir::test {
namespace {

using study::Axes;
using study::Let;
using study::Names;
using study::Place;
using study::StudyAxis;

// Formulas without cases need these.
class NoRuns : public study::Values {
 public:
  double of(const study::StudyCase&, const Place&, std::size_t) override { return std::nan(""); }
};

struct Made {
  Axes axes = {StudyAxis("set", {"simulated", "physical"}),
               StudyAxis("x", {1, 2, 4}),
               StudyAxis("y", {10, 20}),
               StudyAxis("half", {2, 4, 8}),
               StudyAxis("word", {"few", "many"}),
               StudyAxis("row", {{{"name", "a"}, {"s", 5}}, {{"name", "b"}, {"s", 7}}})};
  std::vector<std::unique_ptr<Let>> lets;
  Names names{.axes = axes, .lets = &lets};
  NoRuns values;

  void let(const std::string& name, const std::string& text) {
    lets.push_back(std::make_unique<Let>(Let{name, study::read_formula(text, names)}));
  }
  double at(const std::string& text, Place place = {0, 0, 0, 0, 0, 0}) {
    return study::read_formula(text, names)->at(place, values);
  }
};

}  // namespace

TEST_CASE("study formula: formulas are those of paper and pencil") {
  Made made;
  made.let("product", "x * y");
  CHECK(made.at("1 + 2 * 3") == 7);
  CHECK(made.at("x + y") == 11);
  CHECK(made.at("sum[x](x)") == 7);
  CHECK(made.at("mean[x](x * y)") == 10. * 7 / 3);
  CHECK(made.at("sum[x, y](product)") == 7 * 30);
  CHECK(made.at("product{x=4, y=20}") == 80);
  CHECK(made.at("product{x=half}", {0, 0, 1, 1, 0, 0}) == 80);
  CHECK(made.at("sum[y](product{x=y / 10 * 2})") == 20 + 80);
  CHECK(made.at("min[x where x > 1](x)") == 2);
  CHECK(made.at("count[x where x > 1](x)") == 2);
  CHECK(made.at("argmax[x](abs(x - 2))") == 4);
  CHECK(made.at("argmin[x](abs(x - 1.5))") == 1);  // the first of two
  CHECK(made.at("rises[x](x)") == 1);
  CHECK(made.at("falls[x](x)") == 0);
  CHECK(made.at("max[x](min[y](product))") == 40);
  CHECK(made.at("sum[row](row.s)") == 12);
  CHECK(made.at("x == 1 && y != 20 ? 3 : 4") == 3);
  CHECK(made.at("floor(7 / 2) + ceil(1.2) + round(2.5)") == 3 + 2 + 3);
  CHECK(made.at("1e-3 * 2e3") == 2);
  // As written, from left to right: 0.1 * 3 is not 0.3, nor 3 * (0.1 / 3) the same.
  CHECK(made.at("0.1 * 3 * x / 3") == 0.1 * 3 * 1 / 3);
}

TEST_CASE("study formula: values that are missing are passed over, and none of none is no number") {
  Made made;
  CHECK(std::isnan(made.at("min[x where x > 9](x)")));
  CHECK(std::isnan(made.at("1 + max[x where x > 9](x)")));
  CHECK(std::isnan(made.at("max[x where x > 9](x) < 1")));  // no value, rather than false
  CHECK(made.at("sum[x where x > 9](x)") == 0);
  CHECK(made.at("count[x where x > 9](x)") == 0);
  CHECK(made.at("mean[y](min[x where x * 10 > y](x))") == (2 + 4) / 2.);
}

TEST_CASE("study formula: text has values in braces") {
  Made made;
  const auto text = [&](const std::string& of, const Place& place = {0, 2, 1, 0, 1, 1}) {
    return study::Text(of, made.names).at(place, made.values);
  };
  CHECK(text("{word}: {x} x {y / 1000:.3f}, {x / 8}") == "many: 4 x 0.020, 0.5");
  CHECK(text("{{{row.name}{row.s}}}") == "{b7}");
  CHECK(text("{row}") == "b");
  CHECK(text("{x ? 1 : 2}") == "1");
  CHECK(text("{min[x where x > 9](x)}") == "-");
  CHECK_THROWS_WITH(text("{x"), Catch::Contains("not closed"));
  CHECK_THROWS_WITH(text("x}"), Catch::Contains("without its {"));
}

TEST_CASE("study formula: what is wrong with a formula is said, with what there is") {
  Made made;
  made.let("product", "x * y");
  const auto wrong = [&](const std::string& text, const std::string& why) {
    INFO(text);
    CHECK_THROWS_WITH(study::read_formula(text, made.names), Catch::Contains(why));
  };
  wrong("", "expected a formula");
  wrong("z", "no such name (got \"z\", known: set, x, y");
  wrong("x = 3", "== compares");
  wrong("1, 2", "one number");
  wrong("1 +", "Unexpected end");
  wrong("system(1)", "system");
  wrong("\"a\"", "\"");
  wrong("word", "word is text");
  wrong("set", "set is text");
  wrong("row.t", "no such field of row");
  wrong("mean[z](x)", "no such axis");
  wrong("mean[x, x](x)", "twice");
  wrong("mean[x]", "expected mean[x](FORMULA)");
  wrong("mean[x(x)", "[ is not closed");
  wrong("mode[x](x)", "no such reduction");
  wrong("argmax[x, y](x)", "is no number");
  wrong("argmax[word](x)", "is no number");
  wrong("product{x=3}", "no such value of x (got \"3\", known: 1, 2, 4)");
  wrong("product{x=1, x=2}", "chosen twice");
  wrong("product{half=2}", "product does not depend on half");
  wrong("product{x}", "expected AXIS=VALUE");
  wrong(
      "mean[x](mean[x](mean[x](mean[x](mean[x](mean[x](mean[x](mean[x](mean[x](mean[x](mean[x](mean[x](mean["
      "x](x)"
      "))))))))))))",
      "more than 1000000 points");
  wrong(std::string(3000, '('), "more than 2000 characters");
  wrong("x}", "stands behind a name alone");
  CHECK_THROWS_WITH(made.at("product{x=half}", {0, 0, 0, 2, 0, 0}), Catch::Contains("x has no value 8"));
}

}  // namespace weir::test
