#include "sim/studies/validation/sessions/beginnings.h"

#include <map>

namespace weir {
namespace {

using Places = std::vector<std::size_t>;  // in the run's requests

// The turns of one conversation, which may be gone through several times: one that is not behind the one
// before begins another pass.
class Conversation {
 public:
  Conversation(const std::vector<RecordedRequest>& requests, const Places& turns, std::vector<Beginning>& all)
      : requests_(requests), all_(all) {
    for (const std::size_t i : turns) {
      if (passes_.empty() || turn(i) <= turn(passes_.back().back())) passes_.emplace_back();
      passes_.back().push_back(i);
    }
  }

  void find() {
    for (const Places& pass : passes_) {
      const bool shrank = chain(pass);
      if (&pass != &passes_.front() && turn(pass.front()) == 0 && shrank) find_history(pass);
      for (const std::size_t i : pass)
        if (const auto [known, fresh] = known_.try_emplace(turn(i), i); !fresh) repeat(i, known->second);
    }
  }

 private:
  std::int64_t turn(std::size_t i) const { return requests_[i].turn; }
  std::int64_t input(std::size_t i) const { return requests_[i].input_tokens; }

  // The same turn was there in a pass before.
  void repeat(std::size_t i, std::size_t before) {
    all_[i] = {before, input(i) == input(before) ? input(i) : kept_of(std::min(input(i), input(before)))};
  }

  // Each turn behind those before. Answers come back re-rendered and are never found. Says whether a prompt
  // was shorter than the one before.
  bool chain(const Places& pass) {
    constexpr std::int64_t opener_tokens = 3000;  // a turn that only asks for a title, say
    bool shrank = false;
    Places since_reset;  // since one that shared nothing
    for (std::size_t k = 0; k < pass.size(); ++k) {
      const std::size_t i = pass[k];
      if (k > 0 && input(i) >= input(pass[k - 1])) {
        const std::size_t before = pass[k - 1];
        if (turn(before) > 0 || input(before) >= opener_tokens || input(i) <= 4 * input(before))
          all_[i] = {before, kept_of(input(before))};
      } else if (k > 0) {
        const bool first_of_whole = turn(pass.front()) == 0 && !shrank;
        shrank = true;
        if (!first_of_whole && 10 * input(i) >= 9 * input(pass[k - 1])) all_[i] = longest(since_reset, i);
      }
      if (!all_[i].request) since_reset.clear();
      since_reset.push_back(i);
    }
    return shrank;
  }

  Beginning longest(const Places& since_reset, std::size_t i) const {
    Beginning found;
    for (const std::size_t earlier : since_reset)
      if (input(earlier) <= input(i) && kept_of(input(earlier)) >= found.tokens)
        found = {earlier, kept_of(input(earlier))};
    return found;
  }

  // A conversation that began in its middle came with its history, which a later pass from turn 0 goes
  // through: those of its turns that nothing was forgotten behind are a beginning of what came with it. Where
  // no prompt shrank before, other texts were in that history.
  void find_history(const Places& pass) {
    const std::size_t middle = passes_.front().front();
    if (turn(middle) == 0) return;
    std::int64_t common = input(middle);
    for (std::size_t k = pass.size(); k-- > 0;) {
      const std::size_t i = pass[k];
      if (turn(i) >= turn(middle)) {
        if (turn(i) > turn(middle)) continue;
      } else {
        const std::int64_t tokens = std::min(common, kept_of(input(i)));
        if (tokens > all_[i].tokens || !all_[i].request) found_[i] = {middle, tokens};
      }
      common = std::min(common, all_[i].tokens);
      if (!all_[i].request) break;
    }
    for (const auto& [i, beginning] : found_) all_[i] = beginning;
    found_.clear();
  }

  const std::vector<RecordedRequest>& requests_;
  std::vector<Beginning>& all_;
  std::vector<Places> passes_;
  std::map<std::size_t, Beginning> found_;
  std::map<std::int64_t, std::size_t> known_;  // by turn: the request that had its text first
};

}  // namespace

std::vector<Beginning> beginnings(const RecordedRun& run) {
  std::map<std::string, Places> conversations;
  for (std::size_t i = 0; i < run.requests.size(); ++i)
    conversations[run.requests[i].conversation].push_back(i);
  std::vector<Beginning> all(run.requests.size());
  for (const auto& [name, turns] : conversations) Conversation(run.requests, turns, all).find();
  return all;
}

}  // namespace weir
