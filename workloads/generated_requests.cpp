#include <fmt/format.h>

#include <algorithm>

#include "sim/core/embedded.h"
#include "workloads/lengths.h"
#include "workloads/requests.h"
#include "workloads/workload.h"

namespace weir {

extern const EmbeddedFiles named_length_files;

namespace {

class Generated : public RequestSource {
 public:
  Generated(std::int64_t count, std::shared_ptr<const LengthLaw> input,
            std::shared_ptr<const LengthLaw> output, std::vector<std::string> notes = {})
      : count_(count), input_(std::move(input)), output_(std::move(output)), notes_(std::move(notes)) {}

  Trace draw(std::uint64_t seed) const override {
    Rng inputs = random_stream(seed, "input lengths"), outputs = random_stream(seed, "output lengths");
    Trace trace;
    trace.missing_arrivals = "these requests are drawn, not logged";
    trace.notes = notes_;
    trace.requests.reserve(static_cast<std::size_t>(count_));
    for (std::int64_t i = 0; i < count_; ++i)
      trace.requests.push_back({Seconds(0), input_->draw(inputs), output_->draw(outputs)});
    return trace;
  }

 private:
  std::int64_t count_;
  std::shared_ptr<const LengthLaw> input_, output_;
  std::vector<std::string> notes_;
};

std::int64_t read_count(Params& params) {
  return params.integer({"count", "how many requests"}, {1, 100'000'000});
}

template <std::shared_ptr<const LengthLaw> (*read)(Params&)>
std::shared_ptr<const RequestSource> drawn(Params& params) {
  const std::int64_t count = read_count(params);
  const auto law = [&](Key key) {
    Params below = params.object(key, Params::Presence::required);
    auto made = read(below);
    below.close();
    return made;
  };
  const auto input = law({"input", "tokens of the prompts"}),
             output = law({"output", "tokens of the answers"});
  return input && output ? std::make_shared<Generated>(count, input, output) : nullptr;
}

NamedLengths read_entry(std::string_view name, std::string_view text) {
  const Json& document = embedded_json(text, fmt::format("lengths/{}.json", name));
  Reading reading(fmt::format("lengths/{}.json", name));
  Params params(reading, document);
  NamedLengths lengths;
  lengths.summary = params.text({"summary", "one line"});
  for (const char* key : {"source", "licence", "citation", "dependence"}) params.text({key, "for people"});
  Params published = params.object({"published", "the source's own statistics"}, Params::Presence::required);
  for (const char* key : {"input_mean", "input_std", "output_mean", "output_std"})
    published.number({key, "tokens"}, positive);
  published.close();
  lengths.input =
      read_length_law(params.object({"input", "tokens of the prompts"}, Params::Presence::required));
  lengths.output =
      read_length_law(params.object({"output", "tokens of the answers"}, Params::Presence::required));
  params.close();
  reading.finish();
  return lengths;
}

}  // namespace

NamedLengths read_named_lengths(const std::string& name) {
  if (const auto text = text_of(named_length_files, name)) return read_entry(name, *text);
  throw ConfigError("", "name", no_such("name", name, names_of(named_lengths())));
}

std::vector<WorkloadKind> named_lengths() {
  std::vector<WorkloadKind> kinds;
  for (const auto& [stem, text] : named_length_files)
    kinds.push_back({std::string(stem), read_entry(stem, text).summary});
  return kinds;
}

std::shared_ptr<const RequestSource> make_fixed(Params& params) {
  const std::int64_t count = read_count(params);
  const auto tokens = [&](Key key) { return fixed_length(params.integer(key, {1, max_tokens})); };
  const auto input = tokens({"input_tokens", "tokens of each prompt"});
  const auto output = tokens({"output_tokens", "tokens of each answer"});
  return std::make_shared<Generated>(count, input, output);
}

std::shared_ptr<const RequestSource> make_uniform(Params& params) {
  return drawn<read_uniform>(params);
}
std::shared_ptr<const RequestSource> make_lognormal(Params& params) {
  return drawn<read_lognormal>(params);
}
std::shared_ptr<const RequestSource> make_gamma(Params& params) {
  return drawn<read_gamma>(params);
}

std::shared_ptr<const RequestSource> make_named(Params& params) {
  const std::string name = params.choice({"name", "the data set"}, names_of(named_lengths()));
  const std::int64_t count = read_count(params);
  if (name.empty()) return nullptr;
  const NamedLengths lengths = read_named_lengths(name);
  const std::string note =
      fmt::format("{}: {}; inputs and outputs are drawn independently", name, lengths.summary);
  return std::make_shared<Generated>(count, lengths.input, lengths.output, std::vector{note});
}

}  // namespace weir
