#pragma once
// Questions of a test's making for weir plan, small enough to be answered by trying everything.
#include <fmt/format.h>

#include <fstream>

#include "test/app/run_weir.h"

namespace weir::test {

// llama3.1-8b without a cluster: `requests` of them at this rate, with these times.
inline Json plan_question(double rate_per_s, double ttft_ms, double tpot_ms, int requests = 150) {
  return {{"model", "llama3.1-8b"},
          {"workload",
           {{"requests", {{"kind", "named"}, {"name", "sharegpt_history"}, {"count", requests}}},
            {"arrivals", {{"kind", "poisson"}, {"rate_per_s", rate_per_s}}}}},
          {"slo", {{"ttft_ms", ttft_ms}, {"tpot_ms", tpot_ms}}}};
}

inline std::string write_json(const std::filesystem::path& file, const Json& json) {
  return write(file, json.dump(2));
}

inline Ended run_plan_of(const ScratchDirectory& scratch, const Json& question,
                         const std::vector<std::string>& more) {
  std::vector<std::string> words = {"plan", write_json(scratch / "question.json", question), "--out",
                                    (scratch / "out").string()};
  words.insert(words.end(), more.begin(), more.end());
  return run_weir(words);
}

}  // namespace weir::test
