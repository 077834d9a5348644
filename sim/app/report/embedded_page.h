#pragma once
// Pages that are one HTML file, put together from files that are compiled in: a frame, in which {{name}}
// stands for a file or for what was made for this page. For reports and for `weir explore`.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/embedded.h"
#include "sim/core/params.h"

namespace weir {

extern const EmbeddedFiles report_files;  // of this folder, and the chart library

// JSON that cannot end the <script> it stands in (</script>, <!--), and is JavaScript too (U+2028, U+2029).
std::string json_in_script(const Json& data);
std::string text_in_html(std::string_view text);

// The first folder that has a file gives it.
std::string page_of(const std::vector<const EmbeddedFiles*>& folders, std::string_view frame_name,
                    const std::map<std::string, std::string, std::less<>>& made);

}  // namespace weir
