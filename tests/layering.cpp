#include "tests/layering.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostLines = 600;

// A folder with more files, or with more files of one prefix, holds several subjects.
constexpr int kMostFiles = 42;
constexpr int kMostOfPrefix = 8;
// Their lists of families and of functions are what they are for.
const std::set<std::string, std::less<>> kFlat = {"core/ops", "core/kernels"};

// The stack, bottom first.
const std::map<std::string, double, std::less<>> kRanks = {
    {"core/base", 0},
    {"core/base/process", 0.1},
    {"core/base/text", 0.2},
    {"core/tensor", 1},
    {"core/io", 2},
    {"core/kernels/isa", 1.9},
    {"core/kernels", 2},
    {"core/io/examples", 2.1},
    {"core/io/events", 2.1},
    {"core/io/hdf5", 2.1},
    {"core/io/zip", 2.1},
    {"core/io/images", 2.1},
    {"core/graph", 3},
    {"core/graph/write", 3.1},
    {"core/graph/read", 3.2},
    {"core/backend/rows", 3.5},
    {"core/backend", 4},
    {"core/backend/cpu/exchange", 4.05},
    {"core/backend/cpu", 4.1},
    {"core/backend/hlo", 4.1},
    {"core/backend/pjrt", 4.2},
    {"core/ops", 5},
    {"config/formula", 5.9},
    {"config", 6},
    {"core/nn", 6},
    {"core/sharding", 6},
    {"core/nn/formula", 6.05},
    {"core/nn/layers", 6.1},
    {"core/nn/metrics", 6.1},
    {"core/nn/columns", 6.22},
    {"core/nn/heads", 6.2},
    {"core/nn/optimizers", 6.2},
    {"core/hosts/links", 6.25},
    {"core/hosts", 6.3},
    {"core/estimator/contract", 7},
    {"core/estimator/options", 7.1},
    {"core/estimator/model_dir", 7.15},
    {"core/estimator/checkpoint/objects", 7.15},
    {"core/estimator/checkpoint/saved", 7.17},
    {"core/estimator/checkpoint/rows", 7.18},
    {"core/estimator/checkpoint", 7.2},
    {"core/estimator/checkpoint/warm_start", 7.25},
    {"core/estimator/group", 7.25},
    {"core/estimator/step/programs", 7.26},
    {"core/estimator/step/model", 7.28},
    {"core/estimator/step", 7.3},
    {"core/estimator/hooks", 7.4},
    {"core/estimator/evaluate", 7.5},
    {"core/estimator/export", 7.5},
    {"core/estimator/train", 7.5},
    {"core/estimator", 7.6},
    {"data", 8},
    {"data/csv", 8.1},
    {"data/images", 8.1},
    {"data/sources", 8.15},
    {"data/examples", 8.2},
    {"data/pipeline", 8.3},
    {"models/blocks", 8.37},
    {"models/keras", 8.38},
    {"models/keras/config", 8.385},
    {"models/zoo", 8.39},
    {"models", 8.4},
    {"cli/host", 9},
    {"cli/shell", 10},
    {"cli/job", 11},
    {"cli/check", 11.2},
    {"cli/manual", 11.5},
    {"cli/run/record", 11.9},
    {"cli/run", 12},
    {"cli/look/explain", 12.9},
    {"cli/look/inspect", 12.9},
    {"cli/many/plot", 12.9},
    {"cli/many/sweep", 12.9},
    {"cli/prepare/migrate/graph", 12.8},
    {"cli/prepare/migrate/columns", 12.82},
    {"cli/prepare/migrate/input", 12.82},
    {"cli/prepare/migrate/optimizers", 12.82},
    {"cli/prepare/migrate/model", 12.84},
    {"cli/prepare/migrate", 12.9},
    {"cli/prepare/agreement", 12.95},
    {"cli/look", 13},
    {"cli/many", 13},
    {"cli/prepare", 13},
    {"cli", 14},
    {"cli/package", 15}};

const std::set<std::string, std::less<>> kTopLevel = {
    "cli",   "config", "configs", "core",      "data",        "models",           "docs",
    "tests", "dev",    "LICENSE", "README.md", "meson.build", "meson_options.txt"};

