#include "models/memory/pim/pim_costs.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>

#include "sim/core/cache/made_once.h"

namespace weir {
namespace {
// So many refreshes make a stream long: the phase at which a request meets them evens out. Measured: four
// times as many move no sustained cost by more than 1 %.
constexpr std::int64_t refreshes = 32;
}  // namespace

PimCosts::PimCosts(MemorySpec memory, PimOptions options) : memory_(std::move(memory)), options_(options) {
  if (!memory_.pim) throw std::invalid_argument(memory_.name + " has no PIM");
  options_.log = nullptr;
}

std::shared_ptr<PimCosts> PimCosts::shared(const MemorySpec& memory, const PimOptions& options) {
  static MadeOnce<std::tuple<PimTiming, RowBuffers, bool, MemorySpec>, std::shared_ptr<PimCosts>> all;
  return all.of({options.timing, options.buffers, options.refresh, memory},
                [&] { return std::make_shared<PimCosts>(memory, options); });
}

std::string PimCosts::cannot_play(const PimRequest& request) const {
  return weir::cannot_play(memory_, request, options_);
}
Cycles PimCosts::alone(const PimRequest& request) {
  return cost(request).alone;
}
double PimCosts::sustained(const PimRequest& request) {
  return cost(request).sustained;
}
double PimCosts::sustained(std::span<const PimRequest> requests) {
  double sum = 0;
  for (const PimRequest& request : requests) sum += sustained(request);
  return sum;
}
PimEnergy PimCosts::energy(const PimRequest& request) {
  return cost(request).energy;
}

const PimInterference& PimCosts::beside_reads() {
  const std::lock_guard lock(mutex_);
  if (!beside_reads_) beside_reads_ = play_interference(memory_, options_);
  return *beside_reads_;
}

const PimCosts::Cost& PimCosts::cost(const PimRequest& request) {
  // Lengths that need the same COMPs (attend) and the same tiles (logit) are one shape; both are powers of
  // two.
  const std::int64_t step = std::min<std::int64_t>(memory_.pim->comp_bytes / memory_.pim->element_bytes,
                                                   memory_.organisation.banks());
  PimRequest shape = request;
  if (shape.length > 0) shape.length = (shape.length + step - 1) / step * step;
  const std::lock_guard lock(mutex_);
  const auto [at, is_new] = costs_.try_emplace({shape.op, shape.length, shape.heads, shape.head_dim});
  if (!is_new) return at->second;  // nodes of a map stay where they are
  try {
    at->second = play(shape);
  } catch (...) {
    costs_.erase(at);
    throw;
  }
  return at->second;
}

PimCosts::Cost PimCosts::play(const PimRequest& request) const {
  const std::vector<PimChunk> once = gemv_chunks(memory_, request);
  const PimRun run = play_pim(memory_, once, options_);
  PimRun unrefreshed = run;
  unrefreshed.commands[static_cast<std::size_t>(DramCommand::refresh)] = 0;
  const std::int64_t period = refreshes * memory_.timings.refi / memory_.pim->ranks;
  const std::int64_t times = std::max<std::int64_t>(2, period / run.cycles + 1);
  std::vector<PimChunk> stream;
  for (std::int64_t i = 0; i < times; ++i) stream.insert(stream.end(), once.begin(), once.end());
  const Cycles way_out = memory_.pim->comp + memory_.timings.cl + memory_.timings.burst;
  const double sustained = static_cast<double>(play_pim(memory_, stream, options_).cycles - way_out);
  return {run.cycles, sustained / static_cast<double>(times), pim_energy(memory_, unrefreshed)};
}

}  // namespace weir
