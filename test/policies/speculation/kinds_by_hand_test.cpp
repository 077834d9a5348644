// Speculation as a scenario has it: the kind of drafting, its tokens, and the acceptance by each of its keys.
#include <catch2/catch.hpp>

#include "models/llm/acceptance.h"
#include "policies/speculation/speculation.h"
#include "test/policies/make_policy.h"

using namespace weir;
using test::policy_of;

namespace {

std::shared_ptr<const Speculation> speculation_of(const Json& json) {
  return policy_of(speculations(), json);
}

}  // namespace

TEST_CASE("speculation: each kind drafts in its way, three tokens unless it is said", "[speculation]") {
  using By = Drafting::By;
  for (const auto& [kind, by] : {std::pair{"ngram", By::lookup}, {"mtp", By::layer}, {"eagle", By::layer}}) {
    INFO(kind);
    const auto made = speculation_of({{"kind", kind}, {"acceptance_length", 2}});
    CHECK(made->kind == kind);
    CHECK(made->drafting.by == by);
    CHECK(made->drafts() == 3);
    CHECK(made->acceptance.drafts() == 3);
    CHECK_FALSE(made->preset);
  }
  const auto draft =
      speculation_of({{"kind", "draft"}, {"tokens", 5}, {"acceptance_length", 2}, {"model", "llama3.1-8b"}});
  CHECK((draft->drafting.by == By::model && draft->drafts() == 5));
  CHECK(draft->drafting.model.hidden == 4096);
}

TEST_CASE("speculation: acceptance is by a length, by rates, or by what was measured at so many tokens",
          "[speculation]") {
  const auto length = [](Json keys) {
    keys["kind"] = "mtp";
    return speculation_of(keys)->acceptance.length();
  };
  CHECK(length({{"tokens", 4}, {"acceptance_length", 2.75}}) == Approx(2.75));
  CHECK(length({{"tokens", 4}, {"acceptance_length", 5}}) == Approx(5));  // all of them and its own
  CHECK(length({{"tokens", 4}, {"acceptance_length", 1}}) == Approx(1));
  CHECK(length({{"tokens", 2}, {"acceptance_rates", {0.5, 0.4}}}) == Approx(1 + 0.5 + 0.5 * 0.4));
  const char* preset = "glm5.2_mtp.yaml/thinking_on";
  CHECK(length({{"tokens", 1}, {"preset", preset}}) == Approx(1.84));
  CHECK(length({{"tokens", 8}, {"preset", preset}}) == Approx(4.06));
  CHECK(speculation_of({{"kind", "mtp"}, {"tokens", 2}, {"preset", preset}})->preset->name == preset);
}
