#pragma once
// Table I of the paper: what the types of operators take of a step's time and of its accesses of main memory,
// in per cent, and how often a step runs them. Of each half it names five types.
#include <optional>
#include <vector>

#include "models/nn/operator_type.h"

namespace weir::hetero_pim {

struct ProfiledType {
  OperatorType type;
  int invocations;
  std::optional<double> time, accesses;
};
struct ProfiledNet {
  const char* net;
  std::vector<ProfiledType> types;
  double other_time, other_accesses;  // of all types that the half does not name
  int types_in_all;
};

inline const std::vector<ProfiledNet> table1 = {
    {"vgg19",
     {{OperatorType::conv2d_backprop_filter, 16, 40.15, 42.52},
      {OperatorType::conv2d_backprop_input, 15, 32.68, 21.06},
      {OperatorType::bias_add_grad, 16, 11.92, 35.68},
      {OperatorType::conv2d, 16, 10.34, {}},
      {OperatorType::max_pool_grad, 16, 1.49, 0.22},
      {OperatorType::relu, 19, {}, 0.14}},
     3.37,
     0.38,
     18},
    {"alexnet",
     {{OperatorType::conv2d_backprop_filter, 5, 33.64, 14.79},
      {OperatorType::conv2d_backprop_input, 4, 33.46, 36.61},
      {OperatorType::mat_mul, 6, 13.54, {}},
      {OperatorType::conv2d, 5, 10.48, 0.46},
      {OperatorType::bias_add_grad, 3, 4.62, 44.64},
      {OperatorType::relu, 8, {}, 1.20}},
     4.26,
     2.30,
     18},
    {"dcgan",
     {{OperatorType::conv2d_backprop_filter, 4, 19.98, 37.21},
      {OperatorType::conv2d_backprop_input, 4, 17.18, 28.09},
      {OperatorType::mat_mul, 12, 14.28, {}},
      {OperatorType::conv2d, 4, 10.53, 5.45},
      {OperatorType::mul, 84, 9.89, 2.22},
      {OperatorType::slice, 14, {}, 17.18}},
     28.14,
     9.85,
     52},
};

}  // namespace weir::hetero_pim