// The one header that includes generated protobuf code, for .cpp files of the folders that wrap it.
constexpr std::string_view kProtos = "core/io/protos.h";

// A library, how its headers and its Meson variable are called, and the folders that wrap it.
struct Library {
  std::string_view name;
  std::vector<std::string_view> headers;  // prefixes
  std::string_view variable;
  std::vector<std::string_view> folders;
};

const std::vector<Library> kLibraries = {
    {"Random123", {"Random123/"}, "random123", {"core/base"}},
    {"PCRE2", {"pcre2.h"}, "pcre2", {"core/base/text"}},
    {"RE2", {"re2/"}, "re2", {"core/base/text"}},
    {"SQLite", {"sqlite3.h"}, "sqlite", {"data"}},
    {"snappy", {"snappy"}, "snappy", {"core/io"}},
    {"zlib", {"zlib.h"}, "zlib", {"core/io", "data"}},
    {"protobuf",
     {"google/protobuf/"},
     "protobuf",
     {"core/io", "core/graph", "core/estimator", "core/hosts/links"}},
    {"Eigen", {"Eigen/", "unsupported/Eigen/"}, "eigen", {"core/kernels"}},
    {"oneDNN", {"dnnl", "oneapi/dnnl/"}, "dnnl", {"core/kernels"}},
    {"farmhash", {"farmhash.h"}, "farmhash", {"core/kernels"}},
    {"OpenMP", {"omp.h"}, "openmp", {"core/kernels", "core/backend"}},
    {"gRPC", {"grpc/", "grpcpp/"}, "grpc", {"core/hosts/links", "cli"}},
    {"OpenSSL", {"openssl/"}, "openssl", {"core/hosts/links", "cli"}},
    {"yaml-cpp", {"yaml-cpp/"}, "yaml_cpp", {"config"}},
    {"fast_float", {"fast_float/"}, "fast_float", {"config", "data"}},
    {"libjpeg-turbo", {"jpeglib.h", "turbojpeg.h"}, "jpeg", {"core/io"}},
    {"libpng", {"png.h"}, "png", {"core/io"}},
    {"nlohmann-json", {"nlohmann/"}, "json", {"core/estimator", "models/keras", "cli"}},
    {"CLI11", {"CLI/"}, "cli11", {"cli"}},
    {"doctest", {"doctest/"}, "doctest", {}},
};

// Folders of headers that come with the compiler and the operating system, or are used everywhere.
constexpr std::array<std::string_view, 7> kCommonHeaders = {"fmt/",  "sys/",     "linux/", "net/",
                                                            "arpa/", "netinet/", "bits/"};

bool IsCpp(std::string_view path) { return EndsWith(path, ".cpp") || EndsWith(path, ".h"); }
bool IsTest(std::string_view path) { return StartsWith(path, "tests/"); }

// "core/base" of "core/base/text.h", "cli" of "cli/main.cpp", "" outside the stack.
std::string RankedFolder(std::string_view path) {
  const std::string folder = DirName(path);
  return kRanks.count(folder) ? folder : "";
}

// "config (6)".
std::string WithRank(const std::string& folder) {
  return fmt::format("{} ({})", folder, kRanks.at(folder));
}

bool MayUse(const std::string& folder, const std::string& other) {
  return folder == other || kRanks.at(other) < kRanks.at(folder);
}

const Library* LibraryOfHeader(std::string_view header) {
  // Generated code is protobuf's wherever it lies.
  if (EndsWith(header, ".pb.h")) header = "google/protobuf/";
  for (const Library& library : kLibraries) {
    for (const std::string_view prefix : library.headers) {
      if (StartsWith(header, prefix)) return &library;
    }
  }
  return nullptr;
}

// A library of a folder is its folders' too.
bool Wraps(const std::string& folder, const Library& library) {
  return std::ranges::any_of(library.folders, [&](std::string_view wrapping) {
    return folder == wrapping || StartsWith(folder, std::string(wrapping) + "/");
  });
}

