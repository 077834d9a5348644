#pragma once
// The page of `weir explore`, which asks nobody but its server for anything. Its parts are in page/ beside
// this, and what it shares with reports in sim/app/report.
#include <string>

#include "sim/app/explore/explored.h"

namespace weir {

// Scripts carry the nonce, which the server names in its Content-Security-Policy.
std::string explore_page(const Explored& explored, const std::string& nonce);

}  // namespace weir
