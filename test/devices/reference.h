#pragma once
// Measured kernels of the reference folder (WEIR_REFERENCE) as operators, batches and what a device says of
// them: for the tests of kernel accuracy and whoever reports it.
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "devices/device.h"

namespace weir::test {

// The folder, or "" where there is none: the caller then skips, with a message.
std::filesystem::path reference_folder();

struct CsvRow {
  std::map<std::string, std::string> cells;
  const std::string& text(const std::string& column) const { return cells.at(column); }
  double number(const std::string& column) const { return std::stod(cells.at(column)); }
};
std::vector<CsvRow> read_reference(const std::string& file);

struct Comparison {
  std::string group;           // "gemm h100_sxm bf16"
  double measured, simulated;  // seconds
};

struct GroupError {
  int rows = 0;
  double mean_absolute = 0, bias = 0;  // of simulated / measured - 1
};
std::map<std::string, GroupError> errors_by_group(const std::vector<Comparison>& all);

std::vector<Comparison> compare_gemms();        // gemm_vllm.csv, Vidur's gemm_*.csv, the profiles' matrices
std::vector<Comparison> compare_attention();    // H100, A100, the profiles (decode, prefill, mixed)
std::vector<Comparison> compare_elementwise();  // the profiles
std::vector<Comparison> compare_collectives();  // collectives.csv, send_recv.csv

std::shared_ptr<const Device> catalog_device(const std::string& kind, const Json& overrides = Json::object());
Operator gemm_operator(std::int64_t in, std::int64_t out, DataType weights = DataType::bf16,
                       DataType activations = DataType::bf16);
Operator attention_operator(std::int64_t query_heads, std::int64_t kv_heads, std::int64_t head_dim = 128);
BatchShape decode_batch(std::int64_t requests, std::int64_t context);
const CollectiveModel& no_links();

}  // namespace weir::test
