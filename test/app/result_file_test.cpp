// --out FILE of report, memory and calibrate, and figures of plot: what stands there is replaced only where
// it is a result of the same kind, and never what the command reads.
#include <catch2/catch.hpp>

#include <sys/stat.h>

#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

struct Writer {
  std::vector<std::string> words;  // but for --out FILE
  std::vector<std::string> inputs;
};

class Place {
 public:
  Place() {
    REQUIRE(run_small(scratch, "a").code == 0);
    write(scratch / "trace.csv", "arrival,op,addr_hex\n0,R,0x0\n10,W,0x40\n");
    fs::copy(shipped("quickstart.json"), scratch / "scenario.json");
    write(
        scratch / "measured.json",
        R"({"request_rate": "inf", "burstiness": 1.0, "max_concurrency": 4, "model_id": "it", "completed": 24,
              "total_input_tokens": 12288, "total_output_tokens": 1536, "request_throughput": 6.0,
              "mean_ttft_ms": 40.0, "mean_tpot_ms": 9.0})");
    writers = {
        {{"report", "out/a"}, {"out/a/summary.json", "out/a/requests.csv"}},
        {{"memory", "ddr4_3200_l3", "trace.csv"}, {"trace.csv"}},
        {{"calibrate", "measured.json", "--scenario", "scenario.json"}, {"measured.json", "scenario.json"}}};
  }

  Ended run(const Writer& writer, const std::string& out) const {
    std::vector<std::string> words = writer.words;
    words.insert(words.end(), {"--out", out});
    return run_weir(words, {.folder = scratch.path()});
  }

  void check_refused(const Writer& writer, const std::string& out, const std::string& why) const {
    INFO(writer.words[0] << " --out " << out);
    const Ended ended = run(writer, out);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains("--out " + out) && Catch::Contains(why));
  }

  ScratchDirectory scratch;
  std::vector<Writer> writers;
};

}  // namespace

TEST_CASE("--out FILE: what a command reads, and what is somebody's own, stays as it is") {
  const Place place;
  const std::vector<std::pair<std::string, std::string>> theirs = {
      {"notes.txt", "mine\n"},
      {"other.json", "{\"a\": 1}\n"},
      {"other.html", "<!doctype html>\n<title>x</title>\n"},
      {"rows.csv", "arrival,op,addr_hex\n0,R,0x0\n"}};
  for (const auto& [name, text] : theirs) write(place.scratch / name, text);
  for (const Writer& writer : place.writers) {
    for (const std::string& input : writer.inputs) {
      const std::string before = contents(place.scratch / input);
      place.check_refused(writer, input, "choose another file");
      fs::create_hard_link(place.scratch / input, place.scratch / "linked");
      place.check_refused(writer, "linked", "choose another file");
      CHECK(contents(place.scratch / input) == before);
      fs::remove(place.scratch / "linked");
    }
    for (const auto& [name, text] : theirs) {
      place.check_refused(writer, name, "would be replaced");
      CHECK(contents(place.scratch / name) == text);
    }
  }
}

TEST_CASE("--out FILE: links, pipes, devices and folders are refused, and nothing is written through them") {
  const Place place;
  write(place.scratch / "mine", "mine");
  fs::create_symlink("mine", place.scratch / "link");
  fs::create_symlink("nowhere", place.scratch / "dangling");
  fs::create_symlink("/dev/full", place.scratch / "to_device");
  REQUIRE(::mkfifo((place.scratch / "pipe").c_str(), 0600) == 0);
  for (const Writer& writer : place.writers) {
    for (const char* link : {"link", "dangling", "to_device"}) place.check_refused(writer, link, "is a link");
    place.check_refused(writer, "pipe", "is a named pipe");
    place.check_refused(writer, "/dev/null", "is a device");
    place.check_refused(writer, "out", "is a directory");
    place.check_refused(writer, "no/such/folder/file", "No such file or directory");
    CHECK(place.run(writer, "").code == 2);
  }
  CHECK(contents(place.scratch / "mine") == "mine");
  CHECK_FALSE(fs::exists(place.scratch / "nowhere"));
  CHECK(fs::is_fifo(place.scratch / "pipe"));
  CHECK(fs::is_character_file("/dev/null"));
}

