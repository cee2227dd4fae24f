#include "core/base/path_scheme.h"

#include <fmt/format.h>

#include <algorithm>

namespace tpuest {
namespace {

constexpr std::string_view kMark = "://";

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool MayBeInScheme(char c) {
  return IsLetter(c) || (c >= '0' && c <= '9') || c == '+' || c == '.' || c == '-';
}

std::string HintFor(const std::string& scheme, std::string_view path) {
  if (scheme == "file") {
    const std::string_view rest = path.substr(scheme.size() + kMark.size());
    return fmt::format("write only the path: {}",
                       rest.substr(std::min(rest.find('/'), rest.size())));
  }
  if (scheme == "http" || scheme == "https" || scheme == "ftp") {
    return "download the file and name the copy";
  }
  return "mount it as a folder (gcsfuse, mountpoint-s3, s3fs) and name that; run_config.mirror "
         "keeps a copy of a run on a mount";
}

}  // namespace

std::optional<std::string> SchemeOf(std::string_view path) {
  const size_t end = path.find(kMark);
  if (end == std::string_view::npos || end == 0 || !IsLetter(path[0])) return std::nullopt;
  std::string scheme(path.substr(0, end));
  if (!std::all_of(scheme.begin(), scheme.end(), MayBeInScheme)) return std::nullopt;
  std::transform(scheme.begin(), scheme.end(), scheme.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return scheme;
}

std::optional<SchemeRefusal> RefusalOfScheme(std::string_view path) {
  const std::optional<std::string> scheme = SchemeOf(path);
  if (!scheme) return std::nullopt;
  return SchemeRefusal{
      .message = fmt::format("expected a path of this machine, found '{}'", path.substr(0, 200)),
      .hint = fmt::format("{}:// is not read here; {}", *scheme, HintFor(*scheme, path))};
}

}  // namespace tpuest
