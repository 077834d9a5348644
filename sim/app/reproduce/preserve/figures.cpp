#include "sim/app/reproduce/preserve/study.h"
namespace weir {
void draw_preserve(ResultDirectory&, const std::vector<ReproducedRow>&) {}
}  // namespace weir
