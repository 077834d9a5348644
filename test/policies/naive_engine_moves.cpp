// KV caches in the GPU's own memory and in its host's: who waits for which, and who goes over.
#include <algorithm>

#include "test/policies/naive_engine.h"

namespace weir {

// Into the GPU's own memory as long as there is room, first come, first served.
void NaiveEngine::place_waiting() {
  std::int64_t room = free_.back();
  const bool reserves = scenario_.admission == Admission::sequence;
  for (const SequenceView& s : running_)
    if (reserves && s.channel == 1) room -= ceil_div(s.final_tokens(), scenario_.block_tokens) - s.blocks;
  for (SequenceView& s : waiting_) {
    room -= ceil_div(reserves ? s.final_tokens() : s.known_tokens, scenario_.block_tokens);
    s.channel = room >= 0;
  }
}

void NaiveEngine::move(const Batch& batch) {
  for (const auto& [request, to] : batch.moves) {
    SequenceView& sequence = running_[running_at(request)];
    if (to == KvMemory::dealt) {
      free_[1] += sequence.blocks, free_[0] -= sequence.blocks;
      sequence.channel = 0;
      ++moves_out;
      continue;
    }
    on_their_way_.push_back({request, sequence.blocks, tick_ + dice_(0, 5)});
    free_[1] -= sequence.blocks;
    sequence.channel = 1;
    sequence.in_flight = true;
    ++moves_in;
  }
}

void NaiveEngine::end_moves() {
  std::erase_if(on_their_way_, [this](const OnItsWay& arrived) {
    if (arrived.due > tick_) return false;
    running_[running_at(arrived.request)].in_flight = false;
    free_[0] += arrived.host_blocks;
    disturbed_ = ++events_;
    was_empty_ = false;
    return true;
  });
}

}  // namespace weir
