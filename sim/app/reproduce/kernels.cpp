#include "sim/app/reproduce/validation.h"
namespace weir {
void add_kernels(const ReproduceOptions&, std::vector<ReproducedRow>&) {}
void draw_servers(const ReproduceOptions&) {}
}  // namespace weir
