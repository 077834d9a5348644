#include "sim/app/report/page.h"

#include "sim/app/report/embedded_page.h"

namespace weir {

std::string report_page(const ResultSet& results) {
  return page_of({&report_files}, "report.html",
                 {{"title", text_in_html(results.name)}, {"data", json_in_script(report_data(results))}});
}

}  // namespace weir
