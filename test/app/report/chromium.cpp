#include "test/app/report/chromium.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <stdexcept>

namespace weir::test {
namespace {

constexpr const char* program = "/usr/bin/chromium";  // Debian's package
constexpr int silence_ms = 60'000;

// --no-sandbox: containers have no user namespaces, and the page is our own.
[[noreturn]] void become_chromium(int commands, int answers, const std::filesystem::path& profile) {
  ::setpgid(0, 0);
  const int in = ::fcntl(commands, F_DUPFD, 10), out = ::fcntl(answers, F_DUPFD, 10);
  ::dup2(in, 3);  // where --remote-debugging-pipe expects them
  ::dup2(out, 4);
  ::close(in);
  ::close(out);
  const int nowhere = ::open("/dev/null", O_RDWR);
  ::dup2(nowhere, STDOUT_FILENO);
  ::dup2(nowhere, STDERR_FILENO);
  const std::string data = "--user-data-dir=" + profile.string();
  ::execl(program, program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu",
          "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking",
          "--disable-extensions", data.c_str(), "about:blank", nullptr);
  ::_exit(127);
}

}  // namespace

bool Chromium::installed() {
  return std::filesystem::exists(program);
}

Chromium& Chromium::running() {
  static Chromium chromium;
  return chromium;
}

Chromium::Chromium() {
  std::array<int, 2> commands{}, answers{};
  if (::pipe2(commands.data(), O_CLOEXEC) != 0 || ::pipe2(answers.data(), O_CLOEXEC) != 0)
    throw std::runtime_error("no pipes");
  std::signal(SIGPIPE, SIG_IGN);
  process_ = ::fork();
  if (process_ == 0) become_chromium(commands[0], answers[1], profile_.path());
  ::close(commands[0]);
  ::close(answers[1]);
  to_ = commands[1];
  from_ = answers[0];
}

Chromium::~Chromium() {
  ::kill(-process_, SIGKILL);
  ::waitpid(process_, nullptr, 0);
  ::close(to_);
  ::close(from_);
}

Json Chromium::call(const std::string& session, const std::string& method, Json parameters) {
  Json message = {{"id", ++last_call_}, {"method", method}, {"params", std::move(parameters)}};
  if (!session.empty()) {
    message["sessionId"] = session;
    events_[session];
  }
  const std::string text = message.dump() + '\0';
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t written = ::write(to_, text.data() + sent, text.size() - sent);
    if (written <= 0) throw std::runtime_error("the browser is gone, before " + method);
    sent += static_cast<std::size_t>(written);
  }
  for (;;) {
    const Json answer = receive();
    if (answer.value("id", 0) != last_call_) continue;
    if (answer.contains("error")) throw std::runtime_error(method + ": " + answer["error"].dump());
    return answer["result"];
  }
}

Json Chromium::next_event(const std::string& session) {
  while (!has_event(session)) receive();
  Json event = std::move(events_[session].front());
  events_[session].pop_front();
  return event;
}

Json Chromium::receive() {
  std::size_t end;
  while ((end = received_.find('\0')) == std::string::npos) {
    pollfd ready{from_, POLLIN, 0};
    std::array<char, 65536> buffer;
    if (::poll(&ready, 1, silence_ms) <= 0) throw std::runtime_error("the browser says nothing");
    const ssize_t count = ::read(from_, buffer.data(), buffer.size());
    if (count <= 0) throw std::runtime_error("the browser is gone");
    received_.append(buffer.data(), static_cast<std::size_t>(count));
  }
  Json message = Json::parse(received_.substr(0, end));
  received_.erase(0, end + 1);
  if (!message.contains("method")) return message;
  const auto tab = events_.find(message.value("sessionId", ""));
  if (tab != events_.end()) tab->second.push_back(message);
  return message;
}

}  // namespace weir::test
