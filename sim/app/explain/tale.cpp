#include "sim/app/explain/tale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/app/output/text_grid.h"

namespace weir {
namespace {

std::int64_t number(const Json& line, const char* key) {
  return line.at(key).get<std::int64_t>();
}

std::string many(std::int64_t count, const char* what) {
  return fmt::format("{} {}{}", grouped(count), what, count == 1 ? "" : "s");
}

// "KV blocks, 12 lacking (request 17, the first in line)"
std::string reason_of(const Json& line) {
  std::string words = line.at("why").get<std::string>();
  if (line.contains("lacks_blocks"))
    words += fmt::format(", {} lacking", grouped(number(line, "lacks_blocks")));
  if (line.contains("first")) words += fmt::format(" (of request {}, which is first)", number(line, "first"));
  return words;
}

// "replica 0: requests 5, found_tokens 0"
std::string candidate_of(const Json& candidate) {
  std::vector<std::string> scores;
  for (const auto& [name, value] : candidate.items())
    if (name != "replica") scores.push_back(fmt::format("{} {:.6g}", name, value.get<double>()));
  return fmt::format("replica {}{}{}", number(candidate, "replica"), scores.empty() ? "" : ": ",
                     fmt::join(scores, ", "));
}

// "1,266 ms in the queue (1,251 ms KV blocks, 15 ms batch full)"; "" if it did not wait.
std::string wait_in_words(const Parts& parts) {
  double all = 0;
  std::vector<std::string> reasons;
  for (const auto& [what, seconds] : parts.all()) {
    all += seconds;
    const std::size_t reason = what.find(": ");
    reasons.push_back(in_milliseconds(seconds) + " " +
                      (reason == std::string::npos ? what : what.substr(reason + 2)));
  }
  if (reasons.empty()) return "";
  return fmt::format(", after {} in the queue ({})", in_milliseconds(all), fmt::join(reasons, ", "));
}

constexpr std::size_t most_told = 8;  // candidates

std::string routing_of(const Json& line) {
  const Json& candidates = line.at("candidates");
  std::string words = fmt::format("the router sent its {} to replica {}", line.at("of").get<std::string>(),
                                  number(line, "replica"));
  if (candidates.size() == 1) return words + ", the only one that could take it";
  words += fmt::format(", of {} that could take it (", grouped(number(line, "could")));
  std::size_t told = 0;
  for (const Json& candidate : candidates) {
    if (told >= most_told && candidate.at("replica") != line.at("replica")) continue;
    words += (told++ > 0 ? "; " : "") + candidate_of(candidate);
  }
  return words + (told < candidates.size() ? "; ...)" : ")");
}

}  // namespace

std::string in_seconds(double time) {
  return fmt::format("{:.4f} s", time);
}

std::string in_milliseconds(double time) {
  const std::int64_t hundredths = std::llround(std::abs(time) * 1e5);
  return fmt::format("{}{}.{:02} ms", time < 0 && hundredths > 0 ? "-" : "", grouped(hundredths / 100),
                     hundredths % 100);
}

void Tale::say(double time, const std::string& what) {
  sentences_.push_back(fmt::format("At {} {}.", in_seconds(time), what));
}

void Tale::hear(const Json& line) {
  const auto event = line.at("event").get<std::string>();
  if (event == "step") {
    if (life_.takes_part(line)) say_steps(line);
    return life_.hear(line);
  }
  life_.hear(line);
  if (event == "preempted")
    say_preempted(line);
  else if (line.at("request") == life_.request())
    hear_own(event, line);
}

void Tale::hear_own(const std::string& event, const Json& line) {
  known_ = true;
  const auto time = line.at("time").get<double>();
  if (event == "routed") return say(time, routing_of(line));
  if (event == "rejected") return say(time, "it was rejected: " + line.at("why").get<std::string>());
  const std::int64_t replica = number(line, "replica");
  if (event == "queued") {
    queued_ = time;
    const std::int64_t behind = number(line, "behind");
    std::string place = behind == 0 ? "with nothing before it" : "behind " + many(behind, "other");
    if (line.contains("why")) place += "; what was lacking: " + reason_of(line);
    say(time, fmt::format("it was queued at replica {}, {}", replica, place));
  } else if (event == "not admitted") {
    if (time == queued_) return;  // as it was preempted
    say(time, fmt::format("it was first in line and not admitted to step {}: {}",
                          grouped(number(line, "step")), reason_of(line)));
  } else if (event == "admitted") {
    std::string after = wait_in_words(life_.parts(queued_, time));
    const std::int64_t found = number(line, "found_tokens");
    if (found > 0) after += fmt::format("; {} were computed before", many(found, "token"));
    say(time,
        fmt::format("replica {} admitted it to step {}{}", replica, grouped(number(line, "step")), after));
  } else if (event == "KV cache leaves" || event == "KV cache comes") {
    moving_ = time;
    const std::string from = line.contains("from_replica")
                                 ? fmt::format("replica {}", number(line, "from_replica"))
                                 : line.at("memory").get<std::string>();
    const bool leaves = event == "KV cache leaves";
    say(time, fmt::format("its KV cache of {} {} {}", many(number(line, "tokens"), "token"),
                          leaves ? "went to" : "began to come from", from));
  } else if (event == "KV cache arrived") {
    say(time,
        fmt::format("its KV cache was at replica {}, after {}", replica, in_milliseconds(time - moving_)));
  } else if (event == "first token") {
    say(time, "it had its first token");
  } else if (event == "handed over") {
    say(time, fmt::format("replica {} had computed its prompt, and another goes on", replica));
  } else if (event == "finished") {
    say(time, "it had its last token");
  }
}

void Tale::say_preempted(const Json& line) {
  const auto time = line.at("time").get<double>();
  const std::int64_t gives = number(line, "request"), gets = line.contains("for") ? number(line, "for") : -1;
  const std::string lacked =
      line.contains("lacks_blocks") ? many(number(line, "lacks_blocks"), "KV block") : "a seat in the batch";
  const std::string step = grouped(number(line, "step"));
  if (gives == life_.request()) {
    known_ = true;
    queued_ = time;
    const std::string to = gets == gives ? "as it lacked"
                           : gets < 0    ? "as those that run lacked"
                                         : fmt::format("for request {}, which lacked", gets);
    say(time, fmt::format("it was preempted before step {} {} {}", step, to, lacked));
  } else if (gets == life_.request()) {
    say(time,
        fmt::format("request {} was preempted for it before step {}, as it lacked {}", gives, step, lacked));
  }
}

void Tale::say_steps(const Json& step) {
  const bool first_stage = !step.contains("stage") || step["stage"] == 0;
  for (const Json& chunk : step.at("prompts")) {
    if (chunk.at("request") != life_.request()) continue;
    if (first_stage) {
      const std::int64_t own = number(chunk, "tokens");
      ++prompt_.steps;
      prompt_.own += own;
      prompt_.prompts += number(step, "prompt_tokens") - own;
      prompt_.tokens += number(step, "decodes");
    }
    const bool last_stage =
        !step.contains("stage") || step["stage"].get<std::int64_t>() + 1 == step.at("stages");
    if (!last_stage || !chunk.at("ends").get<bool>()) return;
    say(step.at("time").get<double>(),
        fmt::format("{}, in {}: {} of its own, beside {} of other prompts and {} of answers",
                    life_.first_token ? "what it had lost was computed again" : "its prompt was computed",
                    many(prompt_.steps, "step"), many(prompt_.own, "token"), grouped(prompt_.prompts),
                    grouped(prompt_.tokens)));
    prompt_ = {};
    return;
  }
}

}  // namespace weir
