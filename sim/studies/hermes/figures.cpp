#include "sim/studies/hermes/study.h"

namespace weir {

void draw_hermes(ResultDirectory&, const std::vector<ReproducedRow>&) {}

}  // namespace weir
