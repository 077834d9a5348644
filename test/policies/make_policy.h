#pragma once
#include <memory>
#include <string>

#include "sim/core/catalog.h"

namespace weir::test {

// The policy that a scenario's keys describe; ConfigError where they are wrong.
template <class Interface>
std::shared_ptr<const Interface> policy_of(const Catalog<Interface>& table, const Json& keys) {
  Reading reading("test");
  auto made = make_from(table, Params(reading, keys), {"kind", "which"});
  reading.finish();
  return made;
}

// A policy of that name with its defaults.
template <class Interface>
std::shared_ptr<const Interface> make_policy(const Catalog<Interface>& table, const std::string& kind) {
  return policy_of(table, {{"kind", kind}});
}

}  // namespace weir::test
