#include "workloads/lengths.h"

#include <chrono>
#include <cmath>
#include <map>

#include "test/workloads/samples.h"

using namespace weir;

namespace {

constexpr const char* at_once = R"({"kind": "all_at_once"})";

std::vector<Request> drawn(const std::string& requests, std::uint64_t seed = 1) {
  return workload_of(requests, at_once, seed).requests;
}

struct Published {
  Moments input, output;
};

// Means and deviations as published: NeuPIMs' and DistServe's traces counted whole; L3, Table 4.
const std::map<std::string, Published> published = {
    {"sharegpt", {{80.05, 567.8}, {295.7, 261.6}}},
    {"alpaca", {{12.13, 4.547}, {55.79, 55.24}}},
    {"sharegpt_history", {{758.7, 531.6}, {186.3, 226.2}}},
    {"openr1", {{96.0, 75.1}, {12684.1, 8464.6}}},
    {"dolphin_r1", {{201.9, 563.0}, {3926.2, 4216.0}}},
    {"openthoughts", {{89.4, 66.7}, {6366.7, 4662.9}}},
    {"longbench", {{7703.9, 4285.5}, {89.8, 213.7}}},
};

}  // namespace

TEST_CASE("named: each distribution has its source's mean and deviation") {
  for (const WorkloadKind& kind : named_lengths()) {
    CAPTURE(kind.name);
    REQUIRE(published.contains(kind.name));
    const Published& source = published.at(kind.name);
    const auto requests = drawn(R"({"kind": "named", "name": ")" + kind.name + R"(", "count": 400000})");
    const auto input = moments(requests, input_of), output = moments(requests, output_of);
    CHECK(input.mean == Approx(source.input.mean).epsilon(0.015));
    CHECK(output.mean == Approx(source.output.mean).epsilon(0.015));
    // A third of the variance of ShareGPT is one prompt of 196,710 tokens in 390,751, which a sample has or
    // has not.
    const double scatter = kind.name == "sharegpt" ? 0.2 : 0.03;
    CHECK(input.std == Approx(source.input.std).epsilon(scatter));
    CHECK(output.std == Approx(source.output.std).epsilon(scatter));
  }
  CHECK(named_lengths().size() == published.size());
}

TEST_CASE("named: openr1 gives about 12.7 M output tokens for 1,000 requests") {
  double total = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed)
    for (const Request& r : drawn(R"({"kind": "named", "name": "openr1", "count": 1000})", seed))
      total += static_cast<double>(r.output_tokens);
  CHECK(total / 20 == Approx(12.68e6).epsilon(0.02));
}

TEST_CASE("named: a quantile table gives its own quantiles back") {
  auto requests = drawn(R"({"kind": "named", "name": "sharegpt", "count": 200000})");
  std::sort(requests.begin(), requests.end(),
            [](auto& a, auto& b) { return a.output_tokens < b.output_tokens; });
  const auto at = [&](double q) { return requests[static_cast<std::size_t>(q * 200000)].output_tokens; };
  // casys-kaist/NeuPIMs' ShareGPT trace: outputs at 5, 25, 50, 75, 95 and 99 %.
  const std::vector<std::pair<double, double>> source = {{0.05, 30},  {0.25, 139}, {0.5, 261},
                                                         {0.75, 390}, {0.95, 727}, {0.99, 961}};
  for (const auto& [q, tokens] : source) CHECK(static_cast<double>(at(q)) == Approx(tokens).epsilon(0.03));
  CHECK(requests.front().output_tokens == 1);
  CHECK(requests.back().output_tokens <= 63144);
}

TEST_CASE("lognormal and gamma: mean and deviation are those asked for, over a grid") {
  for (const char* kind : {"lognormal", "gamma"})
    for (const double mean : {20., 374., 5000.})
      for (const double variation : {0.2, 1.0, 1.5}) {
        CAPTURE(kind, mean, variation);
        const Json law = {{"mean", mean}, {"std", mean * variation}};
        const Json requests = {{"kind", kind}, {"count", 200000}, {"input", law}, {"output", law}};
        const auto trace = drawn(requests.dump());
        for (auto side : {input_of, output_of}) {
          const auto sample = moments(trace, side);
          CHECK(sample.mean == Approx(mean).epsilon(0.02));
          CHECK(sample.std == Approx(mean * variation).epsilon(0.08));
        }
      }
}

TEST_CASE(
    "lognormal: redrawn beyond max as L3's runs are: OpenR1 cut at 32,768 has 11.7 M tokens a thousand") {
  const auto trace =
      drawn(R"({"kind": "lognormal", "count": 200000, "input": {"mean": 96, "std": 75.1, "max": 32768},
                              "output": {"mean": 12684.1, "std": 8464.6, "max": 32768}})");
  CHECK(moments(trace, output_of).mean == Approx(11730).epsilon(0.01));
  for (const Request& r : trace) REQUIRE(r.output_tokens <= 32768);
}

