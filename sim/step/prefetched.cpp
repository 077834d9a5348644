#include "sim/step/prefetched.h"

#include <algorithm>
#include <functional>

#include "devices/kernel_shapes.h"

namespace weir {
namespace {

std::size_t reader_of(const OperatorGraph& part, std::size_t fetch) {
  return boost::target(*boost::out_edges(fetch, part).first, part);
}

}  // namespace

Prefetched::Prefetched(const Rank& rank, const StageStep& step, const StageGraph& placed)
    : rank_(rank), policy_(rank.prefetch), windows_(placed.windows) {
  for (std::size_t p = 0; p < placed.parts.size(); ++p) {
    const OperatorGraph& part = placed.parts[p].operators;
    for (const auto v : boost::make_iterator_range(boost::vertices(part))) {
      if (!part[v].as<Prefetch>()) continue;
      const std::size_t reader = reader_of(part, v);
      Fetch fetch{part[v], part[reader], static_cast<double>(placed.parts[p].times), {}, {}};
      for (const StageStep::Chain& chain : step.chains) {
        fetch.fetch_index.push_back(chain[p] + static_cast<int>(v));
        fetch.reader_index.push_back(chain[p] + static_cast<int>(reader));
      }
      fetches_.push_back(std::move(fetch));
    }
  }
  std::ranges::stable_sort(fetches_, {}, [](const Fetch& f) { return f.window(); });
  const std::size_t n = fetches_.size();
  offered_.assign(step.chains.size(), {std::vector<PrefetchCandidate>(n), std::vector<KernelCost>(n),
                                       std::vector<BytesPerSecond>(n), std::vector<double>(n)});
  fetched_.resize(n);
  nothing_.resize(n);
  reads_.resize(n);
}

std::vector<bool> Prefetched::covered(const OperatorGraph& part) {
  std::vector<bool> covered(boost::num_vertices(part));
  for (const auto v : boost::make_iterator_range(boost::vertices(part)))
    if (part[v].as<Prefetch>()) covered[v] = covered[reader_of(part, v)] = true;
  return covered;
}

// Sub-batches fetch at the same time, each into an equal share.
Bytes Prefetched::share_of_cache() const {
  return rank_.on->spec().cache()->capacity / static_cast<double>(fetches_.front().fetch_index.size());
}

BytesPerSecond Prefetched::beside_a(const KernelCost& communication) const {
  const DeviceSpec& spec = rank_.on->spec();
  if (!policy_->yields() || !(communication.time > Seconds(0))) return rank_.on->spec().cache()->reached();
  const BytesPerSecond reached = spec.own().reached();
  return std::min(rank_.on->spec().cache()->reached(),
                  reached - std::min(communication.moved[own_memory] / communication.time, reached));
}

void Prefetched::offer(Offered& offered, const BatchShape& batch) const {
  int window = -1;
  Bytes beside;
  BytesPerSecond stream;
  for (std::size_t i = 0; i < fetches_.size(); ++i) {
    const Fetch& f = fetches_[i];
    const KernelWork reader = lowered(f.reader, batch);
    offered.uncached[i] = rank_.cost(f.reader, batch);
    if (f.window() != window) {
      window = f.window();
      const KernelCost communication = rank_.cost(windows_[static_cast<std::size_t>(window)], batch);
      stream = beside_a(communication);
      // Beside a sub-batch's collective the other sub-batch computes.
      const bool shared = f.fetch_index.size() > 1;
      beside = shared ? Bytes(0) : stream * communication.time;
    }
    offered.streams[i] = stream;
    offered.asked_for[i] = asked_for(reader);
    offered.candidates[i] = {window, stored_bytes(reader), beside};
  }
}

KernelCost Prefetched::fetch_cost(Bytes bytes, BytesPerSecond stream) const {
  if (!(bytes > Bytes(0))) return {};
  KernelCost cost;
  cost.moved[own_memory] = bytes;
  cost.time = cost.traffic = bytes / stream;
  cost.energy = rank_.on->spec().power.dynamic(Flops(0), bytes, Bytes(0));
  return cost;
}

StepCost Prefetched::set(Timeline& timeline, const StepGraph& graph, std::size_t chain,
                         std::span<const Bytes> fetched) {
  const auto& [candidates, uncached, streams, _] = offered_[chain];
  for (std::size_t i = 0; i < fetches_.size(); ++i) {
    const double asked_for = offered_[chain].asked_for[i];
    reads_[i] = {fetched[i], asked_for * fetched[i], {}, {}, {}};
  }
  for (std::size_t first = 0, end = 0; first < fetches_.size(); first = end) {
    while (end < fetches_.size() && candidates[end].window == candidates[first].window) ++end;
    find_hits(share_of_cache(), {reads_.data() + first, end - first});
  }
  const DeviceSpec& spec = rank_.on->spec();
  StepCost sum;
  for (std::size_t i = 0; i < fetches_.size(); ++i) {
    const Fetch& f = fetches_[i];
    const CachedRead& read = reads_[i];
    const KernelCost fetch = fetch_cost(read.fetched, streams[i]);
    KernelCost reader = reading_from_cache(uncached[i], read.hits, rank_.on->spec().cache()->bandwidth);
    reader.energy -= spec.power.dynamic(Flops(0), read.hits, Bytes(0));
    set_cost(timeline, graph, f.fetch_index[chain], fetch);
    set_cost(timeline, graph, f.reader_index[chain], reader);
    sum += attributed(fetch, f.fetch, f.times);
    sum += attributed(reader, f.reader, f.times);
    sum.prefetch += f.times * PrefetchBytes{read.fetched, read.hits, read.evicted, read.left};
  }
  return sum;
}

StepCost Prefetched::fill(Timeline& timeline, const StepGraph& graph, std::span<const BatchShape> chains) {
  StepCost sum;
  if (fetches_.empty()) return sum;
  for (std::size_t c = 0; c < chains.size(); ++c) offer(offered_[c], chains[c]);
  std::size_t cleared = 1;
  for (std::size_t c = 0; c < chains.size(); ++c) {
    const auto play = [&](std::span<const Bytes> fetched) {
      // Clears the amounts that the step before left there.
      for (; cleared < chains.size(); ++cleared) set(timeline, graph, cleared, nothing_);
      set(timeline, graph, c, fetched);
      return timeline.evaluate({.causes = false}).total;
    };
    const std::function<Seconds(std::span<const Bytes>)> step_time = std::cref(play);
    policy_->choose({share_of_cache(), offered_[c].candidates, step_time}, fetched_);
    sum += set(timeline, graph, c, fetched_);
  }
  return sum;
}

}  // namespace weir