std::string Owners(const Library& library) {
  if (library.folders.empty()) return "tests";
  std::vector<std::string> names(library.folders.begin(), library.folders.end());
  return Join(names, ", ");
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

struct Include {
  size_t line;
  bool quoted;
  std::string header;
};

std::optional<Include> ParseInclude(const std::string& line, size_t number) {
  std::string_view rest = line;
  const auto skip_blanks = [&rest] {
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  };
  skip_blanks();
  if (!StartsWith(rest, "#")) return std::nullopt;
  rest.remove_prefix(1);
  skip_blanks();
  if (!StartsWith(rest, "include")) return std::nullopt;
  rest.remove_prefix(std::string_view("include").size());
  skip_blanks();
  if (rest.empty() || (rest[0] != '"' && rest[0] != '<')) return std::nullopt;
  const size_t end = rest.find(rest[0] == '"' ? '"' : '>', 1);
  if (end == std::string_view::npos) return std::nullopt;
  return Include{number, rest[0] == '"', std::string(rest.substr(1, end - 1))};
}

using IncludeMap = std::map<std::string, std::vector<Include>>;

IncludeMap AllIncludes(const std::vector<Source>& tree) {
  IncludeMap includes;
  for (const Source& source : tree) {
    if (!IsCpp(source.path)) continue;
    std::vector<Include>& found = includes[source.path];
    const std::vector<std::string> lines = Lines(source.text);
    for (size_t i = 0; i < lines.size(); ++i) {
      if (auto include = ParseInclude(lines[i], i + 1)) found.push_back(*std::move(include));
    }
  }
  return includes;
}

using Libraries = std::set<const Library*>;

// The libraries whose headers a file includes, itself or through our headers.
const Libraries& Brought(const std::string& path, const IncludeMap& includes,
                         std::map<std::string, Libraries>& known) {
  const auto [entry, is_new] = known.try_emplace(path);
  Libraries& libraries = entry->second;
  const auto found = includes.find(path);
  if (!is_new || found == includes.end()) return libraries;
  for (const Include& include : found->second) {
    if (const Library* library = LibraryOfHeader(include.header)) {
      libraries.insert(library);
    } else if (include.quoted) {
      const Libraries& more = Brought(include.header, includes, known);
      libraries.insert(more.begin(), more.end());
    }
  }
  return libraries;
}

// What is wrong with a library's header in a file of the stack; empty if nothing.
std::string LibraryFault(const std::string& path, const Include& include, const Library& library) {
  if (!Wraps(RankedFolder(path), library)) {
    return fmt::format("{} belongs to {}", include.header, Owners(library));
  }
  if (EndsWith(include.header, ".pb.h") && path != kProtos &&
      DirName(include.header) != DirName(path)) {
    return fmt::format("{} is reached through {}", include.header, kProtos);
  }
  return "";
}

bool IsSystemHeader(std::string_view header) {
  return header.find('/') == std::string_view::npos ||
         std::ranges::any_of(kCommonHeaders, [header](std::string_view prefix) {
           return StartsWith(header, prefix);
         });
}

// What is wrong with one of our headers in a file of the stack; empty if nothing.
std::string OwnHeaderFault(const std::string& path, const Include& include,
                           const IncludeMap& includes, std::map<std::string, Libraries>& known) {
  const std::string from = RankedFolder(path);
  const std::string to = RankedFolder(include.header);
  if (to.empty()) {
    return fmt::format("\"{}\" is in no folder of the stack; paths start at the root",
                       include.header);
  }
  if (!MayUse(from, to)) {
    return fmt::format("{} may not include {}", WithRank(from), WithRank(to));
  }
  if (include.header == kProtos && !EndsWith(path, ".cpp")) {
    return fmt::format("{} is for .cpp files only", kProtos);
  }
  for (const Library* library : Brought(include.header, includes, known)) {
    if (Wraps(to, *library) && !Wraps(from, *library)) {
      return fmt::format("{} brings {} along, which belongs to {}", include.header, library->name,
                         Owners(*library));
    }
  }
  return "";
}

// Words of letters, digits and underscores.
std::vector<std::string> Words(std::string_view line) {
  std::vector<std::string> words(1);
  for (const char c : line) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_') {
      words.back() += c;
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

// A line of Meson without its strings and its comment.
std::string MesonCode(const std::string& line) {
  std::string code;
  bool in_string = false;
  for (const char c : line) {
    if (c == '#' && !in_string) break;
    if (c == '\'') in_string = !in_string;
    if (!in_string) code += c;
  }
  return code;
}

// Meson variables that other folders may name, by the folder that makes them.
std::map<std::string, std::string> MesonVariables(const std::vector<Source>& tree) {
  std::map<std::string, std::string> owners;
  for (const Source& source : tree) {
    const std::string folder = RankedFolder(source.path);
    if (folder.empty() || BaseName(source.path) != "meson.build") continue;
    for (const std::string& line : Lines(source.text)) {
      const std::string name = line.substr(0, line.find(' '));
      if (EndsWith(name, "_dep") || EndsWith(name, "_lib")) owners[name] = folder;
    }
  }
  return owners;
}

// What is wrong with a word of a folder's Meson file; empty if nothing.
std::string LinkFault(const std::string& folder, const std::string& word,
                      const std::map<std::string, std::string>& owners) {
  if (const auto owner = owners.find(word); owner != owners.end()) {
    if (MayUse(folder, owner->second)) return "";
    return fmt::format("{} may not link {}", WithRank(folder), WithRank(owner->second));
  }
  for (const Library& library : kLibraries) {
    if (word == library.variable && !Wraps(folder, library)) {
      return fmt::format("{} belongs to {}", library.name, Owners(library));
    }
  }
  return "";
}

// The names of .gitignore: those with a slash before them hold at the top level, the others
// everywhere. Patterns are passed over.
class IgnoredNames {
 public:
  explicit IgnoredNames(const fs::path& root) {
    const std::string path = (root / ".gitignore").string();
    if (!FileExists(path)) return;
    for (std::string line : Lines(ReadFile(path))) {
      const bool at_top = StartsWith(line, "/");
      std::erase(line, '/');
      if (!line.empty() && line.find('*') == std::string::npos) (at_top ? top_ : all_).insert(line);
    }
  }

  [[nodiscard]] bool Has(const std::string& name, int depth) const {
    return all_.contains(name) || (depth == 0 && top_.contains(name));
  }

 private:
  std::set<std::string> top_ = {".git"};
  std::set<std::string> all_;
};

// Files that people write; the others are known by their names only.
bool IsText(const fs::path& path) {
  static const std::set<std::string> kExtensions = {"",     ".cpp",  ".h",     ".build",
                                                    ".txt", ".yaml", ".proto", ".md"};
  return kExtensions.count(path.extension().string()) > 0;
}

bool HasPlaceInTests(const std::string& folder) {
  return folder == "tests" || kRanks.count(folder.substr(std::string("tests/").size())) > 0 ||
         folder == "tests/jobs" || folder == "tests/fuzz" || StartsWith(folder, "tests/bench") ||
         StartsWith(folder, "tests/testdata");
}

// Notes of unfinished work, put together here so that this file holds none.
const std::vector<std::string> kUnfinished = {std::string("TO") + "DO", std::string("FIX") + "ME",
                                              std::string("HA") + "CK", std::string("XX") + "X"};

}  // namespace

const std::map<std::string, double, std::less<>>& Ranks() { return kRanks; }

std::vector<Source> ReadTree(const std::string& root) {
  const IgnoredNames ignored(root);
  std::vector<Source> tree;
  for (auto entry = fs::recursive_directory_iterator(root);
       entry != fs::recursive_directory_iterator(); ++entry) {
    const fs::path path = entry->path();
    if (ignored.Has(path.filename().string(), entry.depth())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file()) {
      tree.push_back({fs::relative(path, root).string(),
                      IsText(path) ? ReadFile(path.string()) : std::string()});
    }
  }
  std::ranges::sort(tree, {}, &Source::path);
  return tree;
}

const std::vector<Source>& Tree() {
  static const std::vector<Source> kTree = ReadTree(SOURCE_ROOT);
  return kTree;
}

std::vector<std::string> IncludeFaults(const std::vector<Source>& tree) {
  std::vector<std::string> faults;
  const IncludeMap includes = AllIncludes(tree);
  std::map<std::string, Libraries> known;
  for (const auto& [path, lines] : includes) {
    if (RankedFolder(path).empty()) continue;
    for (const Include& include : lines) {
      std::string fault;
      if (const Library* library = LibraryOfHeader(include.header)) {
        fault = LibraryFault(path, include, *library);
      } else if (include.quoted) {
        fault = OwnHeaderFault(path, include, includes, known);
      } else if (!IsSystemHeader(include.header)) {
        fault = fmt::format("<{}> is of a library that no folder wraps", include.header);
      }
      if (!fault.empty()) faults.push_back(fmt::format("{}:{}: {}", path, include.line, fault));
    }
  }
  return faults;
}

std::vector<std::string> LinkFaults(const std::vector<Source>& tree) {
  std::vector<std::string> faults;
  const std::map<std::string, std::string> owners = MesonVariables(tree);
  for (const Source& source : tree) {
    const std::string folder = RankedFolder(source.path);
    if (folder.empty() || BaseName(source.path) != "meson.build") continue;
    const std::vector<std::string> lines = Lines(source.text);
    for (size_t i = 0; i < lines.size(); ++i) {
      for (const std::string& word : Words(MesonCode(lines[i]))) {
        const std::string fault = LinkFault(folder, word, owners);
        if (!fault.empty()) faults.push_back(fmt::format("{}:{}: {}", source.path, i + 1, fault));
      }
    }
  }
  return faults;
}

std::vector<std::string> LayoutFaults(const std::vector<Source>& tree) {
  std::set<std::string> faults;
  for (const Source& source : tree) {
    const std::string top = source.path.substr(0, source.path.find('/'));
    const std::string folder = DirName(source.path);
    if (StartsWith(top, ".")) continue;
    if (!kTopLevel.count(top)) {
      faults.insert(fmt::format("{}: has no place at the top level", top));
    } else if (IsTest(source.path) && !HasPlaceInTests(folder)) {
      faults.insert(fmt::format("{}: mirrors no folder of the tree", folder));
    } else if (!IsTest(source.path) && IsCpp(source.path) && !kRanks.count(folder)) {
      faults.insert(fmt::format("{}: a source outside the folders of the stack", source.path));
    } else if (folder != "core" && !kRanks.count(folder) && kRanks.count(DirName(folder))) {
      faults.insert(fmt::format("{}: has no rank in the stack", folder));
    }
  }
  return {faults.begin(), faults.end()};
}

std::vector<std::string> SizeFaults(const std::vector<Source>& tree) {
  std::map<std::string, int> files;
  std::map<std::pair<std::string, std::string>, int> prefixes;
  for (const Source& source : tree) {
    const std::string folder = RankedFolder(source.path);
    if (folder.empty() || kFlat.count(folder)) continue;
    const std::string name = BaseName(source.path);
    ++files[folder];
    const std::string prefix = name.substr(0, name.find_first_of("_."));
    if (!StartsWith(BaseName(folder), prefix)) ++prefixes[{folder, prefix}];
  }
  std::vector<std::string> faults;
  for (const auto& [folder, count] : files) {
    if (count <= kMostFiles) continue;
    faults.push_back(
        fmt::format("{}: {} files, at most {}: which rooms are in it?", folder, count, kMostFiles));
  }
  for (const auto& [at, count] : prefixes) {
    if (count <= kMostOfPrefix) continue;
    faults.push_back(fmt::format("{}: {} files begin with {}, at most {}: they are a room",
                                 at.first, count, at.second, kMostOfPrefix));
  }
  return faults;
}

std::vector<std::string> HygieneFaults(const std::vector<Source>& tree) {
  std::vector<std::string> faults;
  for (const Source& source : tree) {
    const std::vector<std::string> lines = Lines(source.text);
    if (IsCpp(source.path) && lines.size() > kMostLines) {
      faults.push_back(fmt::format("{}: {} lines, at most {}: does it hold one subject?",
                                   source.path, lines.size(), kMostLines));
    }
    if (IsCpp(source.path) && lines.empty()) {
      faults.push_back(fmt::format("{}: is empty", source.path));
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      for (const std::string& word : Words(lines[i])) {
        if (std::ranges::find(kUnfinished, word) == kUnfinished.end()) continue;
        faults.push_back(fmt::format("{}:{}: {} marks unfinished work", source.path, i + 1, word));
      }
    }
  }
  return faults;
}

}  // namespace tpuest
