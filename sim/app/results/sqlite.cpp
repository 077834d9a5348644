#include "sim/app/results/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <stdexcept>

namespace weir {
namespace {

constexpr int patience_ms = 10'000;  // for somebody who reads while a sweep writes

void check_code(sqlite3* connection, const std::string& file, int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  throw std::runtime_error(
      fmt::format("{}: {}", file, connection ? sqlite3_errmsg(connection) : "no memory"));
}

}  // namespace

void Database::Close::operator()(sqlite3* connection) const {
  sqlite3_close_v2(connection);
}

Database::Database(const std::filesystem::path& file, Access access) : file_(file.string()) {
  // To read, too: what a writer left half done when it was killed can be read only by who may take it back.
  // Where the file may not be written, SQLite opens it to read.
  const int flags = SQLITE_OPEN_READWRITE | (access == Access::create ? SQLITE_OPEN_CREATE : 0);
  sqlite3* connection = nullptr;
  const int code = sqlite3_open_v2(file_.c_str(), &connection, flags, nullptr);
  connection_.reset(connection);
  check_code(connection, file_, code);
  sqlite3_busy_timeout(connection, patience_ms);
  if (access == Access::read) run("PRAGMA query_only = ON");
}

void Database::run(const std::string& sql) {
  check_code(connection_.get(), file_,
             sqlite3_exec(connection_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

void Database::sync() {  // a reader may keep it from finishing: the next one will
  sqlite3_wal_checkpoint_v2(connection_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
}

void Statement::Finalize::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

Statement::Statement(const Database& database, std::string_view sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  check(sqlite3_prepare_v2(database.connection_.get(), sql.data(), static_cast<int>(sql.size()), &statement,
                           nullptr));
  statement_.reset(statement);
}

void Statement::check(int code) const {
  check_code(database_.connection_.get(), database_.file_, code);
}

Statement& Statement::bind(std::int64_t value) {
  check(sqlite3_bind_int64(statement_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(double value) {
  check(sqlite3_bind_double(statement_.get(), ++bound_, value));
  return *this;
}

Statement& Statement::bind(std::string_view value) {
  check(sqlite3_bind_text64(statement_.get(), ++bound_, value.data(), value.size(), SQLITE_STATIC,
                            SQLITE_UTF8));
  return *this;
}

Statement& Statement::bind_null() {
  check(sqlite3_bind_null(statement_.get(), ++bound_));
  return *this;
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  check(code);
  return code == SQLITE_ROW;
}

void Statement::reset() {
  sqlite3_reset(statement_.get());
  bound_ = 0;
}

std::string Statement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  return bytes ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column)))
               : "";
}

std::int64_t Statement::integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

}  // namespace weir
