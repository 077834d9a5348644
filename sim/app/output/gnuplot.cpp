#include "sim/app/output/gnuplot.h"

#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "sim/app/output/output_file.h"

namespace weir {
namespace {

// 680 px with 20 px letters is a column of 3.4 in with 7.2 pt letters, and still fills a browser. Colours:
// Okabe and Ito's palette, told apart under every common colour blindness (jfly.uni-koeln.de/color); every
// line also has its own dash, for print without colour.
constexpr const char* style = R"gp(set datafile separator ","
set border 3 lw 1.5 lc rgb "#404040"
set tics nomirror out scale 0.6 textcolor rgb "#202020"
set grid back lw 1 lc rgb "#e0e0e0" dt 1
set style line 1 lc rgb "#0072B2" lw 3.5 dt 1
set style line 2 lc rgb "#D55E00" lw 3.5 dt (18,5)
set style line 3 lc rgb "#009E73" lw 3.5 dt (5,4)
set xlabel offset 0,0.5
set ylabel offset 0.8,0
set key Left reverse noopaque samplen 2 spacing 1.1
round_up(x, unit) = (x > 5*unit ? 10 : x > 2*unit ? 5 : x > unit ? 2 : 1) * unit
step_of(range, steps) = range > 0 ? round_up(range / steps, 10**floor(log10(range / steps))) : 1
thousands(most) = most > 8000 ? 1000 : 1  # beyond, the last of four tics has five digits
)gp";

// The same picture in each: of PDF, 200 px are an inch; of PNG, a px is two. A letter of n px has a font size
// of n*pt.
std::string terminal_of(const std::string& format) {
  if (format == "svg")
    return "set terminal svg size 680,height enhanced font \"Helvetica,20\" background \"white\"\npt = 1\n";
  if (format == "pdf")
    return "set terminal pdfcairo size 3.4in,height/200.0*1in enhanced color font \"Helvetica,7.2\" "
           "linewidth 0.72 "
           "pointscale 0.62 fontscale 0.75\npt = 0.36\n";
  if (format == "png")
    return "set terminal pngcairo size 1360,2*height enhanced font \"Helvetica,15\" fontscale 2 linewidth 2 "
           "pointscale 3.9 background \"white\"\npt = 0.75\n";
  throw std::logic_error("no such format of figures: " + format);
}

// In the script's own directory.
void run_gnuplot(const std::filesystem::path& script) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, script.parent_path().c_str());
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;  // we may have blocked SIGINT (interruption.h); gnuplot should hear it
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);

  std::string program = "gnuplot", file = script.filename().string();
  char* arguments[] = {program.data(), file.data(), nullptr};
  pid_t child = 0;
  const int error = posix_spawnp(&child, "gnuplot", &actions, &attributes, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw std::system_error(error, std::generic_category(), "cannot start gnuplot");
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) throw std::runtime_error("gnuplot failed on " + script.filename().string());
}

}  // namespace

void require_gnuplot() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((std::filesystem::path(folder) / "gnuplot").c_str(), X_OK) == 0) return;
  throw std::runtime_error(
      "figures need gnuplot, which is not on PATH (Debian: apt-get install gnuplot-nox)");
}

void draw(const std::filesystem::path& folder, const Figure& figure, const std::string& format) {
  std::filesystem::create_directories(folder / "figures");
  const auto script = folder / "figures" / (figure.name + ".gp");
  write_file(script,
             fmt::format("height = {}\n{}set output \"../{}.{}\"\n{}{}{}", figure.height, terminal_of(format),
                         figure.name, format, style, figure.settings, figure.body));
  run_gnuplot(script);
}

void draw(ResultDirectory& directory, const Figure& figure) {
  draw(directory.file("figures").parent_path(), figure);
}

}  // namespace weir
