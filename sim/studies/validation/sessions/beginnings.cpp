#include "sim/studies/validation/sessions/beginnings.h"

#include <map>

namespace weir {
namespace {

// One way through the turns of a conversation; a turn that is not behind the one before begins another.
struct Pass {
  bool from_start = false;               // seen from turn 0
  bool shrunk = false;                   // a prompt was shorter than the one before
  bool other_texts = false;              // than passes before had
  std::vector<std::size_t> since_reset = {};  // requests, since one that shared nothing
};

class Conversation {
 public:
  Beginning next(const std::vector<RecordedRequest>& requests, std::size_t i) {
    const std::int64_t turn = requests[i].turn;
    if (!last_ || turn <= requests[*last_].turn) {
      pass_ = {.from_start = turn == 0};
      if (!last_) began_in_middle_ = turn > 0;
      ++passes_;
    }
    Beginning beginning = pass_.since_reset.empty() ? Beginning{} : after_last(requests, i);
    if (!beginning.request) pass_.since_reset.clear();
    pass_.since_reset.push_back(i);
    last_ = i;
    const auto known = known_.find(turn);
    if (known != known_.end() && !pass_.other_texts && passes_ == 2 && began_in_middle_ && pass_.from_start &&
        !pass_.shrunk)
      pass_.other_texts = true;
    if (known == known_.end() || pass_.other_texts) {
      known_[turn] = i;
      return beginning;
    }
    const std::int64_t before = requests[known->second].input_tokens, now = requests[i].input_tokens;
    return {known->second, before == now ? now : kept_of(std::min(before, now))};
  }

 private:
  // Behind the turn before of the same pass. Answers come back re-rendered and are never found.
  Beginning after_last(const std::vector<RecordedRequest>& requests, std::size_t i) {
    constexpr std::int64_t opener_tokens = 3000;  // a turn that only asks for a title, say
    const std::int64_t now = requests[i].input_tokens, before = requests[*last_].input_tokens;
    if (now >= before) {
      if (requests[*last_].turn == 0 && before < opener_tokens && now > 4 * before) return {};
      return {*last_, kept_of(before)};
    }
    const bool first_of_whole = pass_.from_start && !pass_.shrunk;
    pass_.shrunk = true;
    if (first_of_whole || 10 * now < 9 * before) return {};
    Beginning longest;
    for (const std::size_t earlier : pass_.since_reset)
      if (const std::int64_t input = requests[earlier].input_tokens;
          input <= now && kept_of(input) >= longest.tokens)
        longest = {earlier, kept_of(input)};
    return longest;
  }

  Pass pass_;
  int passes_ = 0;
  bool began_in_middle_ = false;
  std::optional<std::size_t> last_;
  std::map<std::int64_t, std::size_t> known_;  // by turn: the request that had its text
};

}  // namespace

std::vector<Beginning> beginnings(const RecordedRun& run) {
  std::map<std::string, Conversation> conversations;
  std::vector<Beginning> all;
  for (std::size_t i = 0; i < run.requests.size(); ++i)
    all.push_back(conversations[run.requests[i].conversation].next(run.requests, i));
  return all;
}

}  // namespace weir
