#pragma once
#include <vector>

#include "policies/batching/batching.h"

namespace weir::test {

// A field of every slice of a batch, in order.
template <class T>
std::vector<T> of_slices(const Batch& batch, T Slice::*field) {
  std::vector<T> all;
  for (const Slice& slice : batch.slices) all.push_back(slice.*field);
  return all;
}

}  // namespace weir::test
