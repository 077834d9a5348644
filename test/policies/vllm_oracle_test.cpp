// The policies against the schedulers they stand for: vLLM's schedule() loops written out once more as they
// read, with its names, queues and one-block-at-a-time bookkeeping, without what Weir leaves out (prefix
// caching, speculation, LoRA, encoders). vllm-project/vllm: vllm/v1/core/sched/scheduler.py at 00024d3,
// vllm/core/scheduler.py at 0054e1f.
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

#include "test/policies/dice.h"
#include "test/policies/naive_engine.h"
#include "test/policies/slices.h"

using namespace weir;

namespace {

struct VllmRequest {
  int id;  // SequenceView::request
  std::int64_t num_tokens, num_computed_tokens, blocks;
};

struct KvCacheManager {
  std::int64_t block_size, free_blocks, watermark_blocks = 0;
  bool can_hold(const VllmRequest& r, std::int64_t tokens) const {
    std::int64_t lacking = 0;
    while ((r.blocks + lacking) * block_size < tokens) ++lacking;
    return free_blocks - lacking >= watermark_blocks;
  }
  bool allocate_slots(VllmRequest& r, std::int64_t num_new_tokens) {
    if (!can_hold(r, r.num_computed_tokens + num_new_tokens)) return false;
    while (r.blocks * block_size < r.num_computed_tokens + num_new_tokens) {
      ++r.blocks;
      --free_blocks;
    }
    return true;
  }
};

struct VllmState {
  std::vector<VllmRequest> running;
  std::deque<VllmRequest> waiting;
  KvCacheManager kv_cache_manager;
};

VllmState state_of(const ServingView& view) {
  VllmState state{{}, {}, {view.block_tokens, view.free_blocks[0]}};
  for (const auto& s : view.running)
    state.running.push_back({s.request, s.known_tokens, s.computed_tokens, s.blocks});
  for (const auto& s : view.waiting)
    state.waiting.push_back({s.request, s.known_tokens, s.computed_tokens, s.blocks});
  return state;
}

Batch vllm_v1(const ServingView& view, std::int64_t max_num_running_reqs,
              std::int64_t max_num_scheduled_tokens) {
  auto [running, waiting, kv_cache_manager] = state_of(view);
  Batch output;
  std::int64_t token_budget = max_num_scheduled_tokens;
  bool preempted_reqs = false;
  std::size_t req_index = 0;
  while (req_index < running.size() && token_budget > 0) {
    const int request = running[req_index].id;
    const std::int64_t num_new_tokens =
        std::min(running[req_index].num_tokens - running[req_index].num_computed_tokens, token_budget);
    if (num_new_tokens == 0) {
      ++req_index;
      continue;
    }
    bool scheduled = false;
    while (true) {
      if (kv_cache_manager.allocate_slots(running[req_index], num_new_tokens)) {
        scheduled = true;
        break;
      }
      const VllmRequest preempted_req = running.back();
      running.pop_back();
      kv_cache_manager.free_blocks += preempted_req.blocks;
      output.preempted.push_back(preempted_req.id);
      preempted_reqs = true;
      if (preempted_req.id == request) break;
    }
    if (!scheduled) break;
    output.slices.push_back({request, num_new_tokens});
    token_budget -= num_new_tokens;
    ++req_index;
  }
  if (preempted_reqs) return output;
  while (!waiting.empty() && token_budget > 0) {
    if (static_cast<std::int64_t>(running.size()) == max_num_running_reqs) break;
    VllmRequest request = waiting.front();
    const std::int64_t num_new_tokens =
        std::min(request.num_tokens - request.num_computed_tokens, token_budget);
    // scheduler_reserve_full_isl, SchedulerConfig, newer than the commit above
    if (view.admission == Admission::prompt && !kv_cache_manager.can_hold(request, request.num_tokens)) break;
    if (!kv_cache_manager.allocate_slots(request, num_new_tokens)) break;
    waiting.pop_front();
    running.push_back(request);
    output.slices.push_back({request.id, num_new_tokens});
    output.admitted.push_back(request.id);
    token_budget -= num_new_tokens;
  }
  return output;
}

Batch vllm_v0(const ServingView& view, std::int64_t max_num_seqs, std::int64_t max_num_batched_tokens) {
  auto state = state_of(view);
  auto& running = state.running;
  auto& waiting = state.waiting;
  auto& block_manager = state.kv_cache_manager;
  Batch output;
  std::int64_t num_batched_tokens = 0, num_curr_seqs = static_cast<std::int64_t>(running.size());
  block_manager.watermark_blocks = static_cast<std::int64_t>(0.01 * static_cast<double>(view.total_blocks));
  const auto schedule_waiting = [&](bool swapped) {
    while (!waiting.empty() && (waiting.front().num_computed_tokens > 0) == swapped) {
      VllmRequest& seq_group = waiting.front();
      const std::int64_t num_new_tokens = seq_group.num_tokens - seq_group.num_computed_tokens;
      if (!block_manager.can_hold(seq_group, seq_group.num_tokens)) break;
      if (num_batched_tokens + num_new_tokens > max_num_batched_tokens || num_curr_seqs + 1 > max_num_seqs)
        break;
      block_manager.allocate_slots(seq_group, num_new_tokens);
      num_batched_tokens += num_new_tokens;
      ++num_curr_seqs;
      output.slices.push_back({seq_group.id, num_new_tokens});
      output.admitted.push_back(seq_group.id);
      waiting.pop_front();
    }
  };
  const bool any_swapped = !waiting.empty() && waiting.front().num_computed_tokens > 0;
  if (!any_swapped) schedule_waiting(false);
  if (!output.slices.empty()) return output;
  std::deque<VllmRequest> running_queue(running.begin(), running.end());
  KvCacheManager append = block_manager;  // running sequences may use the watermark
  append.watermark_blocks = 0;
  while (!running_queue.empty()) {
    VllmRequest seq_group = running_queue.front();
    running_queue.pop_front();
    bool appended = false;
    while (!(appended = append.allocate_slots(seq_group, 1))) {
      const VllmRequest victim = running_queue.empty() ? seq_group : running_queue.back();
      if (!running_queue.empty()) running_queue.pop_back();
      append.free_blocks += victim.blocks;
      output.preempted.push_back(victim.id);
      if (victim.id == seq_group.id) break;
    }
    if (!appended) break;
    output.slices.push_back({seq_group.id, 1});
    ++num_batched_tokens;
  }
  block_manager.free_blocks = append.free_blocks;
  if (output.preempted.empty()) schedule_waiting(true);
  return output;
}

void require_same(const Batch& ours, const Batch& theirs) {
  REQUIRE(ours.preempted == theirs.preempted);
  REQUIRE(ours.admitted == theirs.admitted);
  REQUIRE(ours.slices.size() == theirs.slices.size());
  for (std::size_t i = 0; i < ours.slices.size(); ++i) {
    REQUIRE(ours.slices[i].request == theirs.slices[i].request);
    REQUIRE(ours.slices[i].tokens == theirs.slices[i].tokens);
  }
}

struct RandomState {
  std::vector<SequenceView> running, waiting;
  ServingView view;
  std::int64_t requests, tokens, free = 0;

