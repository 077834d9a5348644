#pragma once
// The keys of a row of devices/catalog, each bound once: a class of devices names a key, with its range and
// help, beside the member that it fills. The same calls read a row, put what a scenario gives in its place,
// and describe both (Params). In devices alone: catalog_rows.h has the rows that are bound so.
#include "sim/core/params.h"

namespace weir {

class RowKeys {
 public:
  // Fills the members from a row.
  explicit RowKeys(Params& row) : params_(row) {}
  // Puts what the scenario gives in the place of the row's, and fills no member. Only declares the keys where
  // the row is null.
  RowKeys(Json& row, Params& scenario) : params_(scenario), overridden_(&row) {}

  // In the unit of the key. A row may lack what fills an optional.
  void number(Key key, double& to, Range<double> range = positive);
  void number(Key key, std::optional<double>& to, Range<double> range = positive);
  void whole_number(Key key, double& to, Range<double> range);

  // In SI units; the key's is its suffix, as of Params::quantity.
  template <class Q>
  void quantity(Key key, Q& to, Range<double> range = positive) {
    if (const std::optional<double> value = required(key, range)) to = Q(Params::unit(key.name) * *value);
  }
  template <class Q>
  void quantity(Key key, std::optional<Q>& to, Range<double> range = positive) {
    if (const std::optional<double> value = optional(key, range)) to = Q(Params::unit(key.name) * *value);
  }

  // From 1 on. In a scenario null leaves the row's, as of a choice: the help gets a last clause that says so.
  template <class Count>
  void count(Key key, Count& to, std::int64_t most) {
    if (const std::optional<std::int64_t> value = counted(key, most)) to = static_cast<Count>(*value);
  }
  template <class E>
  void choice(Key key, E& to, const Choices<E>& table) {
    overridden_ ? choose(key, words_of(table)) : static_cast<void>(to = params_.choice(key, table));
  }

  // The row that is read, for keys that no scenario gives; null else.
  Params* row() { return overridden_ ? nullptr : &params_; }
  // The row whose numbers the scenario's take the place of, and where that gives them, for keys of another
  // shape; null where a row is read.
  Json* overridden() { return overridden_; }
  Params& params() { return params_; }
  // The numbers so far that the scenario has otherwise than the row.
  const std::vector<std::string>& changed() const { return changed_; }

 private:
  // Nothing where a scenario's values are read.
  std::optional<double> required(const Key& key, Range<double> range, bool whole = false);
  std::optional<double> optional(const Key& key, Range<double> range);
  std::optional<std::int64_t> counted(const Key& key, std::int64_t most);
  void choose(const Key& key, const std::vector<std::string>& known);

  Params& params_;
  Json* overridden_ = nullptr;
  std::vector<std::string> changed_;
};

}  // namespace weir
