#include "workloads/benchmarks/benchmark_result.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/json/bounded_json.h"
#include "workloads/benchmarks/result_fields.h"
#include "workloads/traces/known_formats.h"

namespace weir {
namespace {

using nlohmann::json;

// Problems told of one file; more of the same do not help.
[[noreturn]] void refuse(const std::string& file, std::vector<Problem> problems) {
  constexpr std::size_t listed = 10;
  if (problems.size() > listed) {
    const std::size_t more = problems.size() - listed;
    problems.resize(listed);
    problems.push_back({"", fmt::format("and {} more such problems", more)});
  }
  throw ConfigError(file, std::move(problems));
}

// Python writes Infinity and NaN, which JSON has not: SGLang's request_rate is one where all come at once.
std::string as_json(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!quoted && text.substr(i).starts_with("-Infinity")) {
      out += "\"-inf\"";
      i += std::string_view("-Infinity").size() - 1;
      continue;
    }
    if (!quoted && text.substr(i).starts_with("Infinity")) {
      out += "\"inf\"";
      i += std::string_view("Infinity").size() - 1;
      continue;
    }
    if (!quoted && text.substr(i).starts_with("NaN")) {
      out += "\"NaN\"";
      i += std::string_view("NaN").size() - 1;
      continue;
    }
    out += text[i];
    if (text[i] == '"') quoted = !quoted;
    if (quoted && text[i] == '\\' && i + 1 < text.size()) out += text[++i];
  }
  return out;
}

struct Document {
  json object;
  std::string pointer;  // "", or "line 3" of JSON Lines
};

// The whole file is one object or a list of them, or each of its lines is one.
std::vector<Document> documents_of(std::string_view text, const std::string& file) {
  std::vector<Document> documents;
  std::vector<Problem> problems;
  const auto parse = [&](std::string_view part, const std::string& pointer) {
    try {
      json parsed = parse_bounded<json>(as_json(part));
      if (parsed.is_object()) return documents.push_back({std::move(parsed), pointer}), true;
      if (parsed.is_array() && !parsed.empty() && pointer.empty() &&
          std::ranges::all_of(parsed, [](const json& one) { return one.is_object(); })) {
        for (std::size_t i = 0; i < parsed.size(); ++i)
          documents.push_back({std::move(parsed[i]), fmt::format("/{}", i)});
        return true;
      }
      problems.push_back({pointer, "expected an object, got " + printable(part)});
    } catch (const TooDeep& e) {
      problems.push_back({pointer, e.what()});
    } catch (const json::exception&) {
      problems.push_back({pointer, "is not valid JSON"});
    }
    return false;
  };
  if (parse(text, "")) return documents;
  const std::vector<Problem> of_all = std::exchange(problems, {});
  std::size_t line = 0;
  for (std::size_t at = 0; at < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view part = text.substr(at, end - at);
    at = end + 1;
    if (part.find_first_not_of(" \t\r") == part.npos) continue;
    if (!parse(part, fmt::format("line {}", line + 1)) && documents.empty())
      throw ConfigError(file, of_all);  // no JSON Lines either
  }
  if (!problems.empty() || documents.empty()) refuse(file, problems.empty() ? of_all : problems);
  return documents;
}

std::string known_formats() {
  return "expected what vLLM's or SGLang's serving benchmark, AIPerf, genai-perf, GuideLLM, inference-perf, "
         "LLMPerf or trtllm-bench writes";
}

std::string list_of(const std::vector<BenchmarkResult>& results) {
  std::string list;
  constexpr std::size_t most = 10;
  for (std::size_t i = 0; i < std::min(most, results.size()); ++i) {
    const BenchmarkLoad& load = results[i].load;
    list += fmt::format("{}{}: ", i ? ", " : "", i);
    if (!load.unknown.empty())
      list += "?";
    else if (std::isfinite(load.request_rate))
      list += fmt::format("{:.4g}/s{}", load.request_rate,
                          load.concurrency ? fmt::format(", at most {} in flight", *load.concurrency) : "");
    else
      list += load.concurrency ? fmt::format("{} in flight", *load.concurrency) : "all at once";
  }
  return list + (results.size() > most ? ", ..." : "");
}

// No reader knows such a result; perhaps the file is another known one.
std::string no_result(std::string_view text) {
  const KnownFormat* format = known_format(text);
  return format ? what_it_is(*format) + ", and no result of a benchmark: " + known_formats()
                : "is no result of a benchmark: " + known_formats();
}

void note_unread(const Document& document, const std::set<std::string>& read, BenchmarkResult& benchmark) {
  constexpr std::size_t most = 12;
  std::vector<std::string> names = unread_latencies(document.object, document.pointer, read);
  if (names.empty()) return;
  const std::size_t more = names.size() > most ? names.size() - most : 0;
  names.resize(names.size() - more);
  for (std::string& name : names) name = shortened(name, 40);
  benchmark.notes.push_back(fmt::format("not read of its times: {}{}", fmt::join(names, ", "),
                                        more > 0 ? fmt::format(" and {} more", more) : ""));
}

}  // namespace

