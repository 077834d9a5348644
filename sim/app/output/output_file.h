#pragma once
// A text file of a result directory, written through one big buffer without a name (O_TMPFILE), so that a
// kill leaves nothing; where the file system has no such files, as .NAME.NUMBER.partial, which no other
// program can have made or linked. close() gives it its name: a file under its final name is whole. Every
// failure (no space, say) throws std::system_error with the file's name.
#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace weir {

class OutputFile {
 public:
  explicit OutputFile(std::filesystem::path path);
  ~OutputFile();  // without close(): the partial file is removed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() > flush_size) flush();
  }
  void text(std::string_view text) { print("{}", text); }

  // For lines that a million requests write: append here, then call line_done().
  fmt::memory_buffer& buffer() { return buffer_; }
  void line_done() {
    buffer_.push_back('\n');
    if (buffer_.size() > flush_size) flush();
  }
  void close();

 private:
  static constexpr std::size_t flush_size = 1 << 20;
  void flush();
  [[noreturn]] void fail() const;

  std::filesystem::path path_, partial_;
  bool named_ = false;  // partial_ is there
  int descriptor_;
  fmt::memory_buffer buffer_;
};

// Throws that a place which the user named, `told`, cannot be written: a ConfigError where the place is a
// wrong one, a std::system_error where the machine fails it (no space left).
[[noreturn]] void cannot_write(const std::string& told, std::error_code why);

// A file that the user named: what fails is cannot_write()'s.
void write_named_file(const std::filesystem::path& path, const std::function<void(OutputFile&)>& write);

// A whole file at once.
void write_file(const std::filesystem::path& path, std::string_view text);

void append_integer(fmt::memory_buffer& buffer, std::int64_t value);
// Fixed-point decimal with `decimals` digits (<= 9), as printf's %.*f gives it but for ties; ten times its
// speed.
void append_fixed(fmt::memory_buffer& buffer, double value, int decimals);

}  // namespace weir
