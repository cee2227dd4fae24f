#include "cli/manual/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/host/build_info.h"
#include "cli/shell/command_help.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

using config::SchemaKey;

constexpr std::string_view kListOfSections = "a list of sections";

std::string Code(std::string_view text) { return fmt::format("`{}`", text); }

// The kind of the sections with a type that a key may be; nullptr: it is none.
const Kind* KindOf(const SchemaKey& key) {
  const bool is_section = key.type == kListOfSections ||
                          (key.type.find("section") != std::string::npos && !key.values.empty());
  const std::vector<std::string> steps = config::PathSteps(key.path);
  return is_section && !steps.empty() ? KindHeldBy(steps.back()) : nullptr;
}

// "an integer or null", "an optimizer", "a list of layers".
std::string TypeOf(const SchemaKey& key) {
  std::string type = key.type;
  const Kind* const kind = KindOf(key);
  if (kind != nullptr && type == kListOfSections) return fmt::format("a list of {}", kind->name);
  const size_t at = type.find("a section with '");
  if (kind == nullptr || at == std::string::npos) return type;
  const size_t end = type.find('\'', type.find('\'', at) + 1) + 1;
  const bool is_vowel = std::string_view("aeiou").find(kind->one.front()) != std::string_view::npos;
  return type.replace(at, end - at, fmt::format("{} {}", is_vowel ? "an" : "a", kind->one));
}

// "how many channels (an integer; required)".
std::string TextOf(const SchemaKey& key) {
  std::string about = TypeOf(key);
  if (key.required) {
    about += "; required";
  } else if (!key.default_text.empty()) {
    about += fmt::format("; default {}", Code(key.default_text));
  }
  return key.help.empty() ? about : fmt::format("{} ({})", key.help, about);
}

void AddKeys(Document& page, const std::vector<SchemaKey>& keys) {
  for (const SchemaKey& key : keys) page.Item(Code(key.path), TextOf(key));
}

std::string Joined(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(Code(word));
  return Join(quoted, ", ");
}

void AddType(Document& page, const TypeEntry& type) {
  page.Heading(type.name, 2);
  std::string text = type.summary;
  if (!type.aliases.empty()) text += fmt::format("; also {}", Joined(type.aliases));
  page.Paragraph(text + ".");
  AddKeys(page, type.keys);
}

// The commands of one page, their headings a level below.
void AddCommand(Document& page, const Command& command) {
  page.Heading("tpuest " + std::string(command.name), 2);
  page.Paragraph(std::string(command.summary) + ".");
  page.Code(fmt::format("usage: tpuest {}\n\n{}", UsageOf(command),
                        Join({command.examples.begin(), command.examples.end()}, "\n")));
  for (const FlagWords& flag : FlagsOf(command)) {
    if (!flag.group.empty() || flag.names.back() == "--help") continue;
    page.Item(TermOf(flag), flag.help);
  }
}

Document CommonFlags(const Command& any) {
  Document page;
  for (const FlagWords& flag : FlagsOf(any)) {
    if (flag.group.empty()) continue;
    page.Item(TermOf(flag), flag.help);
  }
  return page;
}

// The keys of the job and all types.
Document JobPages() {
  Document page;
  page.Heading("Keys of the job");
  AddKeys(page, JobCatalog().keys);
  for (const Kind& kind : Kinds()) {
    const std::vector<const TypeEntry*> types = TypesOf(kind);
    std::string title(kind.name);
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    std::replace(title.begin(), title.end(), '_', ' ');
    page.Heading(title);
    const std::string key = types.empty() ? "type" : types.front()->type_key;
    page.Paragraph(fmt::format("Selected by `{}:`: {}.", key, kind.summary));
    for (const TypeEntry* const type : types) AddType(page, *type);
  }
  return page;
}

struct ExitCode {
  int code;
  const char* meaning;
};
constexpr ExitCode kExitCodes[] = {
    {0, "done"},
    {1, "internal error in tpuest"},
    {2, "error in the command line or the job file; nothing was changed"},
    {3, "data is missing, or more of it is damaged than the job allows"},
    {4, "the checkpoint cannot be read, or does not fit the model"},
    {5, "diverged: the loss or an update is infinite or NaN"},
    {6, "out of memory or disk full"},
    {7, "a device or a peer was lost, or a deadline passed; try again"},
    {8, "a check failed: --fail-if, --fail-if-worse, verify or plan --compile"},
    {75,
     "stopped by SIGTERM, SIGUSR1 or SIGHUP after saving a checkpoint; the same command resumes"},
    {130, "stopped by Ctrl-C; training saved a checkpoint first"},
    {143,
     "stopped by SIGTERM with nothing to save, or by a second SIGTERM; run the command again"}};

