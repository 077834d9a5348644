#include "policies/speculation/speculation.h"

#include <fmt/format.h>

#include "sim/core/errors.h"

namespace weir {
namespace {

constexpr std::int64_t most_drafts = 64;

const AcceptancePreset* find_preset(Params& params, const std::string& name, std::int64_t drafts) {
  std::vector<std::string> known;
  for (const AcceptancePreset& preset : acceptance_presets()) {
    known.push_back(preset.name);
    if (preset.name != name) continue;
    if (drafts <= std::ssize(preset.lengths)) return &preset;
    params.fail("tokens", fmt::format("expected at most {}, as {} was measured with (got {})",
                                      preset.lengths.size(), name, drafts));
    return nullptr;
  }
  params.fail("preset", no_such("preset", name, known));
  return nullptr;
}

// Exactly one of three says it.
void read_acceptance(Params& params, Speculation& s) {
  const std::int64_t drafts = s.drafts();
  const std::optional<double> length = params.number_or_null(
      {"acceptance_length",
       "Mean tokens of a step and request, its own one included: 1 to tokens + 1. Every draft has the same "
       "rate at which it is accepted if those before it are; or acceptance_rates, or preset."},
      {1, most_drafts + 1});
  const std::optional<std::vector<double>> rates = params.numbers_or_null(
      {"acceptance_rates",
       "By position: how often a draft is accepted if all before it are; as many as tokens."},
      1, {0, 1});
  const std::optional<std::string> preset = params.text_or_null(
      {"preset",
       "Measured acceptance lengths, FILE/mode of InferenceX: glm5.2_mtp.yaml/thinking_on, say, at this "
       "number of tokens."});
  if (params.describing()) return;
  if (length.has_value() + rates.has_value() + preset.has_value() != 1)
    return params.fail("", "expected exactly one of acceptance_length, acceptance_rates and preset");
  if (length && *length > static_cast<double>(drafts + 1))
    return params.fail("acceptance_length",
                       fmt::format("expected at most tokens + 1, {} (got {})", drafts + 1, *length));
  if (length) s.acceptance = Acceptance::of_length(*length, drafts);
  const auto given = static_cast<std::int64_t>(params.items("acceptance_rates"));
  if (given > 0 && given != drafts)
    return params.fail("acceptance_rates",
                       fmt::format("expected a rate a draft, {} (got {})", drafts, given));
  if (rates) s.acceptance = Acceptance(*rates);
  if (preset) s.preset = find_preset(params, *preset, drafts);
  if (s.preset)
    s.acceptance = Acceptance::of_length(s.preset->lengths[static_cast<std::size_t>(drafts - 1)], drafts);
}

std::shared_ptr<Speculation> read_speculation(Params& params, const char* kind, Drafting::By by) {
  auto s = std::make_shared<Speculation>();
  s->kind = kind;
  s->drafting.by = by;
  s->drafting.tokens =
      params.integer({"tokens",
                      "Drafts of a request in a step (vLLM's num_speculative_tokens), which are verified in "
                      "the next one: it has tokens + 1 rows a request."},
                     {1, most_drafts}, 3);
  read_acceptance(params, *s);
  return s;
}

std::shared_ptr<const Speculation> make_ngram(Params& params) {
  return read_speculation(params, "ngram", Drafting::By::lookup);
}

std::shared_ptr<const Speculation> make_mtp(Params& params) {
  return read_speculation(params, "mtp", Drafting::By::layer);
}

std::shared_ptr<const Speculation> make_eagle(Params& params) {
  return read_speculation(params, "eagle", Drafting::By::layer);
}

std::shared_ptr<const Speculation> make_draft(Params& params) {
  const auto s = read_speculation(params, "draft", Drafting::By::model);
  const Json* model = params.value(
      {"model", "The model that drafts: as the scenario's own model, a name, a path or keys over a base."},
      params.describing() ? model_schema() : Json());
  if (model || params.describing())
    s->drafting.model = read_model(model ? *model : Json(""), params.reading(), params.pointer() + "/model");
  return s;
}

}  // namespace

const Catalog<Speculation>& speculations() {
  static const Catalog<Speculation> table = {
      {"mtp", "a layer of the model's kind behind its last drafts each token (multi-token prediction)",
       make_mtp},
      {"eagle", "the same of a layer that was trained afterwards (EAGLE)", make_eagle},
      {"draft", "a smaller model drafts", make_draft},
      {"ngram", "drafts are what followed the last tokens before, in the request's own text", make_ngram},
  };
  return table;
}

}  // namespace weir
