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

// Names by place: from 0 on those that run, then those that wait.
inline void number(std::vector<SequenceView>& running, std::vector<SequenceView>& waiting) {
  std::int32_t name = 0;
  for (std::vector<SequenceView>* sequences : {&running, &waiting})
    for (SequenceView& sequence : *sequences) sequence.request = name++;
}

}  // namespace weir::test
