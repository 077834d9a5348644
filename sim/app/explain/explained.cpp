#include "sim/app/explain/explained.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/app/output/text_grid.h"
#include "sim/app/results/csv.h"
#include "sim/app/wrap.h"

namespace weir {
namespace {

constexpr double rounding = 2e-9;  // seconds, of what requests.csv says

// From its arrival to the moment at which the client sees the token that a step has made then.
Parts parts_until(const Life& life, double arrival, double made, double seen_ms) {
  Parts parts = life.parts(arrival, made);
  parts.add("on the way to the client", seen_ms / 1e3 - (made - arrival));
  return parts;
}

struct Explained {
  std::optional<Parts> ttft, all, slowest;
};

Explained explained(const Tale& tale, const RequestRow& row) {
  const Life& life = tale.life();
  Explained e;
  if (row.ttft_ms && life.first_token)
    e.ttft = parts_until(life, row.arrival, *life.first_token, *row.ttft_ms);
  if (row.e2el_ms && life.last_token) e.all = parts_until(life, row.arrival, *life.last_token, *row.e2el_ms);
  if (life.slowest()) e.slowest = life.parts(life.slowest()->start, life.slowest()->end);
  return e;
}

std::string bound_in_words(const BoundBy& bound) {
  const double all = bound.compute + bound.memory + bound.link + bound.host;
  if (all <= 0) return "";
  std::string words;
  for (const auto& [what, seconds] : {std::pair{"compute", bound.compute}, std::pair{"memory", bound.memory},
                                      std::pair{"links", bound.link}, std::pair{"the host", bound.host}})
    if (seconds > 0)
      words += fmt::format("{}{} {}", words.empty() ? "" : ", ", what, shown_percent(seconds / all));
  return words;
}

std::string table(const std::string& title, const Parts& parts) {
  TextGrid grid;
  for (const auto& [what, seconds] : parts.all())
    if (std::abs(seconds) > rounding) grid.add({"  " + what, in_milliseconds(seconds)});
  return title + "\n" + grid.text();
}

Json milliseconds(const std::optional<Parts>& parts) {
  if (!parts) return nullptr;
  Json all = Json::object();
  for (const auto& [what, seconds] : parts->all())
    if (std::abs(seconds) > rounding) all[what] = seconds * 1e3;
  return all;
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::vector<RequestRow> read_requests(const std::filesystem::path& file) {
  CsvReader csv(file);
  const std::size_t arrival = csv.place("arrival_s"), input = csv.place("input_tokens"),
                    output = csv.place("output_tokens"), ttft = csv.place("ttft_ms"),
                    e2el = csv.place("e2el_ms"), status = csv.place("status");
  const auto optional = [&](std::size_t place) {
    return csv.cells()[place].empty() ? std::nullopt : std::optional(csv.number(place));
  };
  std::vector<RequestRow> rows;
  while (csv.next())
    rows.push_back({optional(arrival).value_or(0), static_cast<std::int64_t>(csv.number(input)),
                    static_cast<std::int64_t>(csv.number(output)), optional(ttft), optional(e2el),
                    std::string(csv.cells()[status])});
  return rows;
}

std::string explained_text(const Tale& tale, const RequestRow& row, std::size_t width) {
  const Life& life = tale.life();
  std::string text =
      fmt::format("Request {}: {} tokens in, {} out, {}. It arrived at {}.\n", life.request(),
                  grouped(row.input_tokens), grouped(row.output_tokens), row.status, in_seconds(row.arrival));
  for (const std::string& sentence : tale.sentences()) text += fitted(sentence + "\n", width);
  if (row.status == "unfinished" || row.status == "lost")
    text += fmt::format("The trace leaves it at {}: {}.\n", in_seconds(life.until()), life.doing());
  const Explained e = explained(tale, row);
  if (e.ttft) text += table(fmt::format("TTFT, {}:", in_milliseconds(*row.ttft_ms / 1e3)), *e.ttft);
  if (e.all) text += table(fmt::format("All of it, {}:", in_milliseconds(*row.e2el_ms / 1e3)), *e.all);
  if (e.slowest)
    text += table(fmt::format("Its slowest token, {} after the one before, at {}:",
                              in_milliseconds(life.slowest()->end - life.slowest()->start),
                              in_seconds(life.slowest()->end)),
                  *e.slowest);
  if (const std::string bound = bound_in_words(life.prompt_bound()); !bound.empty())
    text += fmt::format("Steps of its prompt were bound by {}.\n", bound);
  if (const std::string bound = bound_in_words(life.token_bound()); !bound.empty())
    text += fmt::format("Steps of its tokens were bound by {}.\n", bound);
  return text;
}

Json explained_json(const Tale& tale, const RequestRow& row) {
  const Life& life = tale.life();
  const Explained e = explained(tale, row);
  Json all = {{"request", life.request()},
              {"status", row.status},
              {"life", tale.sentences()},
              {"ttft_ms", number_or_null(row.ttft_ms)},
              {"ttft_parts_ms", milliseconds(e.ttft)},
              {"e2el_ms", number_or_null(row.e2el_ms)},
              {"e2el_parts_ms", milliseconds(e.all)},
              {"slowest_token_ms", nullptr},
              {"slowest_token_parts_ms", milliseconds(e.slowest)}};
  if (life.slowest()) all["slowest_token_ms"] = (life.slowest()->end - life.slowest()->start) * 1e3;
  return all;
}

}  // namespace weir
