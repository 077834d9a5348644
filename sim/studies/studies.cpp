#include "sim/studies/studies.h"

#include "sim/studies/hermes/study.h"
#include "sim/studies/hetero_pim/study.h"
#include "sim/studies/l3/study.h"
#include "sim/studies/neupims/study.h"
#include "sim/studies/preserve/study.h"
#include "sim/studies/validation/validation.h"

namespace weir {

const std::vector<Study>& studies() {
  static const std::vector<Study> table = {
      {"validation", "measured servers, kernels and traces beside their simulation", validation_ids,
       reproduce_validation, draw_validation},
      {"neupims", "NPU + HBM-PIM: Figures 12 to 15, Tables 4 and 5, Algorithms 1 and 2", neupims_ids,
       reproduce_neupims, draw_neupims},
      {"preserve", "L2 prefetching NPU: Figures 2, 4 to 8 and 10, Table 1", preserve_ids, reproduce_preserve,
       draw_preserve},
      {"l3", "GPU + DIMM-PIM: Figures 2 and 8 to 11, Table 5", l3_ids, reproduce_l3, draw_l3},
      {"hermes", "GPU + NDP-DIMM, hot and cold neurons: Figures 4 and 9 to 17", hermes_ids, reproduce_hermes,
       draw_hermes},
      {"hetero_pim", "training on CPU + PIM of pairs and cores: Table I, Figures 8, 9 and 11 to 17",
       hetero_pim_ids, reproduce_hetero_pim, draw_hetero_pim},
  };
  return table;
}

}  // namespace weir
