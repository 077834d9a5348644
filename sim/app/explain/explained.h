#pragma once
// A request explained: its life in sentences, and what its TTFT, its whole time and its slowest token were
// made of. The parts add up to what requests.csv says.
#include <filesystem>
#include <optional>
#include <vector>

#include "sim/app/explain/tale.h"

namespace weir {

struct RequestRow {  // of requests.csv
  double arrival = 0;
  std::int64_t input_tokens = 0, output_tokens = 0;
  std::optional<double> ttft_ms, e2el_ms;
  std::string status;
};
std::vector<RequestRow> read_requests(const std::filesystem::path& file);

std::string explained_text(const Tale& tale, const RequestRow& row, std::size_t width);
Json explained_json(const Tale& tale, const RequestRow& row);

}  // namespace weir