  RandomState(unsigned seed, bool chunks) {
    Dice dice(seed);
    requests = dice(1, 12);
    tokens = requests + dice(0, 40);
    const std::int64_t block_tokens = dice(1, 9);
    std::int64_t held = 0;
    for (std::int64_t n = dice(0, requests); n > 0; --n) {
      const std::int64_t known = dice(2, 50);
      const std::int64_t computed = chunks && dice(0, 3) == 0 ? dice(1, known - 1) : known - 1;
      const std::int64_t blocks = (computed + block_tokens - 1) / block_tokens;
      running.push_back({known, 60, known, computed, blocks, false, 0, known});
      held += blocks;
    }
    std::int64_t swapped = dice(0, 2) == 0 ? dice(0, 2) : 0;
    for (std::int64_t n = dice(0, 6); n > 0; --n, --swapped) {
      const std::int64_t known = dice(1, 40);
      waiting.push_back({known, 60, known, swapped > 0 ? known - 1 : 0, 0, false, 0, 0});
      waiting.back().elsewhere = waiting.back().computed_tokens > 0;
    }
    test::number(running, waiting);
    free = dice(0, dice(0, 1) ? 3 : 20);
    const std::int64_t others = dice(0, 2) ? 0 : dice(0, 600);
    view = {running,
            waiting,
            {&free, 1},
            held + free + others,
            block_tokens,
            dice(0, 1) ? Admission::chunk : Admission::prompt,
            1};
  }
};

}  // namespace

