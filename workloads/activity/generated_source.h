#pragma once
// Activity that is drawn for neurons of given counts. The neurons of a block are numbered by rank, the
// hottest first, alike in all layers: what asks goes by frequencies and parents, never by a neuron's number,
// so that shuffling them would change no result. (A placement that deals by number would see it.)
#include "workloads/activity/frequency_curve.h"
#include "workloads/activity/neuron_rows.h"

namespace weir {

// `drift` is the share of the neurons whose frequency in a sequence is another one's than in the profile: the
// same ranks in every layer, others in another sequence.
std::unique_ptr<const ActivitySource> generated_source(const NeuronCounts& counts,
                                                       const FrequencyCurve& curve, double drift);

}  // namespace weir
