#include "sim/app/output/gnuplot.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <vector>

#include "sim/app/interruption.h"
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
step_of(range, steps) = range > 0 ? round_up(1.0*range / steps, 10**floor(log10(1.0*range / steps))) : 1
thousands(most) = most > 8000 ? 1000 : 1  # beyond, the last of four tics has five digits
)gp";

constexpr const char* no_gnuplot =
    "they need gnuplot, which is not on PATH (Debian: apt-get install gnuplot-nox)";

// The same picture in each: of PDF, 200 px are an inch; of PNG, a px is two. A letter of n px has a font size
// of n*pt.
std::string terminal_of(const std::string& format) {
  if (format == "svg")
    return "set terminal svg size 680,height enhanced font \"Helvetica,20\" background \"white\"\npt = "
           "1\namp = \"&amp;\"\n";
  if (format == "pdf")
    return "set encoding utf8\nset terminal pdfcairo size 3.4in,height/200.0*1in enhanced color font "
           "\"Helvetica,7.2\" "
           "linewidth 0.72 "
           "pointscale 0.62 fontscale 0.75\npt = 0.36\namp = \"&\"\n";
  if (format == "png")
    return "set encoding utf8\nset terminal pngcairo size 1360,2*height enhanced font \"Helvetica,15\" "
           "fontscale 2 linewidth 2 "
           "pointscale 3.9 background \"white\"\npt = 0.75\namp = \"&\"\n";
  throw std::logic_error("no such format of figures: " + format);
}

// In the script's own directory. It dies with this process. A Ctrl-C, which the terminal sends to both, is
// blocked in it as here, so that this process ends it and knows why.
[[noreturn]] void become_gnuplot(const char* folder, char* const* arguments, char* const* environment,
                                 pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGXFSZ, SIG_DFL);
  if (::getppid() == parent && ::chdir(folder) == 0) ::execvpe(arguments[0], arguments, environment);
  ::_exit(127);
}

void end(pid_t child) {
  int status = 0;
  ::kill(child, SIGKILL);
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
}

// The status of waitpid(). Where a signal comes first, or no end, the child is gone and this throws.
int wait_for(pid_t child, const std::string& script, std::chrono::milliseconds patience) {
  const auto started = std::chrono::steady_clock::now();
  const int handle =
      static_cast<int>(::syscall(SYS_pidfd_open, child, 0));  // -1 on an old kernel: poll waits
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    pollfd ended{handle, POLLIN, 0};
    ::poll(&ended, 1, 50);
    try {
      Interruption::check();
    } catch (const Interrupted&) {
      end(child);
      ::close(handle);
      throw;
    }
    if (std::chrono::steady_clock::now() - started < patience) continue;
    end(child);
    ::close(handle);
    throw std::runtime_error(fmt::format("gnuplot did not end on {} within {:g} s", script,
                                         std::chrono::duration<double>(patience).count()));
  }
  ::close(handle);
  return status;
}

void run_gnuplot(const std::filesystem::path& script, std::chrono::milliseconds patience) {
  std::string program = "gnuplot", file = script.filename().string();
  const std::string folder = script.parent_path().string();
  char* arguments[] = {program.data(), file.data(), nullptr};
  std::string locale = "LC_ALL=C.UTF-8";  // elsewhere it complains of an encoding that the locale lacks
  std::vector<char*> environment;
  for (char** variable = environ; *variable; ++variable)
    if (!std::string_view(*variable).starts_with("LC_ALL=")) environment.push_back(*variable);
  environment.insert(environment.end(), {locale.data(), nullptr});
  const pid_t parent = ::getpid();
  std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "cannot start gnuplot");
  if (child == 0) become_gnuplot(folder.c_str(), arguments, environment.data(), parent);
  if (wait_for(child, file, patience) != 0) throw std::runtime_error("gnuplot failed on " + file);
}

// gnuplot may end well although its output did not fit on the disk.
void require_whole(const std::filesystem::path& picture, const std::string& format) {
  const std::string_view end = format == "svg" ? "</svg>" : format == "pdf" ? "%%EOF" : "IEND";
  std::error_code none;
  if (std::filesystem::file_size(picture, none) == 0 || none)
    throw std::runtime_error("gnuplot wrote nothing into " + picture.filename().string());
  std::ifstream in(picture, std::ios::binary);
  in.seekg(-std::min<std::streamoff>(16, static_cast<std::streamoff>(std::filesystem::file_size(picture))),
           std::ios::end);
  const std::string tail{std::istreambuf_iterator<char>(in), {}};
  if (tail.find(end) == std::string::npos)
    throw std::runtime_error("gnuplot did not write the whole of " + picture.filename().string() +
                             ": is the disk full?");
}

}  // namespace

namespace {

bool gnuplot_is_there() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((std::filesystem::path(folder) / "gnuplot").c_str(), X_OK) == 0) return true;
  return false;
}

}  // namespace

void require_gnuplot() {
  if (!gnuplot_is_there()) throw std::runtime_error(std::string("no figures: ") + no_gnuplot);
}

bool can_draw(bool wanted) {
  if (wanted && !gnuplot_is_there()) fmt::print(stderr, "note: no figures: {}\n", no_gnuplot);
  return wanted && gnuplot_is_there();
}

void draw(const std::filesystem::path& folder, const Figure& figure, const std::string& format,
          std::chrono::milliseconds patience) {
  std::filesystem::create_directories(folder / "figures");
  const auto script = folder / "figures" / (figure.name + ".gp");
  write_file(script,
             fmt::format("height = {}\n{}set output \"../{}.{}\"\n{}{}{}", figure.height, terminal_of(format),
                         figure.name, format, style, figure.settings, figure.body));
  run_gnuplot(script, patience);
  require_whole(folder / (figure.name + "." + format), format);
}

bool is_figure_script(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string words;
  return std::getline(in, words) && words.starts_with("height = ");
}

void draw(ResultDirectory& directory, const Figure& figure) {
  draw(directory.file("figures").parent_path(), figure);
}

}  // namespace weir
