// Whatever a text of a user's holds, every figure draws it, as it is, and gnuplot has nothing to say.
#include <catch2/catch.hpp>

#include <boost/algorithm/string/replace.hpp>
#include <cstdio>

#include "sim/app/output/figures.h"
#include "sim/app/output/gnuplot.h"
#include "sim/app/output/output_file.h"
#include "sim/app/plot/canvas.h"
#include "sim/studies/bars.h"
#include "sim/studies/validation/validation.h"
#include "test/app/hostile_texts.h"
#include "test/app/made_results.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

// What is seen of it: UTF-8, its control characters as spaces.
std::string seen(const std::string& text) {
  std::string out =
      Json::parse(Json(text).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
  for (char& c : out)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  boost::replace_all(out, "\xEF\xBF\xBE", "\xEF\xBF\xBD");
  return out;
}

// What is between tags, entities as their signs.
std::string without_tags(const std::string& xml) {
  std::string text;
  bool in_tag = false;
  for (const char c : xml) {
    if (c == '<')
      in_tag = true;
    else if (c == '>' && in_tag)
      in_tag = false;
    else if (!in_tag)
      text += c;
  }
  for (const auto& [entity, sign] :
       {std::pair{"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", "\""}, {"&#x00025;", "%"}, {"&amp;", "&"}})
    boost::replace_all(text, entity, sign);
  return text;
}

// The texts of an SVG, which must be XML: UTF-8, and no bare ampersand.
std::multiset<std::string> texts_in(const fs::path& svg) {
  const std::string file = contents(svg);
  CHECK_NOTHROW(Json(file).dump());
  int bare = 0;
  for (std::size_t at = 0; (at = file.find('&', at)) != std::string::npos; ++at) {
    const std::string entity = file.substr(at + 1, file.substr(at, 9).find(';') - 1);
    bare += entity != "amp" && entity != "lt" && entity != "gt" && entity != "quot" && entity[0] != '#';
  }
  CHECK(bare == 0);
  std::multiset<std::string> found;
  for (std::size_t at = 0; (at = file.find("<text", at)) != std::string::npos;) {
    const std::size_t end = file.find("</text>", at);
    found.insert(without_tags(file.substr(at, end - at)));
    at = end;
  }
  return found;
}

// Draws it again, as a user does who has changed the script; what gnuplot says.
std::string drawn_again(const fs::path& folder, const std::string& name) {
  const std::string command =
      "cd '" + (folder / "figures").string() + "' && LC_ALL=C.UTF-8 gnuplot " + name + ".gp 2>&1";
  std::string said;
  FILE* const gnuplot = ::popen(command.c_str(), "r");
  for (int c; (c = std::fgetc(gnuplot)) != EOF;) said += static_cast<char>(c);
  CHECK(::pclose(gnuplot) == 0);
  return said;
}

bool shows(const std::multiset<std::string>& texts, const std::string& text) {
  return texts.contains(seen(text)) || texts.contains(" " + seen(text));
}

}  // namespace

TEST_CASE("figures: a label, a title, an entry of the legend and a tic show any text as it is") {
  const ScratchDirectory scratch;
  const Texts texts = hostile_texts();
  Figure figure{.name = "all",
                .height = 4000,
                .settings = "",
                .body = "set key at screen 1, screen 1 maxcols 1\nset xtics ("};
  for (std::size_t i = 0; i < texts.size(); ++i)
    figure.body += fmt::format("{}{} {}", i ? ", " : "", gnuplot_tic(texts[i]), i);
  figure.body += ")\n";
  for (std::size_t i = 0; i < texts.size(); ++i)
    figure.body += text_at(10, 30.0 * static_cast<double>(i), 4000, texts[i], "left", 20);
  figure.body += fmt::format("plot [0:{}] x notitle", texts.size());
  constexpr std::size_t widest = 60;  // gnuplot leaves out a whole legend that has no room
  for (const std::string& text : texts)
    if (text.size() < widest) figure.body += ", \\\n  keyentry with lines title " + gnuplot_text(text);
  for (const std::string format : {"svg", "pdf", "png"}) {
    draw(scratch.path(), figure, format);
    CHECK(drawn_again(scratch.path(), "all") == "");
    CHECK(fs::file_size(scratch / ("all." + format)) > 1000);
  }
  draw(scratch.path(), figure);
  const std::multiset<std::string> drawn = texts_in(scratch / "all.svg");
  for (const std::string& text : texts) {
    INFO(text);
    if (seen(text).find_first_not_of(' ') != std::string::npos)
      CHECK(drawn.count(seen(text)) >= (text.size() < widest ? 3 : 2));
  }
}

