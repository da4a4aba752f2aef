#include "bindings/api/reference.h"

#include <filesystem>

#include "bindings/api/files.h"
#include "core/base/suggest.h"
#include "core/engine/json.h"

namespace ruleengine::api {
namespace {

namespace fs = std::filesystem;

Result<std::vector<lua::PageText>> pages_in(const fs::path& folder) {
  std::vector<lua::PageText> pages;
  for (const std::string_view name : lua::reference_pages()) {
    auto text = read_text_file((folder / name).string());
    if (!text) {
      Diagnostic error = std::move(text.error());
      error.what = "a page of the language reference cannot be read";
      return error;
    }
    pages.push_back({std::string(name), std::move(*text)});
  }
  return pages;
}

Result<std::vector<lua::PageText>> shipped_pages() {
  const auto folder = lua::shipped_folder("docs");
  if (!folder) return folder.error();
  return pages_in(*folder);
}

}  // namespace

Result<Reference> reference(const std::string& word) {
  const auto pages = shipped_pages();
  if (!pages) return pages.error();
  Reference found = lua::reference_of(word, *pages);
  if (!found.types.empty() || !found.passages.empty()) return found;
  std::vector<std::string_view> known;
  for (const lua::Word& each : lua::words()) known.push_back(each.name);
  std::string hint =
      suggestion(word.substr(word.find_last_of(".:") + 1), known);
  if (hint.empty()) hint = "`ruleengine docs` lists the words";
  return Diagnostic{.kind = ErrorKind::kUsage,
                    .what = "the language has no word " + quoted_name(word, 60),
                    .hint = std::move(hint)};
}

Result<std::vector<DescribedWord>> described_words() {
  const auto pages = shipped_pages();
  if (!pages) return pages.error();
  return lua::described_words(*pages);
}

Result<std::string> language_stubs(const std::string& folder) {
  const auto pages = folder.empty() ? shipped_pages() : pages_in(folder);
  if (!pages) return pages.error();
  return lua::language_stubs(*pages);
}

Result<std::string> editor_configuration() {
  const auto folder = lua::shipped_folder("lua");
  if (!folder) return folder.error();
  Json off;
  for (const char* name :
       {"debug", "ffi", "io", "jit", "os", "package", "utf8"}) {
    off[name] = "disable";
  }
  Json all;
  all["runtime.version"] = "LuaJIT";
  all["runtime.builtin"] = std::move(off);
  all["workspace.library"] = {folder->string()};
  return engine::json_text(all);
}

}  // namespace ruleengine::api
