// Sessions that are drawn: each turn's prompt is the one before with its answer and new tokens behind, until
// the context is compacted. Every law is the user's: no source has them for agents of any kind.
#include <fmt/format.h>

#include <algorithm>
#include <boost/random/uniform_01.hpp>
#include <cmath>

#include "workloads/lengths.h"
#include "workloads/requests.h"

namespace weir {
namespace {

using Law = std::shared_ptr<const LengthLaw>;

std::shared_ptr<const LengthLaw> read_fixed(Params& params) {
  return fixed_length(params.integer({"value", "the same for all"}, {1, max_tokens}));
}

Law read_law(Params& params, Key key) {
  static const Catalog<LengthLaw> table = {
      {"fixed", "always the same", read_fixed},
      {"uniform", "anywhere between two, all alike likely", read_uniform},
      {"lognormal", "mean and standard deviation", read_lognormal},
      {"gamma", "mean and standard deviation", read_gamma},
  };
  return make_from(table, params.object(key, Params::Presence::required), {"kind", "the law"});
}

struct Compaction {
  std::int64_t above_tokens = 0, summary_tokens = 0;
  static Compaction from(Params& params) {
    Compaction made;
    made.above_tokens = params.integer(
        {"above_tokens", "where a prompt would be longer, the context is compacted"}, {1, max_tokens});
    made.summary_tokens =
        params.integer({"summary_tokens",
                        "what is left of the context, behind the system prompt; new tokens, "
                        "not those that were there"},
                       {0, max_tokens});
    if (made.summary_tokens >= made.above_tokens && !params.describing())
      params.fail("summary_tokens", fmt::format("expected fewer than above_tokens, {}, got {}: every prompt "
                                                "would be compacted again",
                                                made.above_tokens, made.summary_tokens));
    return made;
  }
};

struct SubAgents {
  double probability = 0;
  Law turns, first_input;
  static SubAgents from(Params& params) {
    SubAgents agents;
    agents.probability = params.number({"probability",
                                        "of a turn's answer, that it starts one beside the next gap; the "
                                        "next turn waits for its end"},
                                       {0, 1});
    agents.turns = read_law(params, {"turns", "of each, whose tokens and gaps are as its session's"});
    agents.first_input =
        read_law(params, {"first_input", "tokens of its first prompt, behind the system prompt"});
    return agents;
  }
};

struct Habits {
  std::int64_t count = 0, system_tokens = 0;
  Law turns, first_input, new_input, output, gap_ms;
  std::optional<Compaction> compaction;
  std::optional<SubAgents> sub_agents;

  static Habits from(Params& params) {
    Habits h;
    h.count = params.integer({"count", "how many sessions"}, {1, 10'000'000});
    h.system_tokens = params.integer(
        {"system_tokens", "with which every prompt of all sessions begins: system prompt and tools"},
        {0, max_tokens}, 0);
    h.turns = read_law(params, {"turns", "requests of a session, sub-agents left out"});
    h.first_input = read_law(params, {"first_input", "tokens of the first prompt, behind the system prompt"});
    h.new_input = read_law(params, {"new_input",
                                    "tokens of each further prompt behind the last one and its answer: a "
                                    "tool's output, a person's message"});
    h.output = read_law(params, {"output", "tokens of each answer"});
    h.gap_ms =
        read_law(params, {"gap_ms", "from an answer to the next prompt: the time of a tool, or of a person"});
    if (auto below = params.object_if_given({"compaction", "without it the context only grows"})) {
      h.compaction = Compaction::from(*below);
      below->close();
    }
    if (auto below = params.object_if_given({"sub_agents", "without it there are none"})) {
      h.sub_agents = SubAgents::from(*below);
      below->close();
    }
    return h;
  }
  bool whole() const {
    return turns && first_input && new_input && output && gap_ms &&
           (!sub_agents || (sub_agents->turns && sub_agents->first_input));
  }
};

// One draw of all sessions.
class Drawing {
 public:
  Drawing(const Habits& habits, std::uint64_t seed)
      : h_(habits),
        turns_(random_stream(seed, "session turns")),
        inputs_(random_stream(seed, "session inputs")),
        outputs_(random_stream(seed, "session outputs")),
        gaps_(random_stream(seed, "session gaps")),
        agents_(random_stream(seed, "session sub-agents")) {}

