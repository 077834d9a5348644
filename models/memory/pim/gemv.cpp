#include "models/memory/pim/gemv.h"

#include <algorithm>
#include <stdexcept>

namespace weir {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

struct Page {
  std::int64_t banks, elements, comps, comp_elements;  // of a row: elements, and the COMPs that they are
};

void add_logit(const PimRequest& r, const Page& page, std::vector<PimChunk>& chunks) {
  const std::int64_t tiles = ceil_div(r.length, page.banks);
  const std::int64_t comps = ceil_div(r.head_dim, page.comp_elements);  // of a head
  if (comps > page.comps) {  // a head longer than a page: a GWRITE and partial results for each of its pages
    for (std::int64_t head = 0; head < r.heads; ++head)
      for (std::int64_t left = comps; left > 0; left -= page.comps)
        chunks.push_back({tiles, 1, static_cast<int>(std::min(left, page.comps))});
    return;
  }
  const std::int64_t in_page = page.comps / comps;
  for (std::int64_t left = r.heads; left > 0; left -= in_page)
    chunks.push_back({tiles, static_cast<int>(std::min(left, in_page)), static_cast<int>(comps)});
}

void add_attend(const PimRequest& r, const Page& page, std::vector<PimChunk>& chunks) {
  const std::int64_t tiles = ceil_div(r.head_dim, page.banks);
  for (std::int64_t head = 0; head < r.heads; ++head)
    for (std::int64_t left = r.length; left > 0; left -= page.elements)
      chunks.push_back(
          {tiles, 1, static_cast<int>(ceil_div(std::min(left, page.elements), page.comp_elements))});
}

}  // namespace

std::vector<PimChunk> gemv_chunks(const MemorySpec& memory, const PimRequest& request) {
  if (!memory.pim) throw std::invalid_argument(memory.name + " has no PIM");
  if (request.length < 1 || request.heads < 1 || request.head_dim < 1)
    throw std::invalid_argument("a GEMV of no length, heads or head_dim");
  const DramOrganisation& o = memory.organisation;
  const PimSpec& pim = *memory.pim;
  const Page page{o.banks(), o.row_bytes / pim.element_bytes, o.row_bytes / pim.comp_bytes,
                  pim.comp_bytes / pim.element_bytes};
  std::vector<PimChunk> chunks;
  if (request.op != PimOp::attend) add_logit(request, page, chunks);
  if (request.op != PimOp::logit) add_attend(request, page, chunks);
  return chunks;
}

std::vector<PimChunk> gemv_chunks(const MemorySpec& memory, std::span<const PimRequest> requests) {
  std::vector<PimChunk> chunks;
  for (const PimRequest& request : requests) {
    const std::vector<PimChunk> more = gemv_chunks(memory, request);
    chunks.insert(chunks.end(), more.begin(), more.end());
  }
  return chunks;
}

}  // namespace weir
