// Requests that weir explore refuses, and files that a page cannot have read.
#include <catch2/catch.hpp>

#include "sim/app/child_process.h"
#include "sim/app/explore/guard.h"
#include "sim/core/json/allowed_files.h"
#include "test/app/explore/explore_server.h"

using namespace weir;
using namespace weir::test;
namespace fs = std::filesystem;

namespace {

// All that the answer says is wrong, all parts together.
std::string problems_in(const HttpAnswer& answer) {
  std::string all;
  for (const Json& line : lines_of_run(answer)) {
    if (!line.contains("answer") || !line["answer"].contains("problems")) continue;
    for (const Json& problem : line["answer"]["problems"])
      all += problem["pointer"].get<std::string>() + ": " + problem["what"].get<std::string>() + "\n";
  }
  return all;
}

// Where the readers are held to some files, in a process of its own.
std::string read_in_child(const std::set<fs::path>& files, const fs::path& wanted) {
  std::string said;
  in_children(
      1, 1,
      [&](std::size_t) {
        allow_only(files);
        return read_text_file(wanted);
      },
      [&](std::size_t, ChildResult result) {
        said = result.error.empty() ? result.output : "refused: " + result.error;
        return true;
      });
  return said;
}

}  // namespace

TEST_CASE("explore: answers its own page alone, whoever asks and however") {
  const ExploreProcess weir(shipped("quickstart.json"));
  const std::string root = weir.path(), run = root + "run", port = std::to_string(weir.port());
  const std::string asked = R"({"page":"a","changes":[]})", json = "Content-Type: application/json";
  REQUIRE(weir.get(root).status == 200);
  REQUIRE(weir.post(run, asked).status == 200);
  SECTION("nobody without the token, with another one, or with a part of it") {
    const std::string token = root.substr(1, root.size() - 2);
    CHECK(token.size() == 32);
    for (const std::string& path :
         {std::string("/"), std::string("/run"), "/" + token.substr(1) + "/", "/0" + token.substr(1) + "x/",
          "/" + std::string(32, 'a') + "/", "/" + token})
      CHECK(weir.get(path).status == 403);
    CHECK(weir.post("/" + std::string(32, '0') + "/run", asked).status == 403);
  }
  SECTION("no path but its two, however it is written") {
    for (const char* path : {"../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/etc/passwd",
                             "etc/passwd", "/etc/passwd", "run/", "./", "?x", "report.css", "index.html"})
      CHECK(weir.get(root + path).status == 404);
    CHECK(weir.get("/../../../../etc/passwd").status == 403);
  }
  SECTION("no other host's name, as a rebound one would be, and no page of another origin") {
    for (const char* host : {"evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", ""})
      CHECK(weir.get(root, {std::string("Host: ") + host}).status == 403);
    CHECK(weir.get(root, {"Host: 127.0.0.1:" + port, "Host: evil.example"}).status == 403);
    CHECK(weir.get(root, {"Host: localhost:" + port}).status == 200);
    for (const std::string origin :
         {"http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"})
      CHECK(weir.post(run, asked, {json, "Origin: " + origin}).status == 403);
    CHECK(weir.post(run, asked, {json, "Sec-Fetch-Site: cross-site"}).status == 403);
    CHECK(weir.post(run, asked, {json, "Sec-Fetch-Site: same-site"}).status == 403);  // another port's
    CHECK(weir.post(run, asked, {json, "Origin: http://127.0.0.1:" + port, "Sec-Fetch-Site: same-origin"})
              .status == 200);
  }
  SECTION("no other method") {
    for (const char* method : {"PUT", "DELETE", "OPTIONS", "PATCH", "HEAD", "TRACE"}) {
      const HttpAnswer answer =
          weir.send(std::string(method) + " " + root + " HTTP/1.1\r\nHost: 127.0.0.1:" + port +
                    "\r\nConnection: close\r\n\r\n");
      INFO(method);
      CHECK((answer.status == 405 || answer.status == 400));
    }
    CHECK(weir.get(run).status == 405);
    CHECK(weir.post(root, asked).status == 405);
  }
  SECTION("no body that is long, of unknown length, packed, or of a type that a form can send") {
    const double before = weir.resident_mib();
    CHECK(weir.post(run, std::string(10'000'000, ' ')).status == 413);
    CHECK(weir.post(run, "", {json, "Content-Length: 99999999999999999999999"}).status == 413);
    CHECK(weir.post(run, "", {json, "Content-Length: -1"}).status == 400);
    CHECK(weir.post(run, "5\r\nhello\r\n0\r\n\r\n", {json, "Transfer-Encoding: chunked"}).status == 411);
    CHECK(weir.post(run, asked, {json, "Content-Encoding: gzip"}).status == 415);
    for (const char* type :
         {"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"})
      CHECK(weir.post(run, asked, {std::string("Content-Type: ") + type}).status == 415);
    CHECK(weir.post(run, asked, {}).status == 415);
    CHECK(weir.resident_mib() < before + 8);
  }
  SECTION("nothing that is no list of changes") {
    for (const std::string& body :
         {std::string("{"), std::string("[]"), std::string(R"({"page":"a"})"),
          std::string(R"({"page":1,"changes":[]})"), std::string(R"({"page":"a","changes":{}})"),
          std::string(R"({"page":"a","changes":[["/x"]]})"),
          std::string(R"({"page":"a","changes":[["x",1]]})"),
          std::string(R"({"page":"a","changes":[["/cluster/nodes/9/count",1]]})"), std::string(100'000, '[')})
      CHECK(weir.post(run, body).status == 400);
    std::string deep;
    for (int i = 0; i < 100'000; ++i) deep += "/a";
    CHECK(weir.run({{deep, 1}}).status == 400);
    CHECK(
        weir.run({{deep.substr(0, 100), Json::parse(std::string(50, '[') + std::string(50, ']'))}}).status ==
        400);
    CHECK(weir.run({{deep.substr(0, 100), 1}}).status == 200);  // a problem of the scenario
  }
  CHECK(weir.send("what is this\r\n\r\n").status == 400);
  CHECK(weir.post(run, asked).status == 200);  // it is still there
}

TEST_CASE("explore: an answer lets no script but the page's own run, and no request leave") {
  const ExploreProcess weir(shipped("quickstart.json"));
  const HttpAnswer page = weir.get(weir.path());
  REQUIRE(page.status == 200);
  CHECK_THAT(page.head, Catch::Contains("default-src 'none'") && Catch::Contains("connect-src 'self'") &&
                            Catch::Contains("frame-ancestors 'none'") && Catch::Contains("no-referrer") &&
                            Catch::Contains("no-store") && !Catch::Contains("Access-Control"));
  CHECK_THAT(page.body, !Catch::Contains("https://cdn") && !Catch::Contains("src=\""));
}

TEST_CASE("explore: a page cannot have other files read than the scenario names") {
  const ScratchDirectory scratch;
  const std::string rows = "arrival_s,input_tokens,output_tokens\n0,100,10\n0.1,200,20\n";
  write(scratch / "trace.csv", rows);
  write(scratch / "other.csv", rows);
  write(scratch / "secret.json", R"({"password": "hunter2"})");
  Json scenario = read_json_file(shipped("quickstart.json"));
  scenario["workload"] = {{"requests", {{"kind", "csv"}, {"file", "trace.csv"}}},
                          {"arrivals", {{"kind", "trace"}}}};
  write(scratch / "mine.json", scenario.dump());
  const ExploreProcess weir("mine.json", {}, scratch.path());
  const auto with_file = [&](const std::string& file) {
    return weir.run({{"/workload/requests", Json{{"kind", "csv"}, {"file", file}}}});
  };
  const auto of_trace = lines_of_run(with_file("trace.csv"));
  REQUIRE(of_trace.back() == Json{{"end", "done"}});
  CHECK(problems_in(with_file("trace.csv")) == "");
  for (const std::string& file :
       {std::string("other.csv"), std::string("./trace.csv"), std::string("trace.csv/../other.csv"),
        (scratch / "other.csv").string(), std::string("/etc/passwd"), std::string("nowhere.csv"),
        std::string("../") + scratch.path().filename().string() + "/other.csv"}) {
    INFO(file);
    CHECK_THAT(problems_in(with_file(file)), Catch::Contains("no file that the scenario named"));
  }
  for (const char* pointer :
       {"/model", "/cluster/nodes/0/devices/0/kind", "/cluster/nodes/0/devices/0/profile"})
    for (const char* file : {"./secret.json", "/etc/passwd", "./nowhere.json"}) {
      const std::string said = problems_in(weir.run({{pointer, file}}));
      INFO(pointer << " " << file << ": " << said);
      CHECK_THAT(said, Catch::Contains("no file that the scenario named") && !Catch::Contains("hunter2"));
    }
}

TEST_CASE("allowed files: those that are named, what lies in a folder, and nothing by a way around") {
  const ScratchDirectory scratch;
  fs::create_directories(scratch / "profile/inside");
  for (const char* name : {"a.csv", "b.csv", "profile/inside/c.csv", "profile.csv"})
    write(scratch / name, name);
  const std::set<fs::path> files = {scratch / "a.csv", scratch / "profile/"};
  CHECK(read_in_child(files, scratch / "a.csv") == "a.csv");
  CHECK(read_in_child(files, scratch / "profile/inside/c.csv") == "profile/inside/c.csv");
  for (const char* name :
       {"b.csv", "profile.csv", "profile/../b.csv", "profile/inside/../../b.csv", "a.csvx"})
    CHECK_THAT(read_in_child(files, scratch / name), Catch::StartsWith("refused: "));
  CHECK_THAT(read_in_child({}, scratch / "a.csv"), Catch::StartsWith("refused: "));
  CHECK(read_text_file(scratch / "b.csv") == "b.csv");  // this process was told nothing
}

TEST_CASE("explore: tokens are long, and each is another") {
  std::set<std::string> tokens;
  for (int i = 0; i < 1000; ++i) tokens.insert(random_token());
  CHECK(tokens.size() == 1000);
  CHECK(tokens.begin()->find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(tokens.begin()->size() == 32);
}