TEST_CASE("--out FILE: a result of the same kind is replaced, and one of another is not") {
  const Place place;
  for (const char* linked : {".partial", ".html.partial"})
    fs::create_symlink("trace.csv", place.scratch / (std::string("result") + linked));
  const std::string trace = contents(place.scratch / "trace.csv");
  for (const Writer& writer : place.writers) {
    const std::string own = "result." + writer.words[0];
    for (int i = 0; i < 2; ++i) {
      const Ended ended = place.run(writer, own);
      INFO(ended.err);
      CHECK((ended.code == 0 || (ended.code == 3 && writer.words[0] == "calibrate")));
      if (ended.code == 3)
        write(place.scratch / own, R"({"format": "weir-calibration-1", "engine": "vllm_v1"})");
    }
    for (const Writer& other : place.writers)
      if (other.words[0] != writer.words[0]) place.check_refused(other, own, "would be replaced");
  }
  CHECK(contents(place.scratch / "trace.csv") == trace);
  write(place.scratch / "empty", "");  // as mktemp makes one: there is nothing to lose
  CHECK(place.run(place.writers[1], "empty").code == 0);
}

TEST_CASE("--out DIR: a directory that holds what the command reads is not replaced") {
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a").code == 0);
  fs::copy(shipped("quickstart.json"), scratch / "out/a/mine.json");
  const std::string before = contents(scratch / "out/a/mine.json");
  for (const auto& words : {std::vector<std::string>{"run", "out/a/mine.json", "--out", "out/a"},
                            {"run", "out/a/mine.json", "--out", "out"}}) {
    const Ended ended = run_weir(words, {.folder = scratch.path()});
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err,
               Catch::Contains("mine.json, which this command reads") || Catch::Contains("not a result"));
    CHECK(contents(scratch / "out/a/mine.json") == before);
  }
  write(scratch / "out/a/sweep.json", R"({"scenario": "mine.json", "vary": {"/seed": [1, 2]}})");
  const Ended sweep = run_weir({"sweep", "out/a/sweep.json", "--out", "out/a"}, {.folder = scratch.path()});
  CHECK(sweep.code == 2);
  CHECK_THAT(sweep.err, Catch::Contains("which this command reads"));
  CHECK(contents(scratch / "out/a/mine.json") == before);
}

TEST_CASE("weir plot: figures replace figures, and nothing else that has their name") {
  if (std::system("command -v gnuplot > /dev/null") != 0) {
    WARN("skipped: no gnuplot here");
    return;
  }
  const ScratchDirectory scratch;
  REQUIRE(run_small(scratch, "a").code == 0);
  const auto plot = [&](const std::string& out) {
    return run_weir({"plot", "out/a", "--kind", "cdf", "--out", out}, {.folder = scratch.path()});
  };
  for (int i = 0; i < 2; ++i) CHECK(plot("figures_of_it").code == 0);
  fs::create_directory(scratch / "own");
  write(scratch / "own/cdf.svg", "<svg>mine</svg>");
  const Ended own = plot("own");
  CHECK(own.code == 2);
  CHECK_THAT(own.err, Catch::Contains("is no figure of weir plot"));
  CHECK(contents(scratch / "own/cdf.svg") == "<svg>mine</svg>");
  fs::create_directories(scratch / "linked/figures");
  fs::create_symlink(scratch / "own/cdf.svg", scratch / "linked/figures/cdf.csv");
  CHECK(plot("linked").code == 2);
  CHECK(contents(scratch / "own/cdf.svg") == "<svg>mine</svg>");
}
