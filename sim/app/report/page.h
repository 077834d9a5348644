#pragma once
// The page of `weir report`: one HTML file with its data, styles and scripts in it, which asks the network
// for nothing. report.html beside this is its frame; the scripts read the data that report_data() makes.
#include <filesystem>
#include <string>

#include "sim/app/results/result_set.h"

namespace weir {

std::string report_page(const ResultSet& results);
bool is_report_page(const std::filesystem::path& file);  // one that this Weir or an earlier one made

// Metrics are rounded, so that a thousand points make a page that can be mailed; results.sqlite and
// summary.json have them whole. Scenarios are not.
Json report_data(const ResultSet& results);
Json run_curves(const std::filesystem::path& directory);  // of a single run
// A chart's worth of them: the quantiles of a distribution, NaN left out, and the means of a course in time.
Json thinned_quantiles(std::vector<double> values);
Json thinned_means(const std::vector<double>& values);
double significant(double value);  // rounded to six digits

}  // namespace weir
