// Files that are too large, and special files, are refused at once, whichever key or argument names them.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <cstring>
#include <sstream>

#include "sim/core/params.h"
#include "test/app/run_weir.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

const std::string one_h100 = R"("cluster": {"nodes": [{"devices": [{"kind": "h100_sxm"}]}]})";

std::string workload_of(const std::string& requests) {
  return R"({"model": "llama3.1-8b", )" + one_h100 + R"(, "workload": {"requests": )" + requests +
         R"(, "arrivals": {"kind": "all_at_once"}}})";
}

// Files that a scenario, a sweep or a command names; FILE stands for what is tried.
struct Named {
  std::string what, json;
  std::vector<std::string> command = {"check", "s.json"};
};
std::vector<Named> named_files() {
  return {
      {"a scenario", "", {"check", "FILE"}},
      {"a scenario to run", "", {"run", "FILE", "--out", "out"}},
      {"a sweep", "", {"sweep", "FILE", "--out", "out"}},
      {"a sweep's scenario", R"({"scenario": "FILE", "seeds": 2})"},
      {"a csv trace", workload_of(R"({"kind": "csv", "file": "FILE"})")},
      {"a compressed trace", workload_of(R"({"kind": "azure", "file": "FILE"})")},
      {"a CSV of any columns",
       workload_of(
           R"({"kind": "columns", "file": "FILE", "columns": {"input_tokens": "a", "output_tokens": "b"}})")},
      {"JSON Lines", workload_of(R"({"kind": "jsonl", "file": "FILE"})")},
      {"a JSON trace", workload_of(R"({"kind": "mooncake", "file": "FILE"})")},
      {"a text trace",
       workload_of(
           R"({"kind": "alpaca", "file": "FILE", "tokens": {"kind": "estimate", "characters_per_token": 4}})")},
      {"a tokenizer",
       workload_of(
           R"({"kind": "alpaca", "file": "s.json", "tokens": {"kind": "tokenizer", "file": "FILE"}})")},
      {"a model", R"({"model": "FILE", )" + one_h100 +
                      R"(, "workload": {"requests": {"kind": "fixed", "count": 1, "input_tokens": 1,
                         "output_tokens": 1}, "arrivals": {"kind": "all_at_once"}}})"},
      {"a memory trace", "", {"memory", "hbm2_neupims", "FILE"}},
  };
}

std::string with_file(std::string text, const std::string& file) {
  for (std::size_t at; (at = text.find("FILE")) != std::string::npos;) text.replace(at, 4, file);
  return text;
}

void check_refused(const ScratchDirectory& scratch, const std::string& file, const std::string& why) {
  for (Named& named : named_files()) {
    if (!named.json.empty()) write(scratch / "s.json", with_file(named.json, file));
    for (std::string& word : named.command) word = with_file(word, file);
    const auto started = std::chrono::steady_clock::now();
    const Ended ended = run_weir(named.command, {.folder = scratch.path()});
    INFO(named.what << " " << file << ": " << ended.err);
    CHECK(ended.code == 2);
    CHECK_THAT(ended.err, Catch::Contains(why));
    CHECK(std::chrono::steady_clock::now() - started < std::chrono::seconds(20));  // it waits for nobody
  }
}

}  // namespace