void AddExitCodes(Document& page) {
  page.Heading("Exit codes");
  for (const ExitCode& exit : kExitCodes) page.Item(Code(std::to_string(exit.code)), exit.meaning);
}

std::string Upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

ManFile PageFile(const std::string& name, int section, const std::string& summary,
                 const Document& rest) {
  Document page;
  page.Heading("Name").Paragraph(fmt::format("{} - {}", name, summary)).Append(rest);
  return {fmt::format("{}.{}", name, section),
          ManPage(page, Upper(name), section, ThisBuild().version)};
}

ManFile PageFile(const Command& command) {
  Document page;
  page.Heading("Synopsis")
      .Paragraph(Code("tpuest " + UsageOf(command)))
      .Heading("Examples")
      .Code(Join({command.examples.begin(), command.examples.end()}, "\n"))
      .Append(FlagsDocument(command));
  AddExitCodes(page);
  page.Heading("See also").Paragraph("`tpuest(1)`, `tpuest-job(5)`");
  return PageFile("tpuest-" + std::string(command.name), 1, std::string(command.summary), page);
}

}  // namespace

Document PageOf(const TypeEntry& type) {
  const Kind& kind = *FindKind(type.kind);
  Document page;
  page.Paragraph(fmt::format("{} ({}): {}", type.name, kind.one, type.summary));
  if (!type.aliases.empty()) page.Item("also written", Joined(type.aliases));
  page.Item("stands at", Joined(type.places));
  if (!type.keys.empty()) page.Heading("Keys");
  AddKeys(page, type.keys);
  return page;
}

Document PageOf(const Kind& kind) {
  Document page;
  page.Paragraph(fmt::format("{}: {}", kind.name, kind.summary));
  for (const TypeEntry* const type : TypesOf(kind)) page.Item(type->name, type->summary);
  return page;
}

Document PageOf(const SchemaKey& key, const std::vector<SchemaKey>& all) {
  Document page;
  page.Item(Code(key.path), TextOf(key));
  for (const SchemaKey& other : all) {
    const bool is_below =
        other.path.size() > key.path.size() && other.path.starts_with(key.path) &&
        (other.path[key.path.size()] == '.' || other.path[key.path.size()] == '[');
    if (is_below) page.Item(Code(other.path), TextOf(other));
  }
  if (const Kind* const kind = KindOf(key)) {
    page.Paragraph(fmt::format("`tpuest ls {}` lists the allowed types.", kind->name));
  }
  return page;
}

std::string ReferenceText(const std::vector<Command>& commands) {
  Document page;
  page.Paragraph(
      "All commands, keys of the job and types, generated from their declarations by `tpuest help "
      "--markdown`. `tpuest help WORD` prints one entry; `tpuest ls layers` lists one kind of "
      "types.");
  page.Heading("Commands");
  for (const Command& command : commands) AddCommand(page, command);
  page.Heading("Flags of every command", 2);
  page.Append(CommonFlags(commands.front()));
  AddExitCodes(page);
  page.Append(JobPages());
  return "# Reference\n\n" + Markdown(page);
}

std::vector<ManFile> ManPages(const std::vector<Command>& commands) {
  Document overview;
  overview.Heading("Synopsis").Paragraph("`tpuest COMMAND [JOB.yaml] [KEY=VALUE ...] [flags]`");
  std::string_view group;
  for (const Command& command : commands) {
    if (command.group != group) overview.Heading(std::string(command.group));
    group = command.group;
    overview.Item(fmt::format("`tpuest-{}(1)`", command.name), std::string(command.summary));
  }
  AddExitCodes(overview);
  std::vector<ManFile> files = {
      PageFile("tpuest", 1, "trains, evaluates and predicts from a job file", overview),
      PageFile("tpuest-job", 5, "the job file of tpuest", JobPages())};
  for (const Command& command : commands) files.push_back(PageFile(command));
  return files;
}

}  // namespace tpuest::cli
