#include <boost/range/iterator_range.hpp>
#include <stdexcept>

#include "models/llm/operator_graph.h"

namespace weir {

std::vector<const Operator*> operators_of(const StageGraph& stage) {
  std::vector<const Operator*> all;
  for (const Part& part : stage.parts)
    for (const auto v : boost::make_iterator_range(boost::vertices(part.operators)))
      all.push_back(&part.operators[v]);
  return all;
}

const Part& part_named(const StageGraph& stage, std::string_view name) {
  for (const Part& part : stage.parts)
    if (part.name == name) return part;
  throw std::out_of_range("the stage has no part " + std::string(name));
}

}  // namespace weir
