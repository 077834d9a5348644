#pragma once
// Which bank, row and column an address of a channel is in: a string of bit fields, most significant first,
// above the bytes of one access. Data, from the catalog: bank groups lowest spread a stream over them,
// columns lowest keep it in one bank.
#include "models/memory/memory_spec.h"

namespace weir {

struct DramLocation {
  int rank = 0, bank_group = 0, bank = 0;  // bank within its group
  std::int64_t row = 0, column = 0;
};

class AddressMapping {
 public:
  explicit AddressMapping(const MemorySpec& memory);
  DramLocation locate(std::uint64_t address) const;           // of any byte below the channel's capacity
  std::uint64_t address(const DramLocation& location) const;  // of the access's first byte

 private:
  struct Field {
    AddressField of;
    int shift;
    std::uint64_t mask;
  };
  std::array<Field, 5> fields_;
};

}  // namespace weir
