#pragma once
// Studies that `weir reproduce` knows: files of scenarios/studies, and folders here, each with a
// row of the table.
#include "sim/app/reproduce/reproduce.h"

namespace weir {

const std::vector<Study>& studies();
StudyReader reader_of_studies();  // reads those that are files

}  // namespace weir
