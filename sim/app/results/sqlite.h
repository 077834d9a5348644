#pragma once
// SQLite, for C++: what goes wrong throws std::runtime_error with the file's name. One connection a process.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace weir {

class Database {
 public:
  enum class Access { read, write, create };
  Database(const std::filesystem::path& file, Access access);
  void run(const std::string& sql);  // statements without results or parameters
  void sync();                       // what was committed so far, to the disk
  const std::string& file() const { return file_; }

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* connection) const;
  };
  std::string file_;
  std::unique_ptr<sqlite3, Close> connection_;
};

class Statement {
 public:
  Statement(const Database& database, std::string_view sql);
  // The next parameter; a text must live until step().
  Statement& bind(std::int64_t value);
  Statement& bind(double value);
  Statement& bind(std::string_view value);
  Statement& bind_null();
  bool step();   // is there a row?
  void reset();  // for new parameters

  std::string text(int column) const;  // "" for NULL
  std::int64_t integer(int column) const;

 private:
  void check(int code) const;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  const Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int bound_ = 0;
};

}  // namespace weir
