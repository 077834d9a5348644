#include "models/latency/expert_exchange.h"

#include <algorithm>
#include <stdexcept>

namespace weir {
namespace {

// A rank sends this for its tokens, and its SMs read and write that for them.
struct Sent {
  double inside = 0, between = 0, handled = 0;  // tokens' worth
};

Sent sent_copies(ExchangeMethod method, const ExchangeStep& step, double ranks, double nodes) {
  const double in_node = ranks / nodes, others_inside = (in_node - 1) / in_node, others = (nodes - 1) / nodes;
  if (method == ExchangeMethod::low_latency) {
    const double copies = step.tokens * static_cast<double>(step.active);
    return {copies * (in_node - 1) / ranks, copies * others, 0};
  }
  const double reached = step.tokens * reached_groups(ranks, step.experts, step.active);
  // Whoever gets a token over a NIC hands it on inside the node, to the ranks that it reaches beside itself.
  const double between = step.tokens * reached_groups(nodes, step.experts, step.active) * others;
  return {reached * others_inside, between, reached + between};
}

ExchangeKernels kernels_of(ExchangeMethod method, const ExchangeLibrary& library) {
  return method == ExchangeMethod::low_latency ? library.low_latency
         : method == ExchangeMethod::normal    ? library.normal
                                               : library.nvlink_all_to_all;
}

ExchangeKernels measured_kernels(ExchangeMethod method, const LinkSpec& inside) {
  if (inside.exchange) {
    const ExchangeKernels own = kernels_of(method, *inside.exchange);
    if (own.dispatch.start > Seconds(0)) return own;  // else nobody measured this kind
  }
  const char* nearest = method == ExchangeMethod::nvlink_all_to_all ? "nvlink5_switch" : "nvlink4_switch";
  return kernels_of(method, *find_interconnect(nearest).exchange);
}

Seconds over(double bytes, BytesPerSecond bandwidth) {
  return bytes > 0 ? Bytes(bytes) / bandwidth : Seconds(0);  // no links: infinite
}

}  // namespace

double reached_groups(double groups, std::int64_t experts, std::int64_t active) {
  const auto all = static_cast<double>(experts);
  double missed = 1;
  for (std::int64_t i = 0; i < active; ++i)
    missed *= std::max(0.0, all - all / groups - static_cast<double>(i)) / (all - static_cast<double>(i));
  return groups * (1 - missed);
}

ExpertExchange::ExpertExchange(ExchangeMethod method, ExchangeGroup group, const std::string& library,
                               int multiprocessors)
    : method_(method), group_(std::move(group)) {
  nodes_ = (group_.ranks + group_.per_node - 1) / group_.per_node;
  if (method == ExchangeMethod::all_gather) {
    const NodeLevels levels{nodes_, group_.per_node, group_.between};
    collectives_ = nodes_ == 1 ? make_collectives(group_.inside, library)
                               : make_collectives_by_level(group_.inside, library, levels);
    between_ = make_collectives(group_.between, "");
    return;
  }
  if (method == ExchangeMethod::nvlink_all_to_all && nodes_ > 1)
    throw std::invalid_argument("an all-to-all over NVLink stays in one NVLink domain");
  kernels_ = measured_kernels(method, group_.inside);
  if (method == ExchangeMethod::normal) multiprocessors_ = multiprocessors;
}

ExchangeCost ExpertExchange::dispatch(const ExchangeStep& step) const {
  if (method_ == ExchangeMethod::all_gather) return collective(Collective::all_gather, step, step.dispatched);
  return exchange(kernels_.dispatch, step, step.dispatched);
}

ExchangeCost ExpertExchange::combine(const ExchangeStep& step) const {
  if (method_ == ExchangeMethod::all_gather)
    return collective(Collective::reduce_scatter, step, step.combined);
  return exchange(kernels_.combine, step, step.combined);
}

ExchangeCost ExpertExchange::exchange(const ExchangeKernel& kernel, const ExchangeStep& step,
                                      Bytes token) const {
  if (group_.ranks <= 1 || step.tokens <= 0) return {};
  const double nodes = nodes_, bytes = token.value(), fullest = bytes * step.imbalance;
  const Sent sent = sent_copies(method_, step, group_.ranks, nodes);
  Seconds longest = std::max(over(fullest * sent.inside, kernel.inside_share * group_.inside.bandwidth),
                             over(fullest * sent.between, kernel.between_share * group_.between.bandwidth));
  const BytesPerSecond per_sm = nodes_ > 1 ? kernel.per_sm_between : kernel.per_sm;
  if (multiprocessors_ > 0 && per_sm > BytesPerSecond(0))
    longest = std::max(longest, over(fullest * sent.handled, multiprocessors_ * per_sm));
  return {kernel.start + (nodes - 1) / nodes * kernel.start_between + longest, Bytes(bytes * sent.inside),
          Bytes(bytes * sent.between), multiprocessors_};
}

ExchangeCost ExpertExchange::collective(Collective op, const ExchangeStep& step, Bytes token) const {
  if (group_.ranks <= 1 || step.tokens <= 0) return {};
  const Bytes all = group_.ranks * step.tokens * token;
  ExchangeCost cost;
  cost.time = collectives_->time(op, all, group_.ranks);
  if (nodes_ > 1) cost.between = between_->sent(op, all / group_.per_node, nodes_);
  cost.inside = collectives_->sent(op, all, group_.ranks) - cost.between;
  return cost;
}

}  // namespace weir