TEST_CASE("weir: pipes, sockets, devices and directories are no files, wherever they are named") {
  const ScratchDirectory scratch;
  REQUIRE(::mkfifo((scratch / "pipe.json").c_str(), 0600) == 0);
  check_refused(scratch, "./pipe.json", "pipe.json: is a named pipe, not a file");
  const int listening = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  std::strncpy(address.sun_path, (scratch / "socket.json").c_str(), sizeof address.sun_path - 1);
  REQUIRE(::bind(listening, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
  check_refused(scratch, "./socket.json", "socket.json: is a socket, not a file");
  ::close(listening);
  for (const char* device : {"/dev/zero", "/dev/full", "/dev/tty", "/dev/random"})
    check_refused(scratch, device, std::string(device) + ": is a device, not a file");
  fs::create_symlink("/dev/zero", scratch / "link.json");
  check_refused(scratch, "./link.json", "link.json: is a device, not a file");
  fs::create_directory(scratch / "folder.csv");
  check_refused(scratch, "./folder.csv", "folder.csv");  // a model's is looked into
  CHECK_FALSE(fs::exists(scratch / "out"));
}

TEST_CASE("weir: a file that is too long is refused by its size, before it is read") {
  const ScratchDirectory scratch;
  write(scratch / "long.json", "{");
  fs::resize_file(scratch / "long.json", std::uintmax_t{1} << 40);  // of holes
  check_refused(scratch, "./long.json", "has 1048576 MiB, longer than ");
}

TEST_CASE("streams: standard input is read to its end, and no further than a scenario may be long") {
  std::istringstream some("{\"seed\": 1}");
  CHECK(read_text_stream(some, "-") == "{\"seed\": 1}");
  std::istringstream much(std::string(3 << 20, ' '));
  CHECK_THROWS_AS(read_text_stream(much, "-", 2 << 20), ConfigError);
}

TEST_CASE("weir check: 100,000 entries of any list are counted, not read") {
  const ScratchDirectory scratch;
  const auto repeated = [](const std::string& one) {
    std::string all = one;
    for (int i = 1; i < 100'000; ++i) all += "," + one;
    return all;
  };
  const auto complaint = [&](const std::string& nodes, const std::string& replicas) {
    const std::string file =
        write(scratch / "s.json",
              R"({"model": "llama3.1-8b", "cluster": {"nodes": [)" + nodes +
                  R"(]}, "serving": {"replicas": [)" + replicas +
                  R"(]}, "workload": {"requests": {"kind": "fixed", "count": 1, "input_tokens": 1,
                                         "output_tokens": 1}, "arrivals": {"kind": "all_at_once"}}})");
    const Ended ended = run_weir({"check", file});
    CHECK(ended.code == 2);
    CHECK(ended.err.size() < 1000);
    return ended.err;
  };
  const std::string device = R"({"kind": "h100_sxm"})", node = R"({"devices": [)" + device + "]}";
  CHECK_THAT(complaint(R"({"devices": [)" + repeated(device) + "]}", "{}"),
             Catch::Contains("/cluster/nodes: expected at most 16384 devices in all"));
  CHECK_THAT(complaint(repeated(node), "{}"),
             Catch::Contains("/cluster/nodes: expected a list of at most 4096 objects"));
  CHECK_THAT(complaint(node, repeated("{}")),
             Catch::Contains("/serving/replicas: expected a list of at most 16384 objects"));
  std::string full = R"({"devices": [)";
  for (int i = 0; i < 1026; ++i) full += (i ? "," : "") + device;
  full += "]}";
  CHECK_THAT(
      complaint(full, "{}"),
      Catch::Contains("/cluster/nodes/0/devices: expected a list of at most 1025 objects, got a list of "
                      "1026 values"));
  std::string hundred = full;
  for (int i = 1; i < 100; ++i) hundred += "," + full;
  CHECK_THAT(complaint(hundred, "{}"),
             Catch::Contains("/cluster/nodes: expected at most 16384 devices in all"));
}

TEST_CASE("weir: no message says more than 200 characters of what was given") {
  const ScratchDirectory scratch;
  const std::string much(100'000, 'x');
  const auto complaint = [&](const std::vector<std::string>& words) {
    const Ended ended = run_weir(words, {.folder = scratch.path()});
    INFO(ended.err.substr(0, 500));
    CHECK(ended.code == 2);
    CHECK(ended.err.find("xxx") != std::string::npos);
    CHECK(ended.err.find(std::string(201, 'x')) == std::string::npos);
  };
  const std::string quickstart = shipped("quickstart.json");
  for (const std::string& setting :
       {"/model=\"" + much + "\"", "/model=\"" + much + "/x\"", "/" + much + "=1", "/seed=\"" + much + "\"",
        "/seed=" + much, "/name={\"" + much + "\": 1}", "/cluster/nodes/0/devices/0/kind=\"" + much + "\"",
        "/cluster/nodes/0/devices/0/profile=\"" + much + "\"",
        "/workload/requests={\"kind\": \"csv\", \"file\": \"" + much + "\"}",
        "/serving/replicas/0/device=\"" + much + "\"", "/collectives=\"" + much + "\""})
    complaint({"run", quickstart, "--out", "out", "--set", setting});
  const auto sweep = [&](const std::string& keys) {
    complaint(
        {"check", write(scratch / "sweep.json", R"({"scenario": ")" + quickstart + "\", " + keys + "}")});
  };
  sweep("\"vary\": {\"" + much + "\": [1]}");
  sweep("\"vary\": {\"/model\": [\"" + much + "\"]}");
  sweep("\"vary\": {\"/model\": [\"" + much + "\", \"" + much + "\"]}");
  sweep("\"vary\": {\"/" + much + "\": [1]}");
  sweep("\"" + much + "\": 1, \"seeds\": 1");
  complaint({"list", "models", much});
  complaint({"memory", much, "x.csv"});
}
