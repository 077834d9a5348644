// Hetero PIM of Liu et al. (MICRO 2018, Section III-C). A candidate's place in the memory follows from its
// work: the pairs if they can do all of it, both sides if they can do most, else the cores. Principle 1,
// pairs as much as possible, is that order; principle 2, "PIMs (not CPU) as much as possible. In case all
// fixed-function or programmable PIMs are busy, the runtime will schedule the candidate operations to execute
// on CPU", is the choice; principle 3, dependencies, is the graph's. What is no candidate stays on the CPU.
//
// Taken at its word principle 2 makes overlapping steps slower than no overlap, against the paper's own
// Figures 13 and 15: operators pile up at a CPU that takes several times as long as all pairs. So an operator
// waits for its place in the memory, unless `when_busy` says otherwise (docs/decisions.md 146).
#include "policies/runtime/pair_work.h"
#include "policies/runtime/runtime.h"

namespace weir {
namespace {

enum class WhenBusy { cpu, wait, sooner };

class HeteroPim final : public RuntimePolicy {
 public:
  HeteroPim(double share, WhenBusy when_busy, bool recursive_kernels, bool operation_pipeline)
      : share_(share),
        when_busy_(when_busy),
        recursive_kernels_(recursive_kernels),
        operation_pipeline_(operation_pipeline) {}

  RuntimeUnits needs() const override { return {.programmable = true, .fixed_function = true}; }
  bool profiles() const override { return true; }
  bool recursive_kernels() const override { return recursive_kernels_; }
  bool operation_pipeline() const override { return operation_pipeline_; }
  OperatorPlace rest_of_split() const override { return OperatorPlace::programmable; }

  std::vector<OperatorType> candidates(const StepProfile& profile) const override {
    return offload_candidates(profile, share_);
  }

  std::vector<OperatorPlace> places(const TensorOperation& operation, bool candidate) const override {
    if (!candidate) return {OperatorPlace::cpu};
    switch (pairs_do(operation)) {
      case PairsDo::all:
        return {OperatorPlace::fixed_function, OperatorPlace::cpu};
      case PairsDo::most:
        return {OperatorPlace::split, OperatorPlace::cpu};
      default:
        return {OperatorPlace::programmable, OperatorPlace::cpu};
    }
  }

  // Places come in the order above: the one in the memory, then the CPU.
  int choose(const RuntimeSnapshot& now, std::span<const PlaceOption> options) const override {
    const PlaceOption &memory = options.front(), &cpu = options.back();
    if (is_idle(memory, now) || when_busy_ == WhenBusy::wait) return 0;
    const bool cpu_is_sooner = wait_for(cpu, now) + cpu.alone < wait_for(memory, now) + memory.alone;
    return when_busy_ == WhenBusy::cpu || cpu_is_sooner ? static_cast<int>(options.size()) - 1 : 0;
  }

 private:
  double share_;
  WhenBusy when_busy_;
  bool recursive_kernels_, operation_pipeline_;
};

}  // namespace

std::shared_ptr<const RuntimePolicy> make_hetero_pim_runtime(Params& params) {
  const double share = params.number(
      {"candidates_share",
       "Types of operators are offered to the memory until they cover this share of a profiled step's time."},
      fraction, 0.9);
  const bool recursive_kernels =
      params.flag({"recursive_kernels",
                   "Cores in the memory call its pairs, so that the host starts and awaits an operator once. "
                   "False: it starts and awaits every kernel on the pairs."},
                  true);
  const bool operation_pipeline =
      params.flag({"operation_pipeline",
                   "Operators of the next step start on idle pairs, and running ones take over pairs that "
                   "come free. False: one operator at a time on the pairs."},
                  true);
  const auto when_busy = params.choice<WhenBusy>(
      {"when_busy",
       "Where an operator goes whose place in the memory is busy: to the CPU, as the paper's words "
       "have it, to that place, to wait there, or to whichever would have done it sooner."},
      {{"cpu", WhenBusy::cpu}, {"wait", WhenBusy::wait}, {"sooner", WhenBusy::sooner}}, "wait");
  return std::make_shared<HeteroPim>(share, when_busy, recursive_kernels, operation_pipeline);
}

}  // namespace weir
