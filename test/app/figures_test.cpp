// The titles of axes in the figures of a run.
#include <catch2/catch.hpp>
#include <regex>

#include "test/app/run_weir.h"

using namespace weir::test;

namespace {

// gnuplot turns an axis' title: its middle, which letters of 20 px surround, stands at this distance from the
// left.
std::vector<double> turned_labels(const std::string& svg) {
  std::vector<double> from_left;
  const std::regex turned(R"(translate\(([-0-9.]+),[-0-9.]+\) rotate\(270\))");
  for (auto at = std::sregex_iterator(svg.begin(), svg.end(), turned); at != std::sregex_iterator(); ++at)
    from_left.push_back(std::stod((*at)[1]));
  return from_left;
}

}  // namespace

TEST_CASE("weir run --figures: titles of axes stay on the paper, whatever the numbers beside them") {
  const ScratchDirectory scratch;
  struct Load {
    int rate, count;
  };
  for (const auto& [rate, count] : {Load{40, 3000}, Load{400, 12000}}) {  // to 9,300 tokens/s; 11,000 waiting
    const Ended ended = run_weir({"run", shipped("quickstart.json"), "--quiet", "--figures", "--out",
                                  (scratch / "out").string(), "--set",
                                  "/workload/arrivals/rate_per_s=" + std::to_string(rate), "--set",
                                  "/workload/requests/count=" + std::to_string(count)});
    REQUIRE(ended.code == 0);
    for (const std::string figure : {"latency", "throughput", "kv_cache"}) {
      CAPTURE(rate, figure);
      const std::vector<double> labels = turned_labels(contents(scratch / "out" / (figure + ".svg")));
      CHECK(!labels.empty());
      for (const double middle : labels) CHECK(middle >= 18);
    }
  }
}
