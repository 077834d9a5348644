#include "sim/serving/platform/huge_pages.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <limits>

namespace weir {

// glibc.malloc.hugetlb would do it, but is read before main (sourceware.org/glibc/manual, Tunables). Here one
// block makes the heap grow and is freed at once: what malloc does not give back is what follows.
void allocate_in_huge_pages(std::size_t bytes) {
  constexpr std::size_t huge = std::size_t{2} << 20;
  constexpr int mapped_from = 32 << 20;  // bytes: the most that malloc raises it to by itself
  mallopt(M_MMAP_THRESHOLD, mapped_from);
  mallopt(M_TRIM_THRESHOLD, std::numeric_limits<int>::max());
  mallopt(M_MMAP_MAX, 0);
  void* block = std::malloc(bytes);
  constexpr int maps_by_default = 65536;
  mallopt(M_MMAP_MAX, maps_by_default);
  if (!block) return;
  const auto begin = (reinterpret_cast<std::uintptr_t>(block) + huge - 1) / huge * huge;
  const auto end = (reinterpret_cast<std::uintptr_t>(block) + bytes) / huge * huge;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
  std::free(block);
}

}  // namespace weir