TEST_CASE("figures: letters beyond ASCII are drawn in every format") {
  const ScratchDirectory scratch;
  const auto drawn = [&](const std::string& format, const std::string& text) {
    draw(scratch.path(),
         {.name = "one",
          .height = 400,
          .settings = "",
          .body = text_at(99, 99, 400, text, "left", 20) + "plot x\n"},
         format);
    return contents(scratch / ("one." + format)).size();
  };
  for (const char* format : {"svg", "png", "pdf"}) {
    const std::size_t nothing = drawn(format, ""), ascii = drawn(format, "abcdefgh"),
                      letters = drawn(format, "\u00e4bcd\u00e9fgh");
    INFO(format << ": " << nothing << " " << ascii << " " << letters);
    CHECK(ascii > nothing);
    CHECK(letters > nothing);
    CHECK(static_cast<double>(letters - nothing) > 0.7 * static_cast<double>(ascii - nothing));
  }
}

TEST_CASE("figures: a field of their data is one field, whatever its text") {
  const ScratchDirectory scratch;
  const Texts texts = hostile_texts();
  std::string rows;
  for (std::size_t i = 0; i < texts.size(); ++i) rows += fmt::format("{},{},{}\n", i, csv_text(texts[i]), 1);
  fs::create_directories(scratch / "figures");
  write(scratch / "figures/data.csv", rows);
  write(scratch / "figures/sum.gp",
        "set datafile separator \",\"\nstats 'data.csv' using 3 nooutput\nprint int(STATS_sum)\n");
  CHECK(drawn_again(scratch.path(), "sum") == fmt::format("{}\n", texts.size()));
}

TEST_CASE("figures: each kind of weir plot draws a sweep whose keys and values are any text") {
  const Texts texts = hostile_texts();
  const std::string rate = "/workload/arrivals/rate_per_s";
  constexpr std::size_t most = 7;  // as many as have a colour and a name
  for (std::size_t begin = 0; begin < texts.size(); begin += most) {
    const std::size_t from = std::min(begin, texts.size() - most);
    const ScratchDirectory scratch;
    std::vector<MadePoint> points;
    std::string key = texts[from];
    boost::replace_all(key, "~", "~0");
    boost::replace_all(key, "/", "~1");
    for (std::size_t i = from; i < std::min(texts.size(), from + most); ++i)
      for (const double load : {1.0, 2.0}) {
        const double time = 10 + static_cast<double>(i) * load;
        Json metrics = {{"duration", 10.0},
                        {"output_throughput", 100 / time},
                        {"tokens_per_s_per_user", time},
                        {"tokens_per_s_per_device", 1 / time}};
        for (const char* q : {"mean", "p50", "p90", "p95", "p99"})
          metrics[std::string(q) + "_ttft_ms"] = metrics[std::string(q) + "_tpot_ms"] = time;
        metrics["devices"] = {
            {{"name", seen(texts[i])}, {"kind", seen(texts[i])}, {"devices", 1}, {"energy_j", 5.0}}};
        const Json value = Json::parse(Json(texts[i]).dump(-1, ' ', false, Json::error_handler_t::replace));
        points.push_back({{{"/x/" + seen(key), value}, {rate, load}}, made_summary(Json::object(), metrics)});
      }
    make_sweep(scratch / "sweep", points);
    const Ended ended = run_weir({"plot", scratch / "sweep"});
    INFO(texts[from] << "\n"
                     << ended.out << ended.err
                     << run_weir({"plot", scratch / "sweep", "--kind", "heatmap"}).err);
    REQUIRE(ended.code == 0);
    CHECK(ended.err == "");
    CHECK(test::lines(ended.out) == 5);
    for (const char* kind : {"throughput_latency", "pareto", "heatmap", "cdf", "breakdown"})
      texts_in(scratch / "sweep/plots" / (std::string(kind) + ".svg"));
    const auto legend = texts_in(scratch / "sweep/plots/throughput_latency.svg");
    for (std::size_t i = from; i < std::min(texts.size(), from + most); ++i) {
      INFO(texts[i]);
      if (texts[i].size() < 60 && seen(texts[i]).find_first_not_of(' ') != std::string::npos)
        CHECK(shows(legend, texts[i]));
    }
  }
}

