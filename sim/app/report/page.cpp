#include "sim/app/report/page.h"

#include "sim/app/output/place/result_file.h"
#include "sim/app/report/embedded_page.h"

namespace weir {

std::string report_page(const ResultSet& results) {
  return page_of({&report_files}, "report.html",
                 {{"title", text_in_html(results.name)}, {"data", json_in_script(report_data(results))}});
}

// By what the frame has around the title.
bool is_report_page(const std::filesystem::path& file) {
  constexpr std::string_view title = "{{title}}", next = "{{";
  const std::string_view frame = *text_of(report_files, "report.html");
  const std::size_t before = frame.find(title), behind = before + title.size();
  const std::string_view rest = frame.substr(behind, frame.find(next, behind) - behind);
  const std::string page = beginning_of(file, 1 << 16);
  return page.starts_with(frame.substr(0, before)) && page.find(rest) != std::string::npos;
}

}  // namespace weir
