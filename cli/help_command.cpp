// tpuest help [WORD ...]

#include <unistd.h>

#include <algorithm>
#include <set>

#include "cli/commands.h"
#include "cli/job/tensorflow_names.h"
#include "cli/manual/pages.h"
#include "cli/shell/command_help.h"
#include "cli/shell/json.h"
#include "cli/shell/terminal.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

using config::SchemaKey;

struct HelpInvocation : Invocation {
  bool key = false;
  bool markdown = false;
  std::optional<std::string> man;
};

// The manual's entries for a word.
struct Found {
  const Command* command = nullptr;
  const Kind* kind = nullptr;
  std::vector<const TypeEntry*> types;
  std::vector<std::pair<SchemaKey, const TypeEntry*>> keys;  // the type is null for the job's own
  std::set<std::string> answers;                             // to names of TensorFlow's alone

  [[nodiscard]] bool empty() const {
    return command == nullptr && kind == nullptr && types.empty() && keys.empty() &&
           answers.empty();
  }
};

std::string Lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// "conv2d" of "tf.keras.layers.Conv2D".
std::string LastOf(const std::string& word) { return word.substr(word.rfind('.') + 1); }

bool IsNameOf(const TypeEntry& type, const std::string& word) {
  return Lower(type.name) == word ||
         std::any_of(type.aliases.begin(), type.aliases.end(),
                     [&](const std::string& alias) { return Lower(alias) == word; });
}

// The steps of a key's path, without the numbers of items.
std::vector<std::string> StepsOf(const std::string& path) {
  std::vector<std::string> steps = config::PathSteps(path);
  std::erase_if(steps, [](const std::string& step) {
    return step.find_first_not_of("0123456789") == std::string::npos;
  });
  return steps;
}

// Tells whether a key's path is the one that is asked for, or ends with it.
bool IsAskedFor(const std::string& path, const std::vector<std::string>& asked) {
  const std::vector<std::string> steps = StepsOf(path);
  return asked.size() <= steps.size() &&
         std::equal(asked.rbegin(), asked.rend(), steps.rbegin(),
                    [](const auto& x, const auto& y) { return x == y || y == "<name>"; });
}

// Tells whether a job's path, model.layers[0].units, may be a type's key, units.
bool MayStandAt(const TypeEntry& type, const std::string& path,
                const std::vector<std::string>& asked) {
  const std::vector<std::string> steps = StepsOf(path);
  if (asked.size() <= steps.size() ||
      !IsAskedFor(path, {asked.end() - static_cast<ptrdiff_t>(steps.size()), asked.end()})) {
    return false;
  }
  const std::string& holder = asked[asked.size() - steps.size() - 1];
  return std::any_of(type.places.begin(), type.places.end(),
                     [&](const std::string& place) { return StepsOf(place).back() == holder; });
}

void FindKeys(const std::string& word, Found& found) {
  const std::vector<std::string> asked = StepsOf(word);
  if (asked.empty()) return;
  const Catalog& catalog = JobCatalog();
  for (const SchemaKey& key : catalog.keys) {
    // A whole path belongs to only one key.
    if (StepsOf(key.path) == asked) {
      found.keys = {{key, nullptr}};
      return;
    }
    if (IsAskedFor(key.path, asked)) found.keys.emplace_back(key, nullptr);
  }
  for (const TypeEntry& type : catalog.types) {
    for (const SchemaKey& key : type.keys) {
      const std::vector<std::string> rest(asked.begin() + 1, asked.end());
      const bool of_type = IsNameOf(type, Lower(asked[0])) && !rest.empty();
      if (IsAskedFor(key.path, asked) || (of_type && IsAskedFor(key.path, rest)) ||
          MayStandAt(type, key.path, asked)) {
        found.keys.emplace_back(key, &type);
      }
    }
  }
}

void FindAnswers(const std::string& word, Found& found) {
  const config::OtherNames others = TensorFlowNames();
  for (const config::OtherKey& key : others.keys) {
    if (key.key == LastOf(word)) found.answers.insert(std::string(key.answer));
  }
  if (const std::string_view answer = others.AnswerTo(LastOf(word)); !answer.empty()) {
    found.answers.insert(std::string(answer));
  }
}

Found Find(const std::string& word, bool only_keys) {
  Found found;
  if (!only_keys) {
    found.command =
        FindCommand(Commands(), word == "train_and_evaluate" ? "train-and-evaluate" : word);
    found.kind = FindKind(word);
    for (const TypeEntry& type : JobCatalog().types) {
      if (IsNameOf(type, Lower(word))) found.types.push_back(&type);
    }
  }
  if (found.empty()) FindKeys(word, found);
  if (found.empty() && !only_keys) {
    for (const TypeEntry& type : JobCatalog().types) {
      if (IsNameOf(type, Lower(LastOf(word)))) found.types.push_back(&type);
    }
  }
  if (found.empty()) FindAnswers(word, found);
  return found;
}

[[noreturn]] void ThrowUnknown(const std::string& word) {
  const auto nearest = Nearest(word, HelpWords());
  throw Error(Code::kUsage, fmt::format("unknown command, key or type '{}'", word),
              nearest ? fmt::format("did you mean 'tpuest help {}'?", *nearest)
                      : "'tpuest help' lists the commands, 'tpuest ls layers' the layers");
}

