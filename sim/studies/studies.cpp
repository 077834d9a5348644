#include "sim/studies/studies.h"

#include "sim/studies/hermes/study.h"
#include "sim/studies/hetero_pim/study.h"
#include "sim/studies/l3/study.h"
#include "sim/studies/neupims/study.h"
#include "sim/studies/study_file/study_file.h"
#include "sim/studies/validation/validation.h"

namespace weir {

const std::vector<Study>& studies() {
  static const std::vector<Study> table = [] {
    std::vector<Study> all = {
        {"validation", "measured servers, kernels and traces beside their simulation", validation_ids,
         reproduce_validation, draw_validation},
        {"neupims", "NPU + HBM-PIM: Figures 12 to 15, Tables 4 and 5, Algorithms 1 and 2", neupims_ids,
         reproduce_neupims, draw_neupims},
        {"l3", "GPU + DIMM-PIM: Figures 2 and 8 to 11, Table 5", l3_ids, reproduce_l3, draw_l3},
        {"hermes", "GPU + NDP-DIMM, hot and cold neurons: Figures 4 and 9 to 17", hermes_ids,
         reproduce_hermes, draw_hermes},
        {"hetero_pim", "training on CPU + PIM of pairs and cores: Table I, Figures 8, 9 and 11 to 17",
         hetero_pim_ids, reproduce_hetero_pim, draw_hetero_pim},
    };
    for (Study& own : study::own_studies()) all.push_back(std::move(own));
    return all;
  }();
  return table;
}

StudyReader reader_of_studies() {
  return {study::study_of, study::schema};
}

}  // namespace weir
