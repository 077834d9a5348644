#pragma once
// The subjects of weir list: the rooms' own tables.
#include <string>
#include <vector>

#include "sim/core/embedded.h"

namespace weir {

struct ListEntry {
  std::string family, name, summary;  // family: the key that takes the name
};

struct ListSubject {
  const char* name;
  std::vector<ListEntry> (*entries)();
  const EmbeddedFiles* catalog = nullptr;  // the numbers behind the names
  const char* in_catalog = nullptr;        // the family that it is of; null: all
};

const std::vector<ListSubject>& list_subjects();
// Where a family's names are written: in a scenario, an argument, a summary.
std::string place_of(const std::string& family);

}  // namespace weir
