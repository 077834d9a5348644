#pragma once
// Studies that `weir reproduce` knows: one folder and one row of the table a study.
#include "sim/app/reproduce/reproduce.h"

namespace weir {

const std::vector<Study>& studies();

}  // namespace weir
