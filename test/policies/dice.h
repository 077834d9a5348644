#pragma once
// Random whole numbers for tests over random inputs; the same seed, the same numbers.
#include <cstdint>
#include <random>

namespace weir {

class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  std::int64_t operator()(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace weir
