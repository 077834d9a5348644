// Studies of their files: anybody's, and those within the binary, which are read when one is asked for.
#include <filesystem>
#include <utility>

#include "sim/app/command_line.h"
#include "sim/core/embedded.h"
#include "sim/studies/study_file/study_file.h"

namespace weir {

extern const EmbeddedFiles study_files;

namespace study {
namespace {

using Load = std::function<const StudyFile&()>;

Study study_by(const std::string& name, const std::string& title, bool draws, const Load& load) {
  Study study{.name = name,
              .summary = title,
              .ids = [load] { return load().ids(); },
              .rows = [load](const ReproduceOptions& options) { return load().rows(options); }};
  if (draws)
    study.draw = [load](ResultDirectory& directory, const ReproducedRows&) { load().draw(directory); };
  return study;
}

Study own_study(const std::string& name, const std::string& file) {
  const Json& document = embedded_json(text_of(study_files, file).value(), file);
  const auto read = std::make_shared<std::unique_ptr<const StudyFile>>();
  const auto load = [=, &document]() -> const StudyFile& {
    if (!*read)
      *read = std::make_unique<const StudyFile>(document, file, [name](const std::string& script) {
        const auto text = text_of(study_files, name + "/" + script);
        return text ? std::optional<std::string>(*text) : std::nullopt;
      });
    return **read;
  };
  return study_by(name, document.at("title"), document.contains("figures"), load);
}

}  // namespace

Study study_of(const Json& document, const std::string& file) {
  const auto read = std::make_shared<const StudyFile>(
      document, file, [](const std::string&) { return std::optional<std::string>(); });
  tell(read->notes());
  return study_by(std::filesystem::path(file).stem().string(), read->title(), read->draws(),
                  [read]() -> const StudyFile& { return *read; });
}

std::vector<Study> own_studies() {
  std::vector<Study> studies;
  for (const auto& [path, text] : study_files)
    if (const std::string file(path); file.ends_with("/study.json"))
      studies.push_back(own_study(file.substr(0, file.find('/')), file));
  return studies;
}

}  // namespace study
}  // namespace weir
