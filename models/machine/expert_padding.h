#pragma once
// Kernels may need matrices of experts whose sizes are multiples of their tiles: a library's loader then
// fills them up, and the card holds more than the file has.
#include <cstdint>

namespace weir {

struct ExpertPadding {                 // of mxfp4 experts; 1: as they are
  std::int64_t hidden = 1, width = 1;  // of an expert, as a rank has it

  std::int64_t padded_hidden(std::int64_t size) const { return (size + hidden - 1) / hidden * hidden; }
  std::int64_t padded_width(std::int64_t size) const { return (size + width - 1) / width * width; }
  bool operator==(const ExpertPadding&) const = default;
};

}  // namespace weir
