// Files of OpenAI's batch API (platform.openai.com/docs/api-reference/batch, "The request input object" and
// "The request output object"), which vLLM's run-batch takes and writes too.
#include "workloads/traces/json_records.h"
#include "workloads/traces/readers.h"

namespace weir {
namespace {

// A text, or a list of parts of which some have one.
std::int64_t tokens_of_content(const nlohmann::json& content, const TokenCounter& counter) {
  if (content.is_string()) return counter.count(content.get_ref<const std::string&>());
  std::int64_t tokens = 0;
  if (content.is_array())
    for (const nlohmann::json& part : content)
      if (part.is_object() && part.contains("text") && part["text"].is_string())
        tokens += counter.count(part["text"].get_ref<const std::string&>());
  return tokens;
}

class Batch {
 public:
  Batch(const std::string& file, const TokenCounter* counter, std::optional<std::int64_t> output_tokens)
      : trace_(file), counter_(counter), output_tokens_(output_tokens) {}

  Trace read(std::string_view text) {
    for_each_record(text, trace_, [this](const JsonRecord& record) {
      if (record.has("response"))
        answer(record);
      else if (const auto body = record.object("body"))
        request(*body);
    });
    return trace_.finish();
  }

 private:
  void answer(const JsonRecord& record) {
    const auto response = record.object("response");
    const auto body = response ? response->object("body") : std::nullopt;
    if (!body) return;
    if (!body->has("usage")) return trace_.drop("that failed (no usage)", 0);
    const auto usage = body->object("usage");
    if (!usage) return;
    const auto input = usage->tokens("prompt_tokens"), output = usage->tokens("completion_tokens");
    if (input && output) add(*input, *output);
  }

  void request(const JsonRecord& body) {
    if (!counter_)
      return trace_.problem_once(body.line(), "texts",
                                 "body: has texts, and the scenario has no \"tokens\" to count them by");
    std::int64_t input = 0;
    if (body.has("messages")) {
      for (const JsonRecord& message : body.objects("messages"))
        if (message.has("content")) input += tokens_of_content(*message.value("content"), *counter_);
    } else if (body.has("prompt")) {
      input = tokens_of_content(*body.value("prompt"), *counter_);
    } else {
      return body.lacks("messages", ", nor \"prompt\" instead");
    }
    trace_.note_once(counter_->note());
    auto output = output_tokens_;
    for (const char* limit : {"max_tokens", "max_completion_tokens"})
      if (!output && body.has(limit)) {
        output = body.tokens(limit);
        if (!output) return;
        trace_.note_once("answers are taken to be as long as their requests allow (max_tokens)");
      }
    if (!output) return body.lacks("max_tokens", ", and the scenario has no \"output_tokens\"");
    if (input == 0) return trace_.drop("whose prompt is empty", 0);
    add(input, *output);
  }

  void add(std::int64_t input, std::int64_t output) {
    trace_.no_arrival(0, "a batch comes without arrivals");
    trace_.add({}, input, output);
  }

  TraceBuilder trace_;
  const TokenCounter* counter_;
  std::optional<std::int64_t> output_tokens_;
};

}  // namespace

Trace read_openai_batch(std::string_view text, const std::string& file, const TokenCounter* counter,
                        std::optional<std::int64_t> output_tokens) {
  return Batch(file, counter, output_tokens).read(text);
}

}  // namespace weir
