#include "models/llm/acceptance.h"

#include <catch2/catch.hpp>
#include <set>

#include "models/llm/architecture.h"
#include "sim/core/rng.h"

using namespace weir;

TEST_CASE("acceptance: a mean length is one rate at every position, which gives that length back") {
  for (std::int64_t drafts = 1; drafts <= 8; ++drafts)
    for (double length = 1; length <= static_cast<double>(drafts + 1); length += 0.25) {
      const Acceptance acceptance = Acceptance::of_length(length, drafts);
      CHECK(acceptance.drafts() == drafts);
      CHECK(acceptance.length() == Approx(length).epsilon(1e-12));
    }
}

TEST_CASE("acceptance: at length 1 nothing is accepted, at tokens + 1 all is") {
  Rng random = random_stream(1, "acceptance");
  const Acceptance none = Acceptance::of_length(1, 5), all = Acceptance::of_length(6, 5);
  for (const std::uint64_t bits : {std::uint64_t{0}, ~std::uint64_t{0}}) {
    CHECK(none.accepted(bits) == 0);
    CHECK(all.accepted(bits) == 5);
  }
  for (int i = 0; i < 1000; ++i) {
    CHECK(none.accepted(random()) == 0);
    CHECK(all.accepted(random()) == 5);
  }
}

TEST_CASE("acceptance: drafts are accepted at the conditional rates of their positions") {
  const std::vector<double> rates = {0.8, 0.5, 0.9};
  const Acceptance acceptance(rates);
  CHECK(acceptance.length() == Approx(1 + 0.8 + 0.8 * 0.5 + 0.8 * 0.5 * 0.9));
  Rng random = random_stream(2, "acceptance");
  std::vector<double> reached(rates.size() + 1);
  constexpr int draws = 200000;
  for (int i = 0; i < draws; ++i)
    for (std::int64_t n = acceptance.accepted(random()); n >= 0; --n) ++reached[static_cast<std::size_t>(n)];
  for (std::size_t at = 0; at < rates.size(); ++at)
    CHECK(reached[at + 1] / reached[at] == Approx(rates[at]).margin(0.01));
}

TEST_CASE("acceptance: every preset is between 1 and all drafts, and rises up to three") {
  std::set<std::string> files, names;
  for (const AcceptancePreset& preset : acceptance_presets()) {
    INFO(preset.name);
    CHECK(names.insert(preset.name).second);
    files.insert(preset.name.substr(0, preset.name.find('/')));
    REQUIRE(preset.lengths.size() == 8);
    for (std::size_t i = 0; i < preset.lengths.size(); ++i) {
      CHECK(preset.lengths[i] > 1);
      CHECK(preset.lengths[i] < static_cast<double>(i + 2));
      if (i > 0 && i < 3) CHECK(preset.lengths[i] > preset.lengths[i - 1]);
    }
  }
  CHECK(files.size() == 9);
  CHECK(names.size() == 14);
  CHECK(names.contains("glm5.2_mtp.yaml/thinking_on"));
}