// A key that many types have is distinguished by its place.
Document PageOf(const Found& found, const std::string& word) {
  Document page;
  if (found.command != nullptr) page.Append(HelpOf(*found.command));
  if (found.kind != nullptr) page.Append(cli::PageOf(*found.kind));
  for (const TypeEntry* const type : found.types) page.Append(cli::PageOf(*type));
  for (const auto& [key, type] : found.keys) {
    if (type != nullptr) {
      page.Heading(fmt::format("of {} ({})", type->name, FindKind(type->kind)->one));
    }
    page.Append(cli::PageOf(key, type == nullptr ? JobCatalog().keys : type->keys));
  }
  for (const std::string& answer : found.answers) {
    page.Paragraph(fmt::format("TensorFlow's {} is not a key or type of a job: {}", word, answer));
  }
  return page;
}

Json KeyJson(const SchemaKey& key) {
  Json json = {{"key", key.path}, {"type", key.type}, {"help", key.help}};
  if (!key.values.empty()) json["values"] = key.values;
  json["required"] = key.required;
  if (!key.default_text.empty()) json["default"] = key.default_text;
  return json;
}

Json TypeJson(const TypeEntry& type) {
  Json keys = Json::array();
  for (const SchemaKey& key : type.keys) keys.push_back(KeyJson(key));
  return {{"kind", type.kind},       {"type", type.name},     {"aliases", type.aliases},
          {"summary", type.summary}, {"places", type.places}, {"keys", keys}};
}

Json CommandJson(const Command& command) {
  Json flags = Json::array();
  for (const FlagWords& flag : FlagsOf(command)) {
    flags.push_back({{"names", flag.names}, {"value", flag.shown}, {"help", flag.help}});
  }
  return {{"command", command.name},
          {"summary", command.summary},
          {"usage", "tpuest " + UsageOf(command)},
          {"examples", command.examples},
          {"flags", flags}};
}

// Adds what was found to the lists of the document.
void AddJson(const Found& found, Json& document) {
  if (found.command != nullptr) document["commands"].push_back(CommandJson(*found.command));
  if (found.kind != nullptr) {
    for (const TypeEntry* const type : TypesOf(*found.kind)) {
      document["types"].push_back(TypeJson(*type));
    }
  }
  for (const TypeEntry* const type : found.types) document["types"].push_back(TypeJson(*type));
  for (const auto& [key, type] : found.keys) {
    Json json = KeyJson(key);
    if (type != nullptr) json["of_type"] = type->name;
    document["keys"].push_back(std::move(json));
  }
  for (const std::string& answer : found.answers) document["answers"].push_back(answer);
}

void WriteManPages(const std::string& folder) {
  MakeDirectories(folder);
  for (const ManFile& file : ManPages(Commands())) {
    WriteFileAtomically(JoinPath(folder, file.name), file.text);
  }
}

int Help(const HelpInvocation& invocation, config::Sources& /*sources*/) {
  if (invocation.man) WriteManPages(*invocation.man);
  if (invocation.markdown) fmt::print("{}", ReferenceText(Commands()));
  if (invocation.man || invocation.markdown) return 0;
  Json document;
  for (const char* const list : {"commands", "types", "keys", "answers"}) {
    document[list] = Json::array();
  }
  Document page;
  if (invocation.arguments.empty()) page.Append(HelpOf(Commands()));
  for (const std::string& word : invocation.arguments) {
    const Found found = Find(word, invocation.key);
    if (found.empty()) ThrowUnknown(word);
    page.Append(PageOf(found, word));
    AddJson(found, document);
  }
  if (invocation.json) {
    if (invocation.arguments.empty()) {
      for (const Command& command : Commands())
        document["commands"].push_back(CommandJson(command));
    }
    PrintDocument("help", document);
  } else {
    fmt::print("{}", PlainText(page, TerminalColumns(STDOUT_FILENO)));
  }
  return 0;
}

}  // namespace

std::vector<std::string> HelpWords() {
  std::vector<std::string> words;
  for (const Command& command : Commands()) words.emplace_back(command.name);
  for (const Kind& kind : Kinds()) words.emplace_back(kind.name);
  const auto add_keys = [&](const std::vector<SchemaKey>& keys) {
    for (const SchemaKey& key : keys) {
      words.push_back(key.path);
      words.push_back(LastOf(key.path));
    }
  };
  add_keys(JobCatalog().keys);
  for (const TypeEntry& type : JobCatalog().types) {
    words.push_back(type.name);
    words.insert(words.end(), type.aliases.begin(), type.aliases.end());
    add_keys(type.keys);
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

Command HelpCommand() {
  return MakeCommand<HelpInvocation>(
      {.name = "help",
       .summary = "explain a command, a key of the job or a type",
       .examples = {"tpuest help conv2d", "tpuest help train_spec.max_steps", "tpuest help predict",
                    "tpuest help --key predict"},
       .takes = Takes::kWords},
      [](FlagSet& flags, HelpInvocation& to) {
        flags.Switch("--key", to.key,
                     "read the word as a key, even if a command or a type has that name");
        flags.Switch("--markdown", to.markdown, "print everything as Markdown: docs/reference.md");
        flags.Text("--man", to.man, "DIR", "write the man pages to this folder");
      },
      Help);
}

}  // namespace tpuest::cli
