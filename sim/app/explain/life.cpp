#include "sim/app/explain/life.h"

#include <algorithm>

namespace weir {
namespace {

std::int64_t rank_of(const Json& line) {
  return line.contains("rank") ? line["rank"].get<std::int64_t>() : -1;
}

// The chunk of its prompt in this step; null: none.
const Json* chunk_of(const Json& step, std::int64_t request) {
  for (const Json& chunk : step.at("prompts"))
    if (chunk.at("request") == request) return &chunk;
  return nullptr;
}

void add(const Json& step, BoundBy& bound) {
  bound.compute += step.at("compute_s").get<double>();
  bound.memory += step.at("memory_s").get<double>();
  bound.link += step.at("link_s").get<double>();
  bound.host += step.at("host_s").get<double>();
}

}  // namespace

void Parts::add(const std::string& what, double seconds) {
  if (seconds == 0) return;
  const auto same = std::ranges::find(all_, what, &std::pair<std::string, double>::first);
  if (same == all_.end())
    all_.emplace_back(what, seconds);
  else
    same->second += seconds;
}

std::string Life::label(const Place& place) {
  if (!place.queued) return place.doing;
  return place.doing + ": " + (place.why.empty() ? "until the next decision" : place.why);
}

void Life::advance(double to) {
  if (to <= until_) return;
  spans_.push_back({until_, to, label(here_)});
  until_ = to;
}

// The request itself, or the first of its queue, is there.
Life::Place* Life::place_of(const Json& line) {
  const std::int64_t replica = line.at("replica").get<std::int64_t>(), rank = rank_of(line);
  for (Place* place : {&here_, next_ ? &*next_ : nullptr})
    if (place && place->replica == replica && (place->rank < 0 || place->rank == rank)) return place;
  return nullptr;
}

bool Life::takes_part(const Json& step) const {
  const Json& requests = step.at("requests");
  return here_.replica == step.at("replica").get<std::int64_t>() &&
         std::ranges::find(requests, Json(request_)) != requests.end();
}

void Life::hear(const Json& line) {
  const auto event = line.at("event").get<std::string>();
  if (event == "step") {
    if (takes_part(line)) take_step(line);
  } else if (event == "not admitted") {
    Place* place = place_of(line);
    if (!place || !place->queued) return;
    if (place == &here_) advance(line.at("time").get<double>());
    place->why = line.at("why").get<std::string>();
  } else if (line.at("request") == request_) {
    hear_own(event, line);
  }
}

void Life::queue(const Json& line, double time) {
  Place place{.replica = line.at("replica").get<std::int64_t>(), .rank = rank_of(line)};
  place.doing = here_.replica == place.replica || here_.replica < 0 ? "queue" : "queue of the next replica";
  if (line.contains("why")) place.why = line["why"].get<std::string>();
  place.queued = true;
  if (here_.replica >= 0 && here_.replica != place.replica && !here_.left) {
    next_ = place;
    return;
  }
  advance(time);
  here_ = place;
}

void Life::hear_own(const std::string& event, const Json& line) {
  const auto time = line.at("time").get<double>();
  if (event == "first token") {
    if (!first_token) first_token = time;
    return;
  }
  if (event == "queued") return queue(line, time);
  if (event == "arrived") {
    advance(time);
    here_ = {.replica = line.at("replica").get<std::int64_t>(), .rank = rank_of(line), .doing = "front end"};
    return;
  }
  Place* place = event == "routed" || event == "rejected" ? nullptr : place_of(line);
  if (!place) return;
  if (place == &here_) advance(time);
  if (event == "admitted" || event == "KV cache arrived") {
    place->queued = false;
    place->doing = "between its steps";
  } else if (event == "preempted") {
    place->queued = true;
    place->doing = "queue after it was preempted";
    place->why.clear();
  } else if (event == "KV cache comes") {
    place->doing = line.contains("from_replica") ? "KV transfer"
                                                 : "KV cache from " + line.at("memory").get<std::string>();
  } else if (event == "handed over") {
    place->doing = "hand-over";
    place->left = true;
    if (next_) here_ = *std::exchange(next_, std::nullopt);
  }
}

void Life::take_step(const Json& step) {
  const double start = std::max(until_, step.at("start").get<double>()), end = step.at("time").get<double>();
  advance(start);
  here_.doing = "between its steps";
  const Json* chunk = chunk_of(step, request_);
  const auto decodes = step.at("decodes").get<double>(), prompts = step.at("prompt_tokens").get<double>();
  const double own = chunk ? chunk->at("tokens").get<double>() : 0,
               took = end - step.at("start").get<double>();
  double tokens = decodes / std::max(1., decodes + prompts);
  if (step.contains("without_prompts_s") && took > 0) tokens = step["without_prompts_s"].get<double>() / took;
  const double of_prompts = (1 - tokens) / std::max(1., prompts);
  if (end > start) spans_.push_back({start, end, "", own * of_prompts, (prompts - own) * of_prompts, tokens});
  until_ = std::max(until_, end);
  add(step, chunk ? prompt_bound_ : token_bound_);
  const bool last_stage =
      !step.contains("stage") || step["stage"].get<std::int64_t>() + 1 == step.at("stages");
  if (last_stage && (!chunk || chunk->at("ends").get<bool>())) token(step);
}

// The first step of a run and the last, which is the longest, as contexts grow.
void Life::token(const Json& step) {
  const auto end = step.at("time").get<double>();
  const auto longer = [&](double from, double to) {
    if (!slowest_ || to - from > slowest_->end - slowest_->start) slowest_ = Gap{from, to};
  };
  if (last_token) {
    if (step.at("steps") == 1) {
      longer(*last_token, end);
    } else {
      longer(*last_token, step.at("start").get<double>() + step.at("first_s").get<double>());
      longer(end - step.at("last_s").get<double>(), end);
    }
  }
  last_token = end;
}

Parts Life::parts(double from, double to) const {
  Parts parts;
  for (const Span& span : spans_) {
    const double seconds = std::min(to, span.end) - std::max(from, span.start);
    if (seconds <= 0) continue;
    if (!span.what.empty()) {
      parts.add(span.what, seconds);
    } else if (span.own_prompt > 0) {
      parts.add("its own prompt", seconds * span.own_prompt);
      parts.add("others' prompts in these steps", seconds * span.other_prompts);
      parts.add("tokens of others in these steps", seconds * span.tokens);
    } else {
      parts.add("steps of its tokens", seconds * span.tokens);
      parts.add("others' prompts in steps of its tokens", seconds * span.other_prompts);
    }
  }
  return parts;
}

}  // namespace weir
