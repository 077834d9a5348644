// Figures as the paper draws them, of the study's CSVs: profile.svg (Table I), systems.svg (Figure 8),
// energy.svg (9), clocks.svg (11), cores.svg (12), software.svg (13), software_energy.svg (14), use.svg (15),
// mixed.svg (16), edp.svg and watts.svg (17). With --only those whose CSV is there.
#include <algorithm>
#include <cmath>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/studies/bars.h"
#include "sim/studies/hetero_pim/study.h"

namespace weir {
namespace hetero_pim {
namespace {

// Okabe and Ito's colours (sim/app/plot/canvas).
const std::vector<Series> system_series = {{"CPU", "#999999"},
                                           {"GPU", "#E69F00"},
                                           {"Progr PIM", "#56B4E9"},
                                           {"Fixed PIM", "#009E73"},
                                           {"Hetero PIM", "#0072B2"}},
                          technique_series = {{"Progr PIM", "#56B4E9"}, {"Fixed PIM", "#009E73"},
                                              {"neither", "#999999"},   {"RC", "#E69F00"},
                                              {"OP", "#CC79A7"},        {"RC and OP", "#0072B2"}},
                          clock_series = {{"GPU", "#E69F00"},
                                          {"1x", "#9ECAE1"},
                                          {"2x", "#2171B5"},
                                          {"4x", "#08306B"}},
                          use_series = {technique_series.begin() + 1, technique_series.end()},
                          beside_series = {{"LSTM", "#0072B2"}, {"Word2vec", "#E69F00"}},
                          core_series = {{"1P", "#9ECAE1"}, {"4P", "#2171B5"}, {"16P", "#08306B"}};

// A figure of one panel, groups being the nets: a column of a CSV in both sets.
struct ByNet {
  const char *name, *file, *column, *ylabel, *title;
  const std::vector<Series>* series;
  double log_from = 0;
};
const ByNet by_net[] = {
    {"energy", "energy.csv", "joules_over_base", "Dynamic energy over Hetero PIM's", "energy of a step",
     &system_series, 0.05},
    {"cores", "cores.csv", "time_over_base", "Step time over one core's", "ARM cores of one logic die",
     &core_series},
    {"software_energy", "software.csv", "joules_over_base", "Dynamic energy over both's",
     "energy of a step, Hetero PIM with and without RC and OP", &technique_series, 0.05},
    {"use", "software.csv", "pairs_busy", "Pairs busy, share of time",
     "Hetero PIM with and without RC and OP", &use_series},
    {"edp", "clocks.csv", "edp_over_base", "Energy x time over 1x's", "clocks of pairs and cores",
     &clock_series, 0.01},
    {"mixed", "mixed.csv", "gain", "Gain over one after the other", "two models at once", &beside_series},
    {"watts", "clocks.csv", "watts", "Dynamic power, W", "clocks of pairs and cores", &clock_series, 1},
};

void draw_by_net(ResultDirectory& directory, const ByNet& of) {
  const Table table = Table::read(directory.file(of.file));
  BarFigure figure{.name = of.name,
                   .ylabel = of.ylabel,
                   .series = *of.series,
                   .columns = 1,
                   .panel_height = 240,
                   .log_from = of.log_from};
  figure.panels = {
      bars_of(table, {"net", "system", of.column, fmt::format("physical_{}", of.column)}, *of.series)};
  figure.panels[0].title = of.title;
  draw_bars(directory, figure);
}

// Table I: a panel a net, both halves of the table beside each other.
void draw_profile(ResultDirectory& directory) {
  const Table table = Table::read(directory.file("profile.csv"));
  BarFigure figure{.name = "profile",
                   .ylabel = "% of a step on the CPU",
                   .series = {{"time", "#0072B2"}, {"memory accesses", "#E69F00"}},
                   .columns = 1,
                   .panel_height = 150,
                   .xlabel = "Filter, Input: Conv2DBackpropFilter, Conv2DBackpropInput"};
  const auto cell = [&](std::size_t row, const char* set, const char* half) {
    const std::string column = fmt::format("{}_{}", set, half);
    const bool published = !table.text(row, fmt::format("published_{}", half)).empty();
    return published ? table.number(row, column) : no_bar;
  };
  for (const StudiedNet& net : nets) {
    Bars bars{.title = net.title};
    for (std::size_t row = 0; row < table.rows(); ++row) {
      if (table.text(row, "net") != net.title) continue;
      std::string type = table.text(row, "type");
      if (const std::string gradient = "Conv2DBackprop"; type.starts_with(gradient))
        type.erase(0, gradient.size());
      bars.groups.push_back(type);
      for (const auto& [set, name] : {std::pair(&Bars::judged, "paper_set"),
                                      {&Bars::physical, "physical"},
                                      {&Bars::published, "published"}})
        (bars.*set).push_back({cell(row, name, "time"), cell(row, name, "accesses")});
    }
    if (!bars.groups.empty()) figure.panels.push_back(bars);
  }
  draw_bars(directory, figure);
}

// Bars of three parts, each over the ones before it; a cluster of bars a net.
constexpr const char* split_body = R"gp(set style fill solid 1.0 noborder
set boxwidth 0.8
set xrange [-0.8:places - 0.2]
set yrange [0:*]
small = sprintf(",%g", 13*pt)
set label ylabel_text at screen 14.0/680, screen 0.61 center rotate font sprintf(",%g", 16*pt)
set xtics scale 0 rotate by 90 right font small
set ytics font small
set lmargin at screen 0.125
set rmargin at screen 0.985
set bmargin at screen 0.38
set tmargin at screen 0.84
set key at screen 0.54, screen 0.985 center top horizontal samplen 1 font small
plot DATA skip 1 using 1:($3+$4+$5):xtic(2) with boxes lc rgb "#D55E00" title "synchronisation", \
     "" skip 1 using 1:($3+$4) with boxes lc rgb "#E69F00" title "movement", \
     "" skip 1 using 1:3 with boxes lc rgb "#0072B2" title "operation"
)gp";

struct Split {
  const char *name, *file, *ylabel;
};
const Split splits[] = {{"systems", "systems.csv", "Step time over the CPU's, paper's set"},
                        {"clocks", "clocks.csv", "Step time over 1x's, paper's set"},
                        {"software", "software.csv", "Step time over both's, paper's set"}};

void draw_split(ResultDirectory& directory, const Split& split) {
  const Table table = Table::read(directory.file(split.file));
  const std::string data_name = fmt::format("{}_split.csv", split.name);
  OutputFile data(directory.file("figures/" + data_name));
  data.text("place,name,operation,movement,synchronisation\n");
  std::string labels, net;
  int place = -1, first = 0;
  const auto end_group = [&] {
    if (!net.empty())
      labels += fmt::format("set label {} at {},graph 1.05 center font small\n", gnuplot_text(net),
                            0.5 * (first + place - 1));
  };
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "net") != net) {
      ++place;
      end_group();
      net = table.text(row, "net");
      first = place;
    }
    const double over = table.number(row, "time_over_base"), operation = table.number(row, "operation_s"),
                 movement = table.number(row, "movement_s"), awaited = table.number(row, "synchronisation_s");
    const double scale = over / (operation + movement + awaited);
    data.print("{},{},{:.5g},{:.5g},{:.5g}\n", place, csv_text(table.text(row, "system")), scale * operation,
               scale * movement, scale * awaited);
    ++place;
  }
  data.close();
  ++place;
  end_group();
  std::string body = split_body;
  body.replace(body.find("DATA"), 4, fmt::format("\"{}\"", data_name));
  body.insert(body.find("plot "), labels);
  draw(directory,
       {.name = split.name,
        .height = 430,
        .settings = fmt::format("places = {}\nylabel_text = {}\n", place - 1, gnuplot_text(split.ylabel)),
        .body = body});
}

}  // namespace
}  // namespace hetero_pim

void draw_hetero_pim(ResultDirectory& directory, const std::vector<ReproducedRow>&) {
  using namespace hetero_pim;
  const auto has = [&](const char* file) { return std::filesystem::exists(directory.file(file)); };
  if (has("profile.csv")) draw_profile(directory);
  for (const Split& split : splits)
    if (has(split.file)) draw_split(directory, split);
  for (const ByNet& of : by_net)
    if (has(of.file)) draw_by_net(directory, of);
}

}  // namespace weir
