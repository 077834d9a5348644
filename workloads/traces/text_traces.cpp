#include <array>

#include "workloads/traces/json_records.h"
#include "workloads/traces/readers.h"

namespace weir {
namespace {

// A published set of texts becomes requests here: counted, without arrivals, none of zero tokens.
class TextTrace {
 public:
  TextTrace(const std::string& file, const TokenCounter& counter) : trace_(file), counter_(counter) {}

  std::int64_t count(std::optional<std::string_view> text) const { return text ? counter_.count(*text) : 0; }

  void add(std::int64_t input, std::int64_t output) {
    if (input == 0 || output == 0) return trace_.drop("whose prompt or answer is empty", input);
    trace_.no_arrival(0, "texts come without arrivals");
    trace_.add({}, input, output);
  }
  void drop(std::string_view why, std::int64_t tokens) { trace_.drop(why, tokens); }

  template <class Read>
  Trace read(std::string_view text, Read read) {
    for_each_record(text, trace_, read);
    trace_.note_once(counter_.note());
    return trace_.finish();
  }

 private:
  TraceBuilder trace_;
  const TokenCounter& counter_;
};

// The names of those who answer, as ShareGPT collections and those made after them write it; all others ask.
bool answers(std::string_view who) {
  constexpr std::array<std::string_view, 8> names = {"gpt",  "chatgpt", "assistant",     "model",
                                                     "bing", "bard",    "function_call", "claude"};
  return std::find(names.begin(), names.end(), who) != names.end();
}

}  // namespace

Trace read_conversations(std::string_view text, const std::string& file, const TokenCounter& counter,
                         bool history) {
  TextTrace trace(file, counter);
  return trace.read(text, [&](const JsonRecord& record) {
    // LMSYS-Chat-1M and WildChat have `conversation`, OpenAI's fine-tuning files `messages`.
    const char* turns = "conversations";
    for (const char* name : {"messages", "conversation"})
      if (record.has(name) && !record.has("conversations")) turns = name;
    std::int64_t prompt = 0, before = 0;  // tokens since the last answer; up to and with it
    bool asked = false;
    for (const JsonRecord& turn : record.objects(turns)) {
      const bool open_ai = turn.has("role");  // {"role", "content"}; ShareGPT has {"from", "value"}
      const auto who = turn.text(open_ai ? "role" : "from");
      const std::int64_t tokens = trace.count(turn.text(open_ai ? "content" : "value"));
      if (!who || !answers(*who)) {
        prompt += tokens;
        asked = true;
        continue;
      }
      if (asked || (history && before > 0))
        trace.add(history ? before + prompt : prompt, tokens);
      else
        trace.drop("that answer nothing", 0);
      before += prompt + tokens;
      prompt = 0;
      asked = false;
    }
    if (asked) trace.drop("that are never answered", history ? before + prompt : prompt);
  });
}

// alpaca_data.json of tatsu-lab/stanford_alpaca: the input is often empty.
Trace read_alpaca(std::string_view text, const std::string& file, const TokenCounter& counter) {
  TextTrace trace(file, counter);
  return trace.read(text, [&](const JsonRecord& record) {
    const std::int64_t context = record.has("input") ? trace.count(record.text("input")) : 0;
    trace.add(trace.count(record.text("instruction")) + context, trace.count(record.text("output")));
  });
}

// open-r1/OpenR1-Math-220k: several generations of one problem, each a request, for each was generated.
Trace read_openr1(std::string_view text, const std::string& file, const TokenCounter& counter) {
  TextTrace trace(file, counter);
  return trace.read(text, [&](const JsonRecord& record) {
    const std::int64_t problem = trace.count(record.text("problem"));
    const nlohmann::json* generations = record.list("generations");
    if (!generations) return;
    for (const nlohmann::json& generation : *generations)
      trace.add(problem, generation.is_string() ? trace.count(generation.get_ref<const std::string&>()) : 0);
  });
}

// cognitivecomputations/dolphin-r1, the reasoning sets. The names of its fields are unverified.
Trace read_dolphin_r1(std::string_view text, const std::string& file, const TokenCounter& counter) {
  TextTrace trace(file, counter);
  return trace.read(text, [&](const JsonRecord& record) {
    std::int64_t prompt = 0;
    for (const JsonRecord& message : record.objects("messages"))
      prompt += trace.count(message.text("content"));
    trace.add(prompt, trace.count(record.text("reasoning")) + trace.count(record.text("answer")));
  });
}

// THUDM/LongBench: a question on a long context; the first of the answers is the output.
Trace read_longbench(std::string_view text, const std::string& file, const TokenCounter& counter) {
  TextTrace trace(file, counter);
  return trace.read(text, [&](const JsonRecord& record) {
    const std::int64_t prompt = trace.count(record.text("context")) + trace.count(record.text("input"));
    const nlohmann::json* given = record.list("answers");
    if (!given) return;
    const bool usable = !given->empty() && given->front().is_string();
    trace.add(prompt, usable ? trace.count(given->front().get_ref<const std::string&>()) : 0);
  });
}

// CustomDataset in vllm/benchmarks/datasets/datasets.py of vllm-project/vllm, as of commit 003cf0297cf6:
// "prompt", and "output_tokens" where --custom-output-len is not given. vLLM shuffles the lines unless it is
// told --disable-shuffle, and counts its chat template, too, unless --skip-chat-template. "input_tokens",
// "arrival_s" and "priority" are this simulator's own.
Trace read_jsonl(std::string_view text, const std::string& file, const TokenCounter* counter,
                 std::optional<std::int64_t> output_tokens) {
  TraceBuilder trace(file);
  const auto prompt = [&](const JsonRecord& record) -> std::optional<std::int64_t> {
    if (record.has("input_tokens")) {
      if (record.has("prompt")) trace.note_once("input_tokens are taken where a line has a prompt, too");
      return record.tokens("input_tokens");
    }
    if (!record.has("prompt")) {
      record.lacks("prompt", ", nor \"input_tokens\" instead");
      return {};
    }
    const auto words = record.text("prompt");
    if (words && !counter)
      trace.problem(record.line(), "prompt: is a text, and the scenario has no \"tokens\" to count it by");
    if (!words || !counter) return {};
    trace.note_once(counter->note());
    return counter->count(*words);
  };
  for_each_record(text, trace, [&](const JsonRecord& record) {
    const auto input = prompt(record);
    auto output = output_tokens;
    if (record.has("output_tokens"))
      output = record.tokens("output_tokens");
    else if (!output)
      record.lacks("output_tokens", ", and the scenario has no \"output_tokens\" for such lines");
    const auto priority = record.has("priority") ? record.priority("priority") : std::optional(0);
    const auto arrival_s = record.has("arrival_s") ? record.seconds("arrival_s", 1) : std::nullopt;
    if (!input || !output || !priority) return;
    if (*input == 0) return trace.drop("whose prompt is empty", 0);
    if (!arrival_s) trace.no_arrival(record.line(), "no field \"arrival_s\"");
    trace.add(arrival_s, *input, *output, *priority);
  });
  return trace.finish();
}

}  // namespace weir
