// README and the pages of docs/ name what is there: pages and headings, files and folders, the
// ranks of the stack, and in the trips of docs/design.md functions, too.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "tests/layering.h"

namespace tpuest {
namespace {

// What is named as a path, but is a target of Ninja's or a test of Meson's.
const std::set<std::string> kBuilt = {"cli/tpuest",           "core/ops/device",
                                      "core/backend/plugins", "core/kernels/processors",
                                      "core/kernels/symbols", "models/device"};

// The text of a page by its path from the root.
using Pages = std::map<std::string, std::string>;
using Faults = std::vector<std::string>;

struct Line {
  int number;
  bool code;  // between fences
  std::string text;
};

std::vector<Line> LinesOf(const std::string& page) {
  std::vector<Line> lines;
  std::istringstream in(page);
  bool code = false;
  int number = 0;
  for (std::string text; std::getline(in, text);) {
    const bool fence = StartsWith(text, "```");
    lines.push_back({++number, code || fence, text});
    if (fence) code = !code;
  }
  return lines;
}

std::vector<std::smatch> Matches(const std::string& text, const std::regex& pattern) {
  return {std::sregex_iterator(text.begin(), text.end(), pattern), std::sregex_iterator()};
}

// "From an old model_dir" is #from-an-old-model_dir, as Git hosts make it.
std::string Anchor(const std::string& heading) {
  std::string anchor;
  for (const char c : heading) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-') {
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

std::set<std::string> Anchors(const std::string& page) {
  std::set<std::string> anchors;
  for (const Line& line : LinesOf(page)) {
    if (line.code || !StartsWith(line.text, "#")) continue;
    anchors.insert(Anchor(line.text.substr(line.text.find_first_not_of("# "))));
  }
  return anchors;
}

// "docs/data.md" of "data.md" in docs/runs.md, "README.md" of "../README.md"; "" is the page
// itself.
std::string Target(const std::string& page, const std::string& link) {
  if (link.empty()) return page;
  if (StartsWith(link, "../")) return Target(DirName(page), link.substr(3));
  const std::string folder = DirName(page);
  return folder.empty() || folder == "." ? link : folder + "/" + link;
}

// Links to pages and headings that are not there.
Faults BrokenLinks(const Pages& pages) {
  static const std::regex kLink(R"(\]\(([^)#]*)(#[^)]*)?\))");
  Faults faults;
  for (const auto& [path, text] : pages) {
    for (const Line& line : LinesOf(text)) {
      if (line.code) continue;
      for (const std::smatch& link : Matches(line.text, kLink)) {
        if (link[1].str().find("://") != std::string::npos) continue;
        const auto page = pages.find(Target(path, link[1]));
        const std::string heading = link[2].matched ? link[2].str().substr(1) : "";
        if (page != pages.end() && (heading.empty() || Anchors(page->second).count(heading))) {
          continue;
        }
        faults.push_back(fmt::format("{}:{}: {}{} leads nowhere", path, line.number, link[1].str(),
                                     link[2].str()));
      }
    }
  }
  return faults;
}

// Files, and the folders above them.
std::set<std::string> Places(const std::vector<Source>& tree) {
  std::set<std::string> places;
  for (const Source& source : tree) {
    places.insert(source.path);
    for (std::string folder = DirName(source.path); folder.find('/') != std::string::npos;
         folder = DirName(folder)) {
      places.insert(folder);
    }
    places.insert(source.path.substr(0, source.path.find('/')));
  }
  return places;
}

// A "*" stands for any characters of a name.
bool IsThere(const std::set<std::string>& places, const std::string& path) {
  const size_t star = path.find('*');
  // A test program is named as its source is.
  if (star == std::string::npos) return places.count(path) || places.count(path + ".cpp");
  const std::string begin = path.substr(0, star);
  const std::string end = path.substr(star + 1);
  return std::ranges::any_of(places, [&](const std::string& place) {
    return StartsWith(place, begin) && EndsWith(place, end);
  });
}

// Paths of the tree that are not there, and names of sources that no folder has.
Faults PathFaults(const Pages& pages, const std::vector<Source>& tree) {
  static const std::regex kPath(
      R"((?:^|[^\w/.-])((?:\.ci|tests|core|cli|config|configs|models|docs)/[\w./*-]*\w|[\w/]+\.(?:cpp|h))(?![\w.*]))");
  const std::set<std::string> places = Places(tree);
  std::set<std::string> names;
  for (const std::string& place : places) names.insert(BaseName(place));
  Faults faults;
  for (const auto& [page, text] : pages) {
    for (const Line& line : LinesOf(text)) {
      for (const std::smatch& path : Matches(line.text, kPath)) {
        const std::string name = path[1];
        if (IsThere(places, name) || names.count(name) || kBuilt.count(name)) continue;
        faults.push_back(fmt::format("{}:{}: there is no {}", page, line.number, name));
      }
    }
  }
  return faults;
}

// Functions and classes, "Name(" or "Class::Name", in the blocks of a page that no source has.
Faults NameFaults(const std::string& path, const std::string& page,
                  const std::vector<Source>& tree) {
  static const std::regex kWord(R"(\w+)");
  static const std::regex kName(R"(([A-Z]\w+)(?=\()|([A-Z]\w+)::([A-Z]\w+))");
  std::set<std::string> words;
  for (const Source& source : tree) {
    if (!EndsWith(source.path, ".cpp") && !EndsWith(source.path, ".h")) continue;
    if (StartsWith(source.path, "tests/")) continue;
    for (std::sregex_iterator word(source.text.begin(), source.text.end(), kWord), end; word != end;
         ++word) {
      words.insert(word->str());
    }
  }
  Faults faults;
  for (const Line& line : LinesOf(page)) {
    if (!line.code) continue;
    for (const std::smatch& name : Matches(line.text, kName)) {
      for (size_t i = 1; i < name.size(); ++i) {
        if (!name[i].matched || words.count(name[i])) continue;
        faults.push_back(fmt::format("{}:{}: there is no {}", path, line.number, name[i].str()));
      }
    }
  }
  return faults;
}

// "14 cli" of a row "| 14 | `cli/` | ..." of the page's table of ranks.
std::set<std::string> RanksOf(const std::string& page) {
  static const std::regex kRow(R"(^\| ([\d.]+) \| `([\w/]+)/` \|)");
  std::set<std::string> ranks;
  for (const Line& line : LinesOf(page)) {
    for (const std::smatch& row : Matches(line.text, kRow)) {
      ranks.insert(row[1].str() + " " + row[2].str());
    }
  }
  return ranks;
}

const Pages& Documentation() {
  static const Pages kPages = [] {
    Pages pages;
    for (const Source& source : Tree()) {
      if (source.path == "README.md" || StartsWith(source.path, "docs/")) {
        pages[source.path] = source.text;
      }
    }
    return pages;
  }();
  return kPages;
}

std::string Listed(const Faults& faults) { return Join(faults, "\n"); }

TEST_CASE("every link leads to a page and a heading") {
  CHECK(Documentation().size() > 8);
  CHECK(Listed(BrokenLinks(Documentation())) == "");
}

TEST_CASE("a program that a page shows is the file that a test builds") {
  const auto shows = [](const std::string& page, const std::string& file) {
    return ReadFile(std::string(SOURCE_ROOT "/") + page)
               .find("```cpp\n" + ReadFile(std::string(SOURCE_ROOT "/") + file) + "```") !=
           std::string::npos;
  };
  CHECK(shows("docs/developing.md", "tests/models/own_model.cpp"));
  CHECK(shows("docs/runs.md", "tests/core/estimator/hooks/example_hook.cpp"));
}

TEST_CASE("every path that is named is there") {
  CHECK(Listed(PathFaults(Documentation(), Tree())) == "");
}

TEST_CASE("every function that a trip names is in the tree") {
  CHECK(Listed(NameFaults("docs/design.md", Documentation().at("docs/design.md"), Tree())) == "");
}

TEST_CASE("the table of ranks is the stack's") {
  std::set<std::string> ranks;
  for (const auto& [folder, rank] : Ranks()) ranks.insert(fmt::format("{} {}", rank, folder));
  CHECK(RanksOf(Documentation().at("docs/developing.md")) == ranks);
}

TEST_CASE("README is read in five minutes") {
  CHECK(LinesOf(Documentation().at("README.md")).size() <= 160);
}

TEST_CASE("a link to a page or heading that is not there is found") {
  const Pages pages = {{"README.md", "# One\n[a](docs/a.md#the-end) [b](docs/b.md)\n"},
                       {"docs/a.md",
                        "# A\n## The end\n[up](../README.md#one) [x](#nowhere)\n"
                        "```\n[code](is/passed.over)\n```\n"}};
  CHECK(BrokenLinks(pages) ==
        Faults{"README.md:2: docs/b.md leads nowhere", "docs/a.md:3: #nowhere leads nowhere"});
}

TEST_CASE("a path, a source or a function that is not there is found") {
  const std::vector<Source> tree = {{"core/io/table.cpp", "void WriteTable();"},
                                    {"tests/core/io/cases_a.cpp", ""}};
  const std::string page =
      "`core/io/`, `table.cpp`, tests/core/io/cases_*.cpp, `core/io/gone.cpp`, `other.h`\n"
      "build/core/x is not the tree's\n```\nWriteTable(x) ─▶ ReadTable(y)\n```\n";
  CHECK(PathFaults({{"docs/a.md", page}}, tree) ==
        Faults{"docs/a.md:1: there is no core/io/gone.cpp", "docs/a.md:1: there is no other.h"});
  CHECK(NameFaults("docs/a.md", page, tree) == Faults{"docs/a.md:4: there is no ReadTable"});
}

}  // namespace
}  // namespace tpuest
