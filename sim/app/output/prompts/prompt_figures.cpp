#include <fmt/format.h>

#include <cmath>

#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/app/output/prompts/prompt_sources.h"

namespace weir {
namespace {

// Okabe and Ito's colours: what is computed, what the KV cache has, and tier by tier.
constexpr const char* colours[] = {"#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9",
                                   "#D55E00", "#F0E442", "#000000", "#999999", "#660099"};

constexpr const char* over_time = R"gp(set multiplot
set lmargin at screen 0.18
set rmargin at screen 0.97
set xrange [0:duration]
set xtics step_of(duration, 6)
set yrange [0:*]
set tmargin at screen 0.905
set bmargin at screen 0.56
set format x ""
k = thousands(most)
set ytics step_of(most / k, 4)
set ylabel k == 1 ? "Prompt tokens/s" : (k == 1000 ? "Prompt tokens/s (10^3)" : "Prompt tokens/s (10^6)")
set key at graph 1.0,1.22 right horizontal samplen 0.8 width -1
set style fill solid 1.0 noborder
)gp";

constexpr const char* share = R"gp(set tmargin at screen 0.49
set bmargin at screen 0.155
set format x "%g"
set yrange [0:100]
set ytics 25
set xlabel "Time (s)"
set ylabel "Found (%)"
plot "prompts.csv" using 1:2 skip 1 with steps ls 1 lw 2.5 notitle
unset multiplot
)gp";

constexpr const char* ttft = R"gp(set xlabel "Share of the prompt that was found (%)"
set ylabel "TTFT (ms)"
set xrange [0:100]
set xtics 20
set logscale y 10
set tmargin 1.8
set key at graph 1.0, screen 1-14.0/height right horizontal maxrows 1 width 1
plot "ttft_by_hit_share.csv" using ($1+5):3 skip 1 with linespoints ls 1 pt 7 ps 0.8 title "median", \
     "" using ($1+5):4 skip 1 with linespoints ls 2 pt 5 ps 0.8 title "90 %"
)gp";

// Stacked: each source is drawn from zero to the sum of those up to it, the highest first.
Figure prompts_figure(ResultDirectory& directory, const PromptSources& of) {
  OutputFile data(directory.file("figures/prompts.csv"));
  data.text("time_s,hit_percent");
  for (const std::string& source : of.sources) data.print(",{}", source);
  data.line_done();
  double most = 0;
  for (std::size_t at = 0; at < of.time_s.size(); ++at) {
    data.print("{},{}", of.time_s[at], of.hit_percent[at]);
    double sum = 0;
    for (const auto& source : of.tokens_per_s) data.print(",{}", sum += source[at]);
    data.line_done();
    most = std::max(most, sum);
  }
  data.close();
  std::string body = over_time;
  for (std::size_t source = of.sources.size(); source-- > 0;)
    body += fmt::format("{} using ($1-period/2):(${}/k):(period) skip 1 with boxes lc rgb '{}' title '{}'",
                        source + 1 == of.sources.size() ? "plot \"prompts.csv\"" : ", \\\n     \"\"",
                        source + 3, colours[source % std::size(colours)], of.sources[source]);
  return {.name = "prompts",
          .height = 560,
          .settings = fmt::format("duration = {}\nperiod = {}\nmost = {}\n", of.time_s.back(),
                                  of.time_s.front(), most),
          .body = body + "\n" + share};
}

Figure ttft_figure(ResultDirectory& directory, const PromptSources& of) {
  OutputFile data(directory.file("figures/ttft_by_hit_share.csv"));
  data.text("from_percent,requests,p50_ttft_ms,p90_ttft_ms\n");
  for (const PromptSources::Tenth& tenth : of.tenths)
    data.print("{},{},{},{}\n", tenth.from_percent, tenth.requests, tenth.p50_ttft_ms, tenth.p90_ttft_ms);
  data.close();
  return {.name = "ttft_by_hit_share", .settings = "", .body = ttft};
}

}  // namespace

void draw_prompts(ResultDirectory& directory, const RunResult& result) {
  PromptSums sums(result.end.value(), 2 + result.kv_tiers);
  for (std::size_t i = 0; i < result.requests.size(); ++i) {
    const RequestRecord& record = result.requests[i];
    if (!is_measured(record)) continue;
    const std::vector<std::int64_t> tokens = sources_of(result, i);
    const bool answered = record.first_token >= Seconds(0);
    sums.add(record.scheduled.value(), answered ? 1e3 * time_to_first_token(record).value() : std::nan(""),
             {tokens.begin(), tokens.end()});
  }
  const auto of = std::move(sums).result();
  if (!of) return;
  draw(directory, prompts_figure(directory, *of));
  if (!of->tenths.empty()) draw(directory, ttft_figure(directory, *of));
}

}  // namespace weir
