// Requests of a user's own files, in nobody's format.
#include <fmt/format.h>

#include "workloads/requests.h"
#include "workloads/traces/csv_rows.h"
#include "workloads/traces/readers.h"

namespace weir {
namespace {

using Unit = std::optional<double>;  // in seconds; nothing: a date and time of day

// Nothing where the columns that are named cannot be meant; that was said.
std::optional<ColumnMap> read_columns_key(Params& params) {
  Params columns = params.object(
      {"columns", "what the file calls them, as its header has it without outer quotes; others are ignored"},
      Params::Presence::required);
  const auto arrival = columns.text_or_null({"arrival", "when a request comes; null: the file does not say"});
  const auto input = columns.required_text({"input_tokens", "tokens of the prompt"});
  const auto output = columns.required_text({"output_tokens", "tokens of the answer"});
  const auto priority = columns.text_or_null(
      {"priority", "lower: more urgent; may be the column of a length, for the shortest first"});
  bool apart = input && output;
  const auto keep_apart = [&](const char* key, const auto& name, const char* other, const auto& of_other) {
    if (!name || name != of_other) return;
    columns.fail(key, fmt::format("names the same column as {}", other));
    apart = false;
  };
  keep_apart("output_tokens", output, "input_tokens", input);
  keep_apart("arrival", arrival, "input_tokens", input);
  keep_apart("arrival", arrival, "output_tokens", output);
  keep_apart("priority", priority, "arrival", arrival);
  columns.close();
  if (!apart) return {};
  return ColumnMap{
      .input_tokens = *input, .output_tokens = *output, .arrival = arrival, .priority = priority};
}

}  // namespace

std::shared_ptr<const RequestSource> make_columns(Params& params) {
  const auto named = read_columns_key(params);
  ColumnMap map = named.value_or(ColumnMap());
  const Choices<Unit> units = {{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9}, {"time", {}}};
  map.unit_s = params.choice(
      {"arrival_unit",
       "of the arrivals: s, ms, us, ns, or time for a date and time of day (2023-11-16 18:15:46.68), the "
       "first of which becomes 0 s"},
      units, "s");
  map.from_first = params.flag(
      {"from_first",
       "true: the first arrival becomes 0 s, which times since 1970 need; with time it always does"},
      false);
  map.separator = params.choice({"separator", "what stands between columns"}, csv_separators(), "comma");
  if (named && map.from_first && !map.arrival)
    params.fail("from_first", "has no effect where columns.arrival is null");
  const auto source =
      trace_file(params, [map](auto text, auto& file) { return read_mapped(text, file, map); });
  return named ? source : nullptr;
}

std::shared_ptr<const RequestSource> make_jsonl(Params& params) {
  const auto counter = read_token_counter_or_null(params);
  const auto output_tokens = params.integer_or_null(
      {"output_tokens", "of lines without output_tokens (vLLM's --custom-output-len is of all lines)"},
      {1, max_tokens});
  const auto source = trace_file(params, [counter, output_tokens](auto text, auto& file) {
    return read_jsonl(text, file, counter.get(), output_tokens);
  });
  return counter || !params.has("tokens") ? source : nullptr;
}

}  // namespace weir
