// Numbers of tables: any double is a few characters that say how large it is.
#include "sim/app/output/text_grid.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

using namespace weir;

namespace {

double read_back(std::string text) {
  std::erase(text, ',');
  return std::strtod(text.c_str(), nullptr);
}

}  // namespace

TEST_CASE("tables: any double is shown in a few characters, to its digits") {
  std::mt19937_64 random(1);
  std::vector<double> values = {0,
                                -0.0,
                                1,
                                -1,
                                999.4,
                                999.5,
                                999.6,
                                1000,
                                -1000,
                                1e12,
                                -1e12,
                                9.9e11,
                                1e15,
                                9.3e18,
                                -9.3e18,
                                1e300,
                                -1e300,
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::lowest(),
                                std::numeric_limits<double>::min(),
                                std::numeric_limits<double>::denorm_min(),
                                -std::numeric_limits<double>::denorm_min()};
  while (values.size() < 100'000) values.push_back(std::bit_cast<double>(random()));  // any bits whatever
  for (int i = 0; i < 100'000; ++i)
    values.push_back(std::pow(10, std::uniform_real_distribution(-20., 20.)(random)));
  for (const double value : values)
    for (const int digits : {2, 4}) {
      const std::string text = shown_number(value, digits);
      const std::string share = shown_percent(value);
      CAPTURE(value, text, share);
      if (!std::isfinite(value)) {
        REQUIRE(text == "-");
        continue;
      }
      REQUIRE(text.size() <= 16);
      REQUIRE(share.size() <= 18);
      const double error = std::abs(read_back(text) / value - 1);
      const bool readable = std::abs(value) > 1e-307 && std::abs(value) < 1.7e308;  // at fewer digits too
      if (readable) REQUIRE(error < std::pow(10, 1 - digits));
    }
  CHECK(shown_number(std::nan(""), 4) == "-");
  CHECK(shown_number(std::numeric_limits<double>::infinity(), 4) == "-");
  CHECK(shown_number(3600, 4) == "3,600");
  CHECK(shown_number(-3600.4, 4) == "-3,600");
  CHECK(shown_number(1e300, 4) == "1e+300");
  CHECK(shown_number(0.012341, 4) == "0.01234");
  CHECK(shown_percent(0.123) == "12.3 %");
  CHECK(shown_percent(std::nan("")) == "- %");
}