TEST_CASE("chunked_prefill, and priority of one class: decide as vLLM v1 does, in any state", "[batching]") {
  std::int64_t preempted = 0, admitted = 0, cut = 0;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    const RandomState state(seed, true);
    INFO("seed " << seed);
    Batch ours;
    make_policy("chunked_prefill", state.requests, state.tokens)->next(state.view, ours);
    const Batch theirs = vllm_v1(state.view, state.requests, state.tokens);
    require_same(ours, theirs);
    Batch of_one_class;
    make_policy("priority", state.requests, state.tokens)->next(state.view, of_one_class);
    require_same(of_one_class, theirs);
    preempted += std::ssize(ours.preempted);
    admitted += std::ssize(ours.admitted);
    for (const Slice& slice : ours.slices) {
      const auto i = static_cast<std::size_t>(slice.request);
      const auto& all = i < state.running.size() ? state.running[i] : state.waiting[i - state.running.size()];
      cut += slice.tokens < all.pending();
    }
  }
  CHECK((preempted > 1000 && admitted > 1000 && cut > 1000));
}

TEST_CASE("prefill_first: decides as vLLM v0's _schedule_default() does, in any state", "[batching]") {
  std::int64_t preempted = 0, prompts = 0, swapped_in = 0;
  for (unsigned seed = 0; seed < 20'000; ++seed) {
    const RandomState state(seed, false);
    INFO("seed " << seed);
    Batch ours;
    make_policy("prefill_first", state.requests, state.tokens)->next(state.view, ours);
    require_same(ours, vllm_v0(state.view, state.requests, state.tokens));
    preempted += std::ssize(ours.preempted);
    if (!ours.admitted.empty())
      (state.waiting[0].computed_tokens > 0 ? swapped_in : prompts) += std::ssize(ours.admitted);
  }
  CHECK((preempted > 1000 && prompts > 1000 && swapped_in > 100));
}

TEST_CASE("chunked_prefill: follows vLLM v1 step by step through whole runs", "[batching]") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    NaiveScenario scenario;
    scenario.max_batch_requests = 6;
    scenario.max_batch_tokens = 6 + dice(0, 29);
    scenario.total_blocks = 25;
    std::int64_t tick = 0;
    for (int r = 0; r < 15; ++r) {
      scenario.arrivals.push_back(tick += dice(0, 4));
      scenario.inputs.push_back(dice(1, 50));
      scenario.outputs.push_back(dice(1, 30));
    }
    INFO("seed " << seed << ": " << scenario.text());
    NaiveEngine engine(scenario);
    Batch theirs;
    do {
      theirs = vllm_v1(engine.view(), scenario.max_batch_requests, scenario.max_batch_tokens);
      Batch ours;
      make_policy(scenario.kind, scenario.max_batch_requests, scenario.max_batch_tokens)
          ->next(engine.view(), ours);
      require_same(ours, theirs);
    } while (engine.step());
  }
}