TEST_CASE("figures: those of a run draw devices of any name") {
  const ScratchDirectory scratch;
  RunResult result;
  RequestRecord done;
  done.request = {Seconds(0), 100, 5};
  done.status = RequestStatus::completed;
  done.scheduled = Seconds(0.5);
  done.first_token = Seconds(1);
  done.finished = result.end = Seconds(2);
  result.requests = {done, done};
  const Texts texts = hostile_texts();
  for (std::size_t from = 0; from < texts.size(); from += 24) {
    result.devices.clear();
    Json devices = Json::array();
    for (std::size_t i = from; i < std::min(texts.size(), from + 24); ++i) {
      result.devices.emplace_back();
      result.devices.back().name = texts[i];
      result.devices.back().compute_bound = Seconds(1);
      devices.push_back({{"name", seen(texts[i])}, {"kind", seen(texts[i])}, {"compute_bound_s", 1.0}});
    }
    result.samples = {{Seconds(1), 1, 0, 10, 5, std::vector(result.devices.size(), 0.5),
                       std::vector(result.devices.size(), 0.0)},
                      {Seconds(2), 1, 1, 10, 5, std::vector(result.devices.size(), 0.5),
                       std::vector(result.devices.size(), 0.0)}};
    Plan plan;
    plan.replicas.emplace_back().kv_blocks = 100;
    Metrics metrics;
    metrics.completed = 2;
    metrics.duration = Seconds(2);
    {
      ResultDirectory directory(scratch / "run");
      write_timeseries_csv(directory.file("timeseries.csv"), result);
      write_requests_csv(directory.file("requests.csv"), result);
      const Json summary = made_summary(
          Json::object(), {{"duration", 2.0}, {"kv_cache", {{"blocks", 100}}}, {"devices", devices}});
      write_file(directory.file("summary.json"), summary.dump());
      draw_figures(directory, {plan, result, metrics});
      directory.commit();
    }
    const bool long_ones =
        std::ranges::any_of(result.devices, [](const auto& d) { return d.name.size() > 60; });
    const auto shown = texts_in(scratch / "run/utilisation.svg");
    for (const DeviceUsage& device : result.devices) {
      INFO(device.name);
      if (!long_ones && seen(device.name).find_first_not_of(' ') != std::string::npos)
        CHECK(shows(shown, device.name));
    }
    for (const char* name : {"latency", "throughput", "utilisation", "kv_cache"})
      if (!long_ones) CHECK(drawn_again(scratch / "run", name) == "");
    const Ended plotted = run_weir({"plot", scratch / "run"});
    CHECK(plotted.code == 0);
    CHECK(plotted.err == "");
    texts_in(scratch / "run/plots/breakdown.svg");
  }
}

TEST_CASE("figures: those of studies draw any names of machines, kernels, traces and series") {
  const Texts all = hostile_texts();
  constexpr std::size_t most = 8;
  for (std::size_t from = 0; from < all.size(); from += most) {
    const Texts texts(all.begin() + static_cast<std::ptrdiff_t>(from),
                      all.begin() + static_cast<std::ptrdiff_t>(std::min(from + most, all.size())));
    const ScratchDirectory scratch;
    ResultDirectory directory(scratch / "study");
    std::string servers =
                    "device,engine,measured_ttft_ms,simulated_ttft_ms,measured_tpot_ms,simulated_tpot_ms,"
                    "measured_output_throughput,simulated_output_throughput\n",
                kernels = "kernel,machine,error_percent,accept_max_percent\n";
    Bars panel{.title = texts.back(), .groups = texts};
    BarFigure bars{.name = "bars", .ylabel = texts.front(), .series = {}, .xlabel = texts.back()};
    bool long_ones = false;  // which gnuplot draws where they have room, and then has something to say
    for (std::size_t i = 0; i < texts.size(); ++i) {
      servers += fmt::format("{0},vllm,{1},{2},{1},{2},{1},{2}\n", csv_text(texts[i]), 1 + i, 2 + i);
      kernels +=
          fmt::format("{},{},{},{}\n", csv_text(texts[i]), csv_text(texts[texts.size() - 1 - i]), i, 5);
      bars.series.push_back({texts[i], "#999999"});
      long_ones = long_ones || texts[i].size() > 60;
    }
    panel.judged = panel.physical = std::vector(texts.size(), std::vector<double>(texts.size(), 1.0));
    bars.panels = {panel};
    write(directory.file("servers.csv"), servers);
    write(directory.file("kernels.csv"), kernels);
    draw_validation(directory, {});
    draw_bars(directory, bars);
    const fs::path folder = directory.file("figures").parent_path();
    for (const char* name : {"tpot", "ttft", "throughput", "kernels", "bars"}) {
      INFO(name << " of " << texts.front());
      if (!long_ones) CHECK(drawn_again(folder, name) == "");
      texts_in(folder / (std::string(name) + ".svg"));
    }
    const auto shown = texts_in(folder / "bars.svg");
    for (const std::string& text : texts) {
      INFO(text);
      if (!long_ones && seen(text).find_first_not_of(' ') != std::string::npos) CHECK(shows(shown, text));
    }
  }
}
