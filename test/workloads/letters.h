#pragma once
#include "workloads/traces/readers.h"

namespace weir::test {

// One token a byte, so that one can count them by eye.
class Letters : public TokenCounter {
 public:
  std::int64_t count(std::string_view text) const override { return std::ssize(text); }
  std::string note() const override { return "letters"; }
};

}  // namespace weir::test
