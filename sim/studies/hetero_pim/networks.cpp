// Training steps of the nets: operators by type beside Table I's invocations, and their arithmetic.
#include <algorithm>

#include "models/nn/net_catalog.h"
#include "sim/app/output/output_file.h"
#include "sim/studies/hetero_pim/study.h"
#include "sim/studies/hetero_pim/table1.h"

namespace weir::hetero_pim {
namespace {

TrainingGraph graph_of(const char* net) {
  return build_training_graph(catalog_net(net));
}

// How many of a type a step runs, by net.
struct Counted {
  const char* id;
  OperatorType type;
  std::vector<int> accepted;  // in the order of `nets`
};
const Counted counted[] = {
    {"conv2d", OperatorType::conv2d, {16, 5, 4, 53, 94}},
    {"filter", OperatorType::conv2d_backprop_filter, {16, 5, 4, 53, 94}},
    {"input", OperatorType::conv2d_backprop_input, {15, 4, 4, 52, 93}},
};

const ProfiledNet* profiled(const std::string& net) {
  const auto found =
      std::ranges::find(table1, net, [](const ProfiledNet& one) { return std::string(one.net); });
  return found == table1.end() ? nullptr : &*found;
}

std::optional<double> published_count(const std::string& net, OperatorType type) {
  if (const ProfiledNet* known = profiled(net))
    for (const ProfiledType& row : known->types)
      if (row.type == type) return row.invocations;
  return {};
}

bool is_counted(OperatorType type) {
  return std::ranges::any_of(counted, [&](const Counted& one) { return one.type == type; });
}

void add_counts(const std::vector<std::map<OperatorType, int>>& counts, Rows& rows) {
  for (const Counted& one : counted)
    for (std::size_t n = 0; n < nets.size(); ++n)
      add_row(rows, fmt::format("tab1_{}_count_{}", one.id, nets[n].id),
              fmt::format("{} of a step, {}", to_string(one.type), nets[n].title),
              published_count(nets[n].id, one.type), same(counts[n].at(one.type)), exactly(one.accepted[n]));
}

// Types that the table counts beside the convolutions.
void add_other_counts(const std::vector<std::map<OperatorType, int>>& counts, Rows& rows) {
  for (std::size_t n = 0; n < nets.size(); ++n) {
    const ProfiledNet* known = profiled(nets[n].id);
    if (!known) continue;
    int types = 0, agree = 0;
    std::string each;
    for (const ProfiledType& row : known->types) {
      if (is_counted(row.type)) continue;
      const auto found = counts[n].find(row.type);
      const int ours = found == counts[n].end() ? 0 : found->second;
      ++types;
      agree += ours == row.invocations;
      each += fmt::format("{}{} {} (paper {})", each.empty() ? "" : ", ", to_string(row.type), ours,
                          row.invocations);
    }
    ReproducedRow& row = add_row(
        rows, fmt::format("tab1_other_counts_{}", nets[n].id),
        fmt::format("other types of Table I with as many operators, {}", nets[n].title), types, same(agree));
    row.note = each;
    add_note(row,
             "no bounds: which graph was profiled is unknown, and its published shape has not these counts");
  }
}

struct Work {
  const char *net, *title;
  Bounds gflop;
  const char* note;
};
const Work works[] = {
    {"vgg19", "VGG-19", {3691, 3841}, ""},
    {"alexnet", "AlexNet", {134.3, 139.7}, ""},
    {"resnet50", "ResNet-50", {2894, 3012}, ""},
    {"inception3", "Inception-v3", {1080, 1124}, ""},
    {"dcgan", "DCGAN", {}, "no bounds: no source publishes this step's operations"},
    {"lstm", "LSTM", {}, "no bounds: the paper does not say which size of the net"},
    {"word2vec", "Word2vec", {}, "no bounds: the paper does not say how many negative samples"},
};

void add_work(Rows& rows) {
  for (const Work& work : works)
    add_row(rows, fmt::format("gflop_{}", work.net),
            fmt::format("GFLOP of a step's convolutions and matrix products, {}", work.title), {},
            same(matrix_flops(graph_of(work.net)).value() / 1e9), work.gflop)
        .note = work.note;
}

void write_operators(const std::vector<std::map<OperatorType, int>>& counts, const Folder& folder) {
  OutputFile file(folder / "operators.csv");
  file.text("net,type,published,operators\n");
  for (std::size_t n = 0; n < nets.size(); ++n)
    for (const auto& [type, count] : counts[n])
      file.print("{},{},{},{}\n", nets[n].title, to_string(type), csv(published_count(nets[n].id, type)),
                 count);
  file.close();
}

}  // namespace

void add_nets(const Runs&, const Folder& folder, Rows& rows) {
  std::vector<std::map<OperatorType, int>> counts;
  for (const StudiedNet& net : nets) counts.push_back(count_by_type(graph_of(net.id)));
  add_counts(counts, rows);
  add_other_counts(counts, rows);
  add_work(rows);
  write_operators(counts, folder);
}

}  // namespace weir::hetero_pim
