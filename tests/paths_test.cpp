// What the tests read and expect is the same on every machine: no file of theirs, binary or not,
// holds a path of a folder that somebody's machine had. What every Linux has (/dev/full, /bin/bash)
// may be named.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

namespace fs = std::filesystem;

// Where the files of people, of their jobs and of temporary folders lie.
constexpr std::array<std::string_view, 18> kRoots = {
    "Users", "Volumes", "builds", "data",    "export", "home", "media", "mnt",  "nfs",
    "opt",   "root",    "run",    "scratch", "srv",    "tmp",  "var",   "work", "workspace"};

constexpr std::string_view kThisFile = "tests/paths_test.cpp";  // it lists them

struct Exception {
  std::string_view file;
  std::string_view path;
  std::string_view reason;
};
constexpr std::array<Exception, 6> kExceptions = {{
    {"tests/cli/machine_test.cpp", "/home/ann", "a name that is taken out"},
    {"tests/cli/machine_test.cpp", "/home/bob", "a name that is taken out"},
    {"tests/cli/machine_test.cpp", "/home/~", "what is left then"},
    {"tests/config/reader_test.cpp", "/data/run_4", "a model_dir that is read, never opened"},
    {"tests/jobs/rules_relied_on.yaml", "/home/tpuest.", "the end of a path: run_jobs' TMPDIR"},
    {"tests/jobs/train.yaml", "/home/tpuest.", "the end of a path: run_jobs' TMPDIR"},
}};

bool IsInName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("_.-~$").find(c) != std::string_view::npos;
}

// The path that starts at the slash `at`, as far as its second name: "/home/ann"; empty if none
// does. In text a path starts where no other goes on; in binary files a length of any value may
// stand before it.
std::string_view PathAt(std::string_view text, size_t at, bool is_binary) {
  if (!is_binary && at > 0) {
    const char before = text[at - 1];
    if (IsInName(before) || std::string_view("/}*)").find(before) != std::string_view::npos) {
      return {};
    }
  }
  const size_t second = text.find('/', at + 1);
  if (second == std::string_view::npos) return {};
  const std::string_view root = text.substr(at + 1, second - at - 1);
  if (std::find(kRoots.begin(), kRoots.end(), root) == kRoots.end()) return {};
  size_t end = second + 1;
  while (end < text.size() && IsInName(text[end])) ++end;
  return end > second + 1 ? text.substr(at, end - at) : std::string_view();
}

bool IsAllowed(std::string_view file, std::string_view path) {
  return std::any_of(kExceptions.begin(), kExceptions.end(), [&](const Exception& exception) {
    return exception.file == file && path.starts_with(exception.path);
  });
}

// A line a path: "tests/testdata/x.pb: /home/ann".
std::set<std::string> AbsolutePaths(const std::string& file, std::string_view bytes) {
  const bool is_binary = bytes.find('\0') != std::string_view::npos;
  std::set<std::string> found;
  for (size_t at = bytes.find('/'); at != std::string_view::npos; at = bytes.find('/', at + 1)) {
    const std::string_view path = PathAt(bytes, at, is_binary);
    if (!path.empty() && !IsAllowed(file, path)) found.insert(fmt::format("{}: {}", file, path));
  }
  return found;
}

TEST_CASE("no file of tests/ or configs/ holds a path of somebody's machine") {
  std::set<std::string> found;
  size_t files = 0;
  for (const char* const top : {"tests", "configs"}) {
    for (const auto& entry : fs::recursive_directory_iterator(JoinPath(SOURCE_ROOT, top))) {
      if (!entry.is_regular_file() || entry.path().extension() == ".pyc") continue;
      const std::string file = entry.path().lexically_relative(SOURCE_ROOT).string();
      if (file == kThisFile) continue;
      found.merge(AbsolutePaths(file, ReadFile(entry.path().string())));
      ++files;
    }
  }
  CHECK(files > 300);
  CHECK(Join(std::vector<std::string>(found.begin(), found.end()), "\n") == "");
}

TEST_CASE("paths are found in text, between quotes, and in binary files, after any byte") {
  const std::string path = std::string("/") + "tmp/x7";
  CHECK(AbsolutePaths("a.txt", "open '" + path + "/words.txt'") ==
        std::set<std::string>{"a.txt: " + path});
  CHECK(AbsolutePaths("a.txt", "below" + path + ", $HOME" + path + ", ${HOME}" + path).empty());
  CHECK(AbsolutePaths("a.pb", std::string("\0E", 2) + path).size() == 1);
  CHECK(AbsolutePaths("a.txt", "/dev/null /tmp /no/such/file").empty());
}

}  // namespace
}  // namespace tpuest