TEST_CASE("lengths: always from 1 to max, also where most of the law is below one token or the mean is max") {
  for (const char* kind : {"lognormal", "gamma"})
    for (const char* law :
         {R"({"mean": 1, "std": 1000000, "max": 3})", R"({"mean": 8, "std": 0.001, "max": 8})",
          R"({"mean": 10, "std": 1000000000})", R"({"mean": 100000000, "std": 1, "max": null})"})
      for (const Request& r : drawn(std::string(R"({"kind": ")") + kind + R"(", "count": 2000, "input": )" +
                                    law + R"(, "output": {"mean": 2, "std": 1, "max": 2}})")) {
        REQUIRE(r.input_tokens >= 1);
        REQUIRE(r.output_tokens >= 1);
        REQUIRE(r.output_tokens <= 2);
      }
}

TEST_CASE(
    "lengths: the same seed gives the same, another seed others, and input and output share no stream") {
  const std::string requests = R"({"kind": "gamma", "count": 5000, "input": {"mean": 500, "std": 500},
                                   "output": {"mean": 500, "std": 500}})";
  const auto a = drawn(requests, 1), again = drawn(requests, 1), other = drawn(requests, 2);
  double differ = 0, covariance = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    REQUIRE(a[i].input_tokens == again[i].input_tokens);
    REQUIRE(a[i].output_tokens == again[i].output_tokens);
    differ += a[i].input_tokens != other[i].input_tokens;
    covariance += static_cast<double>((a[i].input_tokens - 500) * (a[i].output_tokens - 500)) / 5000;
  }
  CHECK(differ > 4900);
  CHECK(std::abs(covariance / (500. * 500)) < 0.05);
  // More requests, or longer answers, leave the prompts alone.
  const auto longer = drawn(R"({"kind": "gamma", "count": 6000, "input": {"mean": 500, "std": 500},
                               "output": {"mean": 5, "std": 50}})",
                            1);
  for (std::size_t i = 0; i < a.size(); ++i) REQUIRE(a[i].input_tokens == longer[i].input_tokens);
}

TEST_CASE("uniform: every length from min to max is as likely as another, and none beyond") {
  std::map<std::int64_t, int> inputs, outputs;
  for (const Request& r : drawn(R"({"kind": "uniform", "count": 100000, "input": {"min": 8, "max": 10},
                                    "output": {"min": 5, "max": 5}})")) {
    ++inputs[r.input_tokens];
    ++outputs[r.output_tokens];
  }
  REQUIRE(inputs.size() == 3);
  for (const std::int64_t tokens : {8, 9, 10}) CHECK(inputs[tokens] == Approx(100000 / 3.).epsilon(0.02));
  CHECK(outputs == std::map<std::int64_t, int>{{5, 100000}});
  CHECK(problems_of(R"({"kind": "uniform", "count": 1, "input": {"min": 11, "max": 10},
                        "output": {"min": 1, "max": 5}})",
                    at_once) == "scenario.json: /requests/input/max: expected at least min, 11, got 10");
}

TEST_CASE("lengths: mistakes are told at their keys") {
  const auto of = [](const std::string& requests) { return problems_of(requests, at_once); };
  CHECK(of(R"({"kind": "fixed", "input_tokens": 1, "output_tokens": 1})") ==
        "scenario.json: /requests/count: required, but missing");
  CHECK(of(R"({"kind": "fixed", "input_tokens": 0, "output_tokens": 1.5, "count": 1})") ==
        "scenario.json: /requests/input_tokens: expected an integer >= 1 and <= 100000000, got 0\n"
        "scenario.json: /requests/output_tokens: expected an integer >= 1 and <= 100000000, got 1.5");
  CHECK(
      of(R"({"kind": "gamma", "count": 1, "input": {"mean": 100, "std": 1, "max": 10}, "output": {"mean": 1, "std": 1}})") ==
      "scenario.json: /requests/input/max: expected at least the mean, 100, got 10");
  CHECK(
      of(R"({"kind": "lognormal", "count": 1, "input": {"mean": 100, "std": 0}, "output": {"mean": 5, "std": 1}})") ==
      "scenario.json: /requests/input/std: expected a number > 0 and <= 1000000000, got 0");
  CHECK(of(R"({"kind": "lognormal", "count": 1, "output": {"mean": 5, "std": 1}})") ==
        "scenario.json: /requests/input: required, but missing");
  CHECK(of(R"({"kind": "named", "name": "sharegtp", "count": 1})").find("did you mean \"sharegpt\"?") !=
        std::string::npos);
}
