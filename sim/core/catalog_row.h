#pragma once
// A row of a catalog (memories, devices, kernels, models, interconnects) as a user gives it: a name, the path
// of a file like the catalog's own, or an object with the keys that differ from its `base`, a name or a path.
// The family's own reader checks what comes of it, so that its keys, ranges and hints hold everywhere.
#include <functional>

#include "sim/core/embedded.h"
#include "sim/core/params.h"

namespace weir {

struct RowFamily {
  const char* what;            // "memory", of messages
  const EmbeddedFiles& files;  // the catalog, right by its tests
  // Reports what is wrong with a row to `reading`, with pointers into the row; puts in place what the row
  // names by a path of its own. `given`: what was laid over the base.
  std::function<void(Reading& reading, Json& row, const Json& given, const std::string& name)> check;
  const char* in_folder = "";  // the file that a path of a folder means
};

struct CatalogRow {
  std::string name;  // the catalog's, a file's stem, or its base's
  Json row;          // whole, without "base"; null where a problem was reported
};

// Has a '/' or ends in .json, as no name of a catalog does.
bool is_path(const std::string& text);

// The row that `value` means, which stands at `pointer` in what is read: paths are relative to that file.
// Problems in a file that it names are told at `pointer`, with the file. `base` is the base of an object that
// names none: a name or a whole row.
CatalogRow find_row(const RowFamily& family, const Json& value, Reading& reading, const std::string& pointer,
                    const Json& base = nullptr);

// `over` on top of `row`, key by key, also within objects.
void lay_over(Json& row, const Json& over);

// Calls `read`, which throws ConfigError, and hands its problems to `reading` below `pointer`.
void gather(Reading& reading, const std::string& pointer, const std::function<void()>& read);

// The JSON Schema of a value that find_row takes; `object` is that of a whole row.
Json row_schema(const RowFamily& family, Json object);
Json name_or_path_schema(const RowFamily& family);
Json path_schema();

}  // namespace weir
