#include "sim/app/report/page.h"

#include "sim/core/embedded.h"

namespace weir {

extern const EmbeddedFiles report_files;  // of this folder, and the chart library

namespace {

std::string_view file(std::string_view name) {
  for (const auto& [known, text] : report_files)
    if (known == name) return text;
  throw std::logic_error("report.html names " + std::string(name) + ", which is not embedded");
}

std::string with(std::string_view text,
                 const std::vector<std::pair<std::string_view, const char*>>& escapes) {
  std::string escaped;
  escaped.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto escape = std::find_if(escapes.begin(), escapes.end(),
                                     [&](const auto& e) { return text.substr(at).starts_with(e.first); });
    escaped += escape == escapes.end() ? std::string(1, text[at]) : escape->second;
    at += escape == escapes.end() ? 1 : escape->first.size();
  }
  return escaped;
}

// JSON that cannot end the <script> it stands in (</script>, <!--), and is JavaScript too (U+2028, U+2029).
std::string json_in_script(const Json& data) {
  return with(dumped(data), {{"<", "\\u003c"}, {"\xe2\x80\xa8", "\\u2028"}, {"\xe2\x80\xa9", "\\u2029"}});
}

std::string text_in_html(std::string_view text) {
  return with(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

}  // namespace

std::string report_page(const ResultSet& results) {
  const std::string_view frame = file("report.html");
  std::string page;
  std::size_t from = 0;
  for (std::size_t at; (at = frame.find("{{", from)) != std::string_view::npos;) {
    page += frame.substr(from, at - from);
    from = frame.find("}}", at) + 2;
    const std::string_view name = frame.substr(at + 2, from - at - 4);
    if (name == "title")
      page += text_in_html(results.name);
    else if (name == "data")
      page += json_in_script(report_data(results));
    else
      page += file(name);
  }
  page += frame.substr(from);
  return page;
}

}  // namespace weir
