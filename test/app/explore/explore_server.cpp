#include "test/app/explore/explore_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>

namespace weir::test {
namespace {

std::string first_line(int from) {
  std::string line;
  for (char c = 0; ::read(from, &c, 1) == 1 && c != '\n';) line += c;
  return line;
}

// Without the sizes between the parts of a body that comes in several.
std::string joined_chunks(const std::string& body) {
  std::string whole;
  for (std::size_t at = 0; at < body.size();) {
    const std::size_t end = body.find("\r\n", at);
    if (end == std::string::npos) break;
    const std::size_t size = std::stoul(body.substr(at, end - at), nullptr, 16);
    whole += body.substr(end + 2, size);
    at = end + 2 + size + 2;
  }
  return whole;
}

}  // namespace

ExploreProcess::ExploreProcess(const std::string& scenario, const std::vector<std::string>& more,
                               const std::filesystem::path& folder) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<std::string> words = {WEIR_BINARY, "explore", scenario, "--no-open"};
  words.insert(words.end(), more.begin(), more.end());
  process_ = ::fork();
  if (process_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::setpgid(0, 0);
    ::dup2(ends[1], STDOUT_FILENO);
    ::dup2(::open("/dev/null", O_WRONLY), STDERR_FILENO);
    if (::chdir(folder.c_str()) != 0) ::_exit(126);
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  address_ = first_line(ends[0]);
  ::close(ends[0]);
  if (!address_.starts_with("http://127.0.0.1:")) throw std::runtime_error("no address: " + address_);
}

ExploreProcess::~ExploreProcess() {
  if (process_ > 0) end(SIGKILL);
}

int ExploreProcess::end(int signal) {
  ::kill(process_, signal);
  int status = 0;
  ::waitpid(process_, &status, 0);
  process_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int ExploreProcess::port() const {
  return std::stoi(address_.substr(std::string("http://127.0.0.1:").size()));
}

std::string ExploreProcess::path() const {
  return address_.substr(address_.find('/', std::string("http://").size()));
}

std::vector<pid_t> ExploreProcess::processes() const {
  std::vector<pid_t> all{process_};
  for (std::size_t i = 0; i < all.size(); ++i) try {
      for (const auto& task :
           std::filesystem::directory_iterator("/proc/" + std::to_string(all[i]) + "/task")) {
        std::ifstream children(task.path() / "children");
        for (pid_t child = 0; children >> child;) all.push_back(child);
      }
    } catch (const std::filesystem::filesystem_error&) {  // a run that has just ended has none
    }
  return all;
}

double ExploreProcess::resident_mib() const {
  double kib = 0;
  for (const pid_t process : processes()) {
    std::ifstream status("/proc/" + std::to_string(process) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmRSS:")) kib += std::stod(line.substr(6));
  }
  return kib / 1024;
}

HttpAnswer ExploreProcess::send(const std::string& request) const {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in where{};
  where.sin_family = AF_INET;
  where.sin_port = htons(static_cast<std::uint16_t>(port()));
  where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(socket, reinterpret_cast<const sockaddr*>(&where), sizeof where) != 0)
    throw std::runtime_error("nobody listens");
  for (std::size_t sent = 0; sent < request.size();) {
    const ssize_t count = ::send(socket, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
    if (count <= 0) break;  // it has heard enough
    sent += static_cast<std::size_t>(count);
  }
  std::string all;
  std::array<char, 65536> buffer;
  for (ssize_t count; (count = ::recv(socket, buffer.data(), buffer.size(), 0)) > 0;)
    all.append(buffer.data(), static_cast<std::size_t>(count));
  ::close(socket);
  HttpAnswer answer;
  if (!all.starts_with("HTTP/1.1 ")) return answer;
  answer.status = std::stoi(all.substr(9, 3));
  const std::size_t end = all.find("\r\n\r\n");
  answer.head = all.substr(0, end);
  answer.body = end == std::string::npos ? "" : all.substr(end + 4);
  if (answer.head.find("Transfer-Encoding: chunked") != std::string::npos)
    answer.body = joined_chunks(answer.body);
  return answer;
}

HttpAnswer ExploreProcess::ask(const std::string& method, const std::string& path,
                               std::vector<std::string> headers, const std::string& body) const {
  const auto given = [&](const std::string& name) {
    return std::any_of(headers.begin(), headers.end(), [&](const auto& h) { return h.starts_with(name); });
  };
  if (!given("Host:")) headers.push_back("Host: 127.0.0.1:" + std::to_string(port()));
  if (method == "POST" && !given("Content-Length:") && !given("Transfer-Encoding:"))
    headers.push_back("Content-Length: " + std::to_string(body.size()));
  std::string text = method + " " + path + " HTTP/1.1\r\n";
  for (const std::string& header : headers) text += header + "\r\n";
  return send(text + "\r\n" + body);
}

HttpAnswer ExploreProcess::get(const std::string& path, const std::vector<std::string>& headers) const {
  return ask("GET", path, headers, "");
}

HttpAnswer ExploreProcess::post(const std::string& path, const std::string& body,
                                const std::vector<std::string>& headers) const {
  return ask("POST", path, headers, body);
}

HttpAnswer ExploreProcess::run(const ScenarioChanges& changes, const std::string& page) const {
  Json list = Json::array();
  for (const auto& [pointer, value] : changes) list.push_back(Json::array({pointer, value}));
  return post(path() + "run", Json{{"page", page}, {"changes", list}}.dump());
}

std::vector<Json> lines_of_run(const HttpAnswer& answer) {
  std::vector<Json> all;
  std::istringstream in(answer.body);
  for (std::string line; std::getline(in, line);) all.push_back(Json::parse(line));
  return all;
}

}  // namespace weir::test
