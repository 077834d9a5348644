#pragma once
#include <simgrid/s4u/Engine.hpp>

#include "sim/core/units.h"

namespace weir {

// On SimGrid's clock.
inline Seconds now() {
  return Seconds(simgrid::s4u::Engine::get_clock());
}

}  // namespace weir
