#include "sim/app/report/embedded_page.h"

#include <stdexcept>

#include "sim/core/params.h"

namespace weir {
namespace {

std::string_view file_in(const std::vector<const EmbeddedFiles*>& folders, std::string_view name) {
  for (const EmbeddedFiles* folder : folders)
    if (const auto text = text_of(*folder, name)) return *text;
  throw std::logic_error("a page names " + std::string(name) + ", which is not embedded");
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

}  // namespace

std::string json_in_script(const Json& data) {
  return with(dumped(data), {{"<", "\\u003c"}, {"\xe2\x80\xa8", "\\u2028"}, {"\xe2\x80\xa9", "\\u2029"}});
}

std::string text_in_html(std::string_view text) {
  return with(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}, {"\"", "&quot;"}});
}

std::string page_of(const std::vector<const EmbeddedFiles*>& folders, std::string_view frame_name,
                    const std::map<std::string, std::string, std::less<>>& made) {
  const std::string_view frame = file_in(folders, frame_name);
  std::string page;
  std::size_t from = 0;
  for (std::size_t at; (at = frame.find("{{", from)) != std::string_view::npos;) {
    page += frame.substr(from, at - from);
    from = frame.find("}}", at) + 2;
    const std::string_view name = frame.substr(at + 2, from - at - 4);
    const auto text = made.find(name);
    page += text == made.end() ? file_in(folders, name) : text->second;
  }
  page += frame.substr(from);
  return page;
}

}  // namespace weir
