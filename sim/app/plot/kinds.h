#pragma once
// One pair a kind of figure: why it cannot be drawn of these results ("" if it can), and the figure.
#include "sim/app/plot/plot.h"

namespace weir {

std::string why_no_throughput_latency(const PlotRequest& request);
Figure throughput_latency(const PlotRequest& request);
std::string why_no_cdf(const PlotRequest& request);
Figure cdf(const PlotRequest& request);
std::string why_no_heatmap(const PlotRequest& request);
Figure heatmap(const PlotRequest& request);
std::string why_no_pareto(const PlotRequest& request);
Figure pareto(const PlotRequest& request);
std::string why_no_breakdown(const PlotRequest& request);
Figure breakdown(const PlotRequest& request);
std::string why_no_occupancy(const PlotRequest& request);
Figure occupancy(const PlotRequest& request);

}  // namespace weir
