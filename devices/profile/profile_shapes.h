#pragma once
// Tables of a profile folder that know kernels by their shapes, whatever layers these are of: gemm.csv
// (type,m,n,k,time_us), moe.csv with the columns of a block of experts, mla.csv. Plain numbers, read by
// profile_bundle.cpp, used by profiled.cpp.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "devices/profile/profile_tables.h"
#include "models/machine/data_type.h"
#include "sim/core/errors.h"

namespace weir {

// "fp8", or "int4/bf16" where weights and activations differ.
struct GemmTypes {
  DataType weights = DataType::bf16, activations = DataType::bf16;
  bool operator==(const GemmTypes&) const = default;
};

struct MeasuredGemm {
  double m, n, k, seconds;  // m rows of k numbers by n columns
};
struct GemmTimes {
  GemmTypes types;
  std::vector<MeasuredGemm> rows;
};
std::vector<GemmTimes> read_gemms(const std::filesystem::path& file, std::vector<Problem>& problems);

// Both matrices of a layer's experts and what is between and behind them, on one rank. Its tokens are those
// of all ranks that share the experts.
struct ExpertBlock {
  GemmTypes types;
  std::int64_t hidden = 0, inter = 0;  // inter: of this rank
  std::int64_t active = 0, total = 0, ep = 1;
  bool operator==(const ExpertBlock&) const = default;
};
struct ExpertTimes {
  ExpertBlock block;
  std::string distribution;  // balanced, uniform, power_law_1.2, power_law_1.2_eplb
  Curve times;               // seconds by tokens, both in logarithms
};
// Each block has the distributions that were measured, the nearest to a router's even random choice first.
std::vector<ExpertTimes> read_expert_blocks(const std::filesystem::path& file,
                                            std::vector<Problem>& problems);

// Checks the file as the others are, and counts its rows: each is several kernels of a model here.
std::size_t check_latent_attention(const std::filesystem::path& file, std::vector<Problem>& problems);

// Values over two axes and a third one, all in logarithms: linear between knots. Beyond the outer ones of the
// first two axes, and beyond the last of the third, the value stays; before the first of the third it is 0.
// Where the grid has holes what is there counts, or, at no corner, the nearest point that is.
class LogGrid {
 public:
  void add(double a, double b, double c, double value);
  bool sort();  // before at(); false if a point was given twice
  double at(double a, double b, double c) const;
  bool empty() const { return grid_.knots.empty(); }

 private:
  const Curve& nearest(double a, double b) const;

  Axis<Axis<Curve>> grid_;
  std::vector<double> b_;  // all knots of the second axis
};

}  // namespace weir
