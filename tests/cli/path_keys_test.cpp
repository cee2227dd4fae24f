// Every key and flag that takes a path refuses one with a scheme, such as gs://bucket/run.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "cli/commands.h"
#include "cli/job/job.h"
#include "cli/shell/command_help.h"
#include "cli/shell/flag_set.h"
#include "config/diagnostics.h"
#include "config/reader.h"
#include "config/reflect.h"
#include "config/yaml_reader.h"

namespace tpuest::cli {
namespace {

using config::Member;
using config::Type;
using Kind = Type::Kind;

constexpr const char* kRemote = "gs://bucket/run";
constexpr std::string_view kRefusal = "expected a path of this machine, found 'gs://bucket/run'";

// The name or help text of a path contains one of these words. A key with such a word that takes no
// path is listed below, so that a new key with a path cannot be forgotten.
const std::regex kSpeaksOfPath(
    R"((^|_)(dir|path|file|files|folder)($|_)|\b(file|files|folder|folders|directory|paths?)\b)");

// Keys whose texts mention a path and that take none, as "TYPE.KEY".
const std::set<std::string, std::less<>> kNoPaths = {
    ".base",  // refused where the files are read (config/layers.cpp)
    "image_dataset_from_directory.labels",
    "image_dataset_from_directory.class_names",
    "LatestExporter.name",
    "BestExporter.name",
    "FinalExporter.name"};

// Flags of the same kind, as "COMMAND --FLAG".
const std::set<std::string, std::less<>> kNoPathFlags = {"convert --count", "convert --size",
                                                         "convert --compression", "inspect --head"};

// A value of the type that contains the path, as YAML; empty if the type takes no text.
std::string Spelled(const Type& type) {
  switch (type.kind) {
    case Kind::kString:
      return type.formula ? "" : kRemote;
    case Kind::kOptional:
      return Spelled(*type.item);
    case Kind::kList: {
      const std::string item = Spelled(*type.item);
      return item.empty() ? "" : fmt::format("[{}]", item);
    }
    case Kind::kMap: {
      const std::string item = Spelled(*type.item);
      return item.empty() ? "" : fmt::format("{{name: {}}}", item);
    }
    case Kind::kVariant:
      for (const Type* const alternative : type.alternatives) {
        if (alternative->kind == Kind::kSection) continue;
        if (std::string spelled = Spelled(*alternative); !spelled.empty()) return spelled;
      }
      return "";
    default:
      return "";
  }
}

// Whether a section is refused because its member has the path.
bool Refuses(const Type& section, std::string_view key, const std::string& spelled) {
  std::string text = fmt::format("{}: {}\n", key, spelled);
  if (!section.name.empty()) text += fmt::format("{}: {}\n", section.type_key, section.name);
  config::Sources sources;
  Faults faults;
  config::Tree tree;
  tree.root = config::ParseYaml(text, "job.yaml", {}, sources, faults);
  const config::Fresh fresh = section.make();
  config::ReadInto(tree, {&section, fresh.get()}, faults);
  const std::vector<Fault> found = faults.Take();
  return std::any_of(found.begin(), found.end(), [&](const Fault& fault) {
    return fault.message.find(kRefusal) != std::string::npos && fault.place.line == 1;
  });
}

// Calls `body` once for each type of section below a type.
template <class F>
void ForEachSection(const Type& type, std::set<const Type*>& seen, const F& body) {
  if (!seen.insert(&type).second) return;
  if (type.item != nullptr) ForEachSection(*type.item, seen, body);
  for (const Type* const alternative : type.alternatives) ForEachSection(*alternative, seen, body);
  if (type.kind != Kind::kSection) return;
  const config::Fresh fresh = type.make();
  for (const Member& member : config::MembersOf({&type, fresh.get()})) {
    body(type, member);
    ForEachSection(*member.value.type, seen, body);
  }
}

}  // namespace

TEST_CASE("every key that takes a path refuses one with a scheme, at its line") {
  std::set<const Type*> seen;
  int paths = 0;
  ForEachSection(*config::TypeOf<Job>(), seen, [&](const Type& section, const Member& member) {
    const std::string spelled = Spelled(*member.value.type);
    if (spelled.empty() || !member.field.values.empty()) return;
    const std::string key = fmt::format("{}.{}", section.name, member.name);
    const std::string words = fmt::format("{} {}", member.name, member.field.help);
    const bool is_path = member.field.input_path ||
                         (std::regex_search(words, kSpeaksOfPath) && !kNoPaths.contains(key));
    if (!is_path) return;
    CAPTURE(key);
    CAPTURE(member.field.help);
    CHECK(Refuses(section, member.name, spelled));
    ++paths;
  });
  CHECK(paths > 30);
}

TEST_CASE("every flag that takes a path is shown as a path, so that it refuses a scheme") {
  int paths = 0;
  for (const Command& command : Commands()) {
    for (const FlagWords& flag : FlagsOf(command)) {
      const std::string id = fmt::format("{} {}", command.name, flag.names.back());
      const bool speaks = !flag.shown.empty() && std::regex_search(flag.help, kSpeaksOfPath);
      if (TakesPath(flag.shown)) ++paths;
      if (!speaks || kNoPathFlags.contains(id)) continue;
      CAPTURE(id);
      CAPTURE(flag.shown);
      CHECK(TakesPath(flag.shown));
    }
  }
  CHECK(paths > 50);
}

TEST_CASE("names and help texts of paths use one of a few words") {
  CHECK(TakesPath("FILE|-"));
  CHECK(TakesPath("PATH|STEP|latest|best"));
  CHECK(TakesPath("DIR"));
  CHECK_FALSE(TakesPath("NAME"));
  CHECK_FALSE(TakesPath("cpu|pjrt:PATH"));
  CHECK_FALSE(TakesPath(""));
}

}  // namespace tpuest::cli