std::int64_t BenchmarkResult::empty_answers() const {
  return std::ranges::count(requests, 0, &BenchmarkedRequest::output_tokens);
}

bool BenchmarkResult::some_ttft_left_out() const {
  const auto has = [](const BenchmarkedRequest& request) { return request.ttft_ms.has_value(); };
  const auto count = std::ranges::count_if(requests, has);
  return count > 0 && count < std::ssize(requests);
}

const std::vector<ResultFormat>& result_formats() {
  static const std::vector<ResultFormat> formats = {{is_guidellm_report, read_guidellm_report},
                                                    {is_aiperf_record, read_aiperf_record},
                                                    {is_inference_perf_summary, read_inference_perf_summary},
                                                    {is_inference_perf_request, read_inference_perf_request},
                                                    {is_llmperf_summary, read_llmperf_summary},
                                                    {is_llmperf_request, read_llmperf_request},
                                                    {is_trtllm_report, read_trtllm_report},
                                                    {is_aiperf_summary, read_aiperf_summary},
                                                    {is_served_benchmark, read_served_benchmark}};
  return formats;
}

std::vector<BenchmarkResult> read_benchmarks(std::string_view text, const std::string& file) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<BenchmarkResult> results;
  std::vector<Problem> problems;
  std::size_t of_no_format = 0;
  bool first = true;
  for (const Document& document : documents_of(text, file)) {
    const auto format = std::ranges::find_if(
        result_formats(), [&](const ResultFormat& one) { return one.is(document.object); });
    if (format == result_formats().end()) {
      if (++of_no_format == 1) problems.push_back({document.pointer, no_result(text)});
      continue;
    }
    std::set<std::string> read;
    format->read(ResultFields(document.object, document.pointer, problems, first ? &read : nullptr), results);
    if (first && !results.empty()) note_unread(document, read, results.back());
    first = false;
  }
  if (of_no_format > 1) problems.front().what += fmt::format("; {} such objects", of_no_format);
  for (std::size_t i = 0; i < results.size(); ++i)
    check_plausible(results[i], results.size() > 1 ? fmt::format("result {}", i) : "", problems);
  if (!problems.empty()) refuse(file, std::move(problems));
  if (results.empty()) throw ConfigError(file, "", "holds no result: " + known_formats());
  return results;
}

const BenchmarkResult& the_one(const std::vector<BenchmarkResult>& results, std::optional<std::int64_t> given,
                               std::string_view key, const std::string& file) {
  if (!given && results.size() > 1)
    throw ConfigError(
        file, "", fmt::format("holds {} results ({}): {} says which", results.size(), list_of(results), key));
  if (given && *given >= std::ssize(results))
    throw ConfigError(file, "",
                      fmt::format("holds {} results; there is no result {}", results.size(), *given));
  return results[static_cast<std::size_t>(given.value_or(0))];
}

Trace read_benchmark_trace(std::string_view text, const std::string& file, std::string_view tool,
                           std::optional<std::int64_t> result) {
  const std::vector<BenchmarkResult> results = read_benchmarks(text, file);
  const BenchmarkResult& benchmark = the_one(results, result, "`result`", file);
  if (benchmark.tool != tool)
    throw ConfigError(file, "",
                      fmt::format("is a result of {0}, not of {1}{2}", benchmark.tool, tool,
                                  benchmark.no_requests.empty()
                                      ? fmt::format(": requests of kind \"{}\" read it", benchmark.tool)
                                      : ""));
  if (!benchmark.no_requests.empty()) throw ConfigError(file, "", benchmark.no_requests);
  TraceBuilder trace(file);
  for (std::int64_t i = 0; i < benchmark.failed; ++i)
    trace.drop("that failed in the benchmark", i == 0 ? benchmark.failed_input_tokens : 0);
  double first = max_arrival_s;
  for (const BenchmarkedRequest& request : benchmark.requests)
    first = std::min(first, request.sent_s.value_or(max_arrival_s));
  for (const BenchmarkedRequest& request : benchmark.requests) {
    if (!request.sent_s) trace.no_arrival(0, "the result does not say when each request was sent");
    const auto sent = request.sent_s ? std::optional(*request.sent_s - first) : std::nullopt;
    trace.add(sent, request.input_tokens, std::max<std::int64_t>(1, request.output_tokens));
  }
  for (const std::string& note : benchmark.notes) trace.note_once(note);
  if (const std::int64_t empty = benchmark.empty_answers(); empty > 0) {
    std::int64_t tokens = 0;
    for (const BenchmarkedRequest& request : benchmark.requests)
      tokens += request.output_tokens == 0 ? request.input_tokens : 0;
    trace.note_once(
        fmt::format("{} answers of 0 tokens did not fail: they are played as 1 token, behind their {} "
                    "prompt tokens",
                    empty, tokens));
  }
  Trace read = trace.finish();
  read.load = benchmark.load;
  return read;
}

}  // namespace weir
