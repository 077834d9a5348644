#include "models/memory/address_mapping.h"

#include <bit>

namespace weir {
namespace {

std::int64_t size_of(AddressField field, const DramOrganisation& o) {
  switch (field) {
    case AddressField::row:
      return o.rows;
    case AddressField::rank:
      return o.ranks;
    case AddressField::bank_group:
      return o.bank_groups;
    case AddressField::bank:
      return o.banks_per_group;
    case AddressField::column:
      break;
  }
  return o.columns();
}

int bits(std::int64_t size) {
  return std::countr_zero(static_cast<std::uint64_t>(size));
}

}  // namespace

AddressMapping::AddressMapping(const MemorySpec& memory) {
  int shift = bits(memory.organisation.access_bytes);
  for (std::size_t i = fields_.size(); i-- > 0;) {
    const std::int64_t size = size_of(memory.mapping[i], memory.organisation);
    fields_[i] = {memory.mapping[i], shift, static_cast<std::uint64_t>(size - 1)};
    shift += bits(size);
  }
}

DramLocation AddressMapping::locate(std::uint64_t address) const {
  DramLocation at;
  for (const Field& field : fields_) {
    const std::uint64_t value = (address >> field.shift) & field.mask;
    switch (field.of) {
      case AddressField::row:
        at.row = static_cast<std::int64_t>(value);
        break;
      case AddressField::rank:
        at.rank = static_cast<int>(value);
        break;
      case AddressField::bank_group:
        at.bank_group = static_cast<int>(value);
        break;
      case AddressField::bank:
        at.bank = static_cast<int>(value);
        break;
      case AddressField::column:
        at.column = static_cast<std::int64_t>(value);
        break;
    }
  }
  return at;
}

std::uint64_t AddressMapping::address(const DramLocation& at) const {
  std::uint64_t address = 0;
  for (const Field& field : fields_) {
    const std::int64_t value = field.of == AddressField::row          ? at.row
                               : field.of == AddressField::rank       ? at.rank
                               : field.of == AddressField::bank_group ? at.bank_group
                               : field.of == AddressField::bank       ? at.bank
                                                                      : at.column;
    address |= static_cast<std::uint64_t>(value) << field.shift;
  }
  return address;
}

}  // namespace weir
