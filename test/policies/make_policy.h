#pragma once
#include <memory>
#include <string>

#include "sim/core/catalog.h"

namespace weir::test {

// A policy of that name with its defaults.
template <class Interface>
std::shared_ptr<const Interface> make_policy(const Catalog<Interface>& table, const std::string& kind) {
  const Json json = {{"kind", kind}};
  Reading reading("test");
  auto made = make_from(table, Params(reading, json), {"kind", "which"});
  reading.finish();
  return made;
}

}  // namespace weir::test
