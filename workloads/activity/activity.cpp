#include "workloads/activity/activity.h"

namespace weir {

std::shared_ptr<const NeuronActivity> make_generated_activity(Params& params);
std::shared_ptr<const NeuronActivity> make_recorded_activity(Params& params);

const Catalog<NeuronActivity>& neuron_activities() {
  static const Catalog<NeuronActivity> table = {
      {"generated",
       "drawn with a given density, with the similarity of tokens and layers that Hermes publishes",
       make_generated_activity},
      {"file", "as recorded: the active neurons of every token, layer and block", make_recorded_activity},
  };
  return table;
}

}  // namespace weir
