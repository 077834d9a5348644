#pragma once
// A thousand replicas take turns, and each finds its state beyond what the processor's TLB reaches in pages
// of 4 KB.
#include <cstddef>

namespace weir {

// What is allocated from now on lies in huge pages, up to so many bytes of them; where the system has none, or
// a limit leaves no room, as before. Nothing is taken before it is used.
void allocate_in_huge_pages(std::size_t bytes);

}  // namespace weir
