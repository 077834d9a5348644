// NeuPIMs (ASPLOS 2024), Sections 5 and 6.1: the attention of decodes on the PIM, its softmax on the vector
// units, everything else as npu_units has it.
#include <algorithm>
#include <stdexcept>

#include "models/llm/parts/rewrite.h"
#include "policies/partitioning/partitioning.h"
#include "policies/partitioning/units.h"

namespace weir {
namespace {

struct NpuPimParams {
  std::optional<bool> head_overlap;
  std::int64_t page_elements;
};

// With single row buffers nothing is read while the PIM works: it cannot hand partial scores over.
bool stops_reads(const Unit& pim) {
  return std::ranges::any_of(
      pim.ports, [](const Port& port) { return port.resource == own_memory && port.withheld >= 1; });
}

class NpuPim final : public PartitioningPolicy {
 public:
  explicit NpuPim(NpuPimParams params) : params_(params) {}

  StageGraph place(StageGraph stage, std::span<const Unit> units) const override {
    StageGraph placed = each_on_its_unit(std::move(stage), units, "npu_pim");
    const int pim = unit_for(units, KernelKind::logit, "logit (a PIM, that is)", "npu_pim");
    const int vector = unit_for(units, KernelKind::softmax, "softmax", "npu_pim");
    const bool overlap = params_.head_overlap.value_or(!stops_reads(units[static_cast<std::size_t>(pim)]));
    return rewrite(std::move(placed), [&](const OperatorGraph& from, std::size_t v) {
      return from[v].as<Attention>() ? split(from[v], pim, vector, overlap) : Replacement(from[v]);
    });
  }

 private:
  // Figure 10: groups of as many heads as a page holds go their own way, so that one's softmax runs while
  // another's scores are worked out.
  Replacement split(const Operator& whole, int pim, int vector, bool overlap) const {
    const auto& attention = std::get<Attention>(whole.kernel);
    Replacement parts(whole);
    parts.operators[0].rows = Rows::prompt_tokens;
    parts.first = parts.last = {0};
    const std::int64_t all = attention.query_heads;
    const std::int64_t in_page = std::max<std::int64_t>(1, params_.page_elements / attention.head_dim);
    const std::int64_t step = overlap ? std::min(in_page, all) : all;
    for (std::int64_t head = 0; head < all; head += step) {
      const std::int64_t heads = std::min(step, all - head);
      const auto add = [&](const char* name, Attention::Part part, int unit) {
        Attention some = attention;
        some.part = part;
        some.query_heads = heads;
        some.kv_heads = kv_heads_of(attention, head, heads);
        parts.operators.push_back({.name = name, .kernel = some, .rows = Rows::decodes, .unit = unit});
        return parts.operators.size() - 1;
      };
      const std::size_t logit = add("logit", Attention::Part::logit, pim);
      const std::size_t softmax = add("softmax", Attention::Part::softmax, vector);
      const std::size_t attend = add("attend", Attention::Part::attend, pim);
      parts.edges.insert(parts.edges.end(), {{logit, softmax}, {softmax, attend}});
      parts.first.push_back(logit);
      parts.last.push_back(attend);
    }
    return parts;
  }

  // KV heads that these query heads attend to; groups that cut through one share it.
  static std::int64_t kv_heads_of(const Attention& attention, std::int64_t head, std::int64_t heads) {
    const std::int64_t sharing = std::max<std::int64_t>(1, attention.query_heads / attention.kv_heads);
    return (head + heads - 1) / sharing - head / sharing + 1;
  }

  NpuPimParams params_;
};

}  // namespace

std::shared_ptr<const PartitioningPolicy> make_npu_pim_partitioning(Params& params) {
  NpuPimParams read;
  const Json* overlap =
      params.value({"head_overlap",
                    "The softmax of some heads runs while the PIM is at others (NeuPIMs, Figure 10). null: "
                    "where its row buffers are dual; single ones cannot hand partial scores over."},
                   {{"type", Json::array({"boolean", "null"})}}, Json(nullptr));
  if (overlap && overlap->is_boolean())
    read.head_overlap = overlap->get<bool>();
  else if (overlap && !overlap->is_null())
    params.fail("head_overlap", "expected true or false, or null, got " + overlap->dump());
  read.page_elements =
      params.integer({"page_elements",
                      "Of a row of the PIM's banks (NeuPIMs, Table 2: 1 KB of FP16); heads that share a "
                      "page go together."},
                     {1, 1 << 20}, 512);
  return std::make_shared<NpuPim>(read);
}

}  // namespace weir
