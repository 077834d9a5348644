#pragma once
// The runs behind the figures of heterogeneous PIM: its nets and systems as scenarios, every one trained once
// in each set. `paper` has the CPU's rates by type of operator that Table I implies, `physical` one rate for
// all matrix products; nothing is fitted to a figure.
#include <string>
#include <vector>

#include "sim/studies/study_runs.h"

namespace weir::hetero_pim {

struct StudiedNet {
  const char *id, *title;
  Json stack;  // keys over those of the stack, where the net does not fit
};
extern const std::vector<StudiedNet> nets;  // the five of its figures
const StudiedNet& net_of(const std::string& id);

// Who computes beside the CPU, and the runtime. Another system is another row of `systems`.
struct TrainingSystem {
  const char *id, *title;
  const char* device;  // nullptr: the CPU alone
  Json keys;           // over those of the device
  const char* runtime;
};
extern const TrainingSystem cpu, gpu, progr_pim, fixed_pim, hetero;
extern const std::vector<const TrainingSystem*> systems;  // as Figure 8 has them

struct NetRun {
  const TrainingSystem* system = &hetero;
  std::string net = {};           // its id
  Json runtime = Json::object();  // keys over those of the system's runtime
  Json stack = Json::object();    // and over those of its device
  double clock_multiple = 1;
  std::string beside = {};  // id of a net that is trained on spare cores, in matched times; none where empty
  bool paper_only = false;
};
std::string name_of(const NetRun& run);
Json scenario_of(const NetRun& run, const std::string& assumptions);
using Runs = StudyRuns<NetRun>;

// The hypothetical machine: so many multiplications and additions of a pair and cycle, where the paper's has
// one of each.
inline constexpr int hypothetical_lanes = 16;
NetRun hypothetical(NetRun run);

// Changed runs, which show what a number hangs on; those of other systems than Hetero PIM are as they were.
NetRun going_sooner(NetRun run);      // operators go to the memory or the CPU, whichever is done first
NetRun with_free_pairs(NetRun run);   // pairs of so many lanes that they take next to no time
NetRun with_spare_cores(NetRun run);  // 64 ARM cores beside as many pairs

inline NetRun run_of(const TrainingSystem& system, const StudiedNet& net) {
  return {.system = &system, .net = net.id};
}
// Hetero PIM with these of its runtime's techniques.
NetRun with_techniques(const StudiedNet& net, bool recursive_kernels, bool operation_pipeline);
inline NetRun without_techniques(const StudiedNet& net) {
  return with_techniques(net, false, false);
}
NetRun at_clock(const StudiedNet& net, double multiple);
NetRun with_cores(const StudiedNet& net, int cores);  // more of them displace pairs

}  // namespace weir::hetero_pim