  Trace trace() {
    trace_.missing_arrivals = "these sessions are drawn, not logged";
    for (std::int64_t session = 0; session < h_.count; ++session) add_session(fmt::format("{}", session));
    return std::move(trace_);
  }

 private:
  std::int32_t last() const { return static_cast<std::int32_t>(trace_.requests.size()) - 1; }
  const Request& request(std::int32_t i) const { return trace_.requests[static_cast<std::size_t>(i)]; }

  void add_session(const std::string& name) {
    const std::int64_t turns = h_.turns->draw(turns_);
    const auto own = named(name);
    std::int32_t before = add_first(own, *h_.first_input, -1);
    for (std::int64_t turn = 1; turn < turns; ++turn) {
      const std::int32_t joins =
          starts_agent() ? add_agent(fmt::format("{}/{}", name, turn - 1), before) : -1;
      before = add_next(own, turn, before);
      if (joins >= 0) trace_.turns.awaits.emplace_back(before, joins);
    }
  }

  // Returns the last of its requests.
  std::int32_t add_agent(const std::string& name, std::int32_t after) {
    const std::int64_t turns = h_.sub_agents->turns->draw(turns_);
    const auto own = named(name);
    std::int32_t before = add_first(own, *h_.sub_agents->first_input, after);
    for (std::int64_t turn = 1; turn < turns; ++turn) before = add_next(own, turn, before);
    return before;
  }

  bool starts_agent() {
    return h_.sub_agents && boost::random::uniform_01<double>()(agents_) < h_.sub_agents->probability;
  }

  std::int32_t named(const std::string& name) {
    trace_.turns.names.push_back(name);
    return static_cast<std::int32_t>(trace_.turns.names.size()) - 1;
  }

  // It shares the system prompt with the very first request of all.
  std::int32_t add_first(std::int32_t name, const LengthLaw& input, std::int32_t after) {
    add(name, 0, h_.system_tokens + input.draw(inputs_), system_prompt(), after, Seconds(0));
    return last();
  }

  std::int32_t add_next(std::int32_t name, std::int64_t turn, std::int32_t before) {
    const Seconds gap(static_cast<double>(h_.gap_ms->draw(gaps_)) * 1e-3);
    const std::int64_t fresh = h_.new_input->draw(inputs_);
    const std::int64_t said = request(before).input_tokens + request(before).output_tokens;
    if (h_.compaction && said + fresh > h_.compaction->above_tokens)
      add(name, turn, h_.system_tokens + h_.compaction->summary_tokens + fresh, system_prompt(), before, gap);
    else
      add(name, turn, said + fresh, {before, said}, before, gap);
    return last();
  }

  Origin system_prompt() const {
    return h_.system_tokens > 0 && !trace_.requests.empty() ? Origin{0, h_.system_tokens} : Origin{};
  }

  void add(std::int32_t name, std::int64_t turn, std::int64_t input, Origin origin, std::int32_t after,
           Seconds gap) {
    if (input > max_tokens)
      throw ConfigError(
          "", "turns", fmt::format("a prompt grew beyond {} tokens: fewer turns, or compaction", max_tokens));
    trace_.requests.push_back({Seconds(0), input, h_.output->draw(outputs_)});
    trace_.origins.push_back(origin);
    trace_.turns.add(name, turn, gap);
    if (after >= 0) trace_.turns.awaits.emplace_back(last(), after);
  }

  const Habits& h_;
  Rng turns_, inputs_, outputs_, gaps_, agents_;
  Trace trace_;
};

class GeneratedSessions final : public RequestSource {
 public:
  explicit GeneratedSessions(Habits habits) : habits_(std::move(habits)) {}
  Trace draw(std::uint64_t seed) const override { return Drawing(habits_, seed).trace(); }

 private:
  Habits habits_;
};

}  // namespace

std::shared_ptr<const RequestSource> make_generated_sessions(Params& params) {
  Habits habits = Habits::from(params);
  return habits.whole() ? std::make_shared<GeneratedSessions>(std::move(habits)) : nullptr;
}

}  // namespace weir
