// tpuest config show JOB.yaml [--minimal|--full|--explain [KEY...]], config diff A B, config schema

#include <algorithm>

#include "cli/job/job.h"
#include "cli/job/schema.h"
#include "cli/prepare/commands.h"
#include "cli/run/record/folder.h"
#include "cli/run/session.h"
#include "cli/shell/json.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest::cli {
namespace {

struct ConfigInvocation : Invocation {
  bool full = false;
  bool minimal = false;
  bool explain = false;
};

void Declare(FlagSet& flags, ConfigInvocation& to) {
  flags.Switch("--minimal", to.minimal, "of show: print only values that differ from the defaults");
  flags.Switch("--full", to.full, "of show: print every value and where it comes from");
  flags.Switch("--explain", to.explain,
               "of show: explain each key, or the keys named: its source, meaning and the values "
               "it overrides");
}

constexpr const char* kUsages =
    "tpuest config show job.yaml, tpuest config diff a.yaml b.yaml, tpuest config schema";

// Returns true if the last steps of a path are these: "learning_rate" of "optimizer.learning_rate".
bool IsNamed(const std::string& path, const std::string& key) {
  const std::vector<std::string> steps = config::PathSteps(path);
  const std::vector<std::string> given = config::PathSteps(key);
  // A section's name means all keys in it.
  return std::search(steps.begin(), steps.end(), given.begin(), given.end()) != steps.end();
}

std::string OriginOf(const config::Node* node) {
  return node == nullptr ? "default" : config::OriginText(*node);
}

// The job may contain only the section's `type:`.
const config::Node* NodeOf(const config::Tree& tree, const std::string& path) {
  if (const config::Node* const node = config::FindNode(tree, path)) return node;
  const size_t dot = path.rfind('.');
  if (dot == std::string::npos) return nullptr;
  const config::Node* const parent = config::FindNode(tree, path.substr(0, dot));
  const bool is_bare = parent != nullptr && parent->kind == config::Node::Kind::kScalar;
  return is_bare && EndsWith(path, ".type") ? parent : nullptr;
}

Json ExplainedJson(const config::FlatValue& value, const config::Node* node) {
  Json earlier = Json::array();
  if (node != nullptr) {
    for (const config::Covered& covered : node->earlier) {
      earlier.push_back({{"value", covered.text}, {"origin", covered.origin}});
    }
  }
  return {{"key", value.path},
          {"value", value.text},
          {"origin", OriginOf(node)},
          {"help", value.help},
          {"earlier", earlier}};
}

void PrintExplained(const config::FlatValue& value, const config::Node* node) {
  fmt::print("{} = {}\n", value.path, value.text);
  if (!value.help.empty()) fmt::print("    {}\n", value.help);
  std::string origin = OriginOf(node);
  if (node != nullptr) {
    for (auto covered = node->earlier.rbegin(); covered != node->earlier.rend(); ++covered) {
      origin += fmt::format("; over {} of {}", covered->text, covered->origin);
    }
  }
  fmt::print("    {}\n", origin);
}

int Explain(const ConfigInvocation& invocation, const std::vector<std::string>& keys,
            const LoadedJob& loaded) {
  std::vector<config::FlatValue> values = FlatJob(loaded.job);
  for (const std::string& key : keys) {
    const bool is_there = std::any_of(values.begin(), values.end(),
                                      [&](const auto& value) { return IsNamed(value.path, key); });
    if (is_there) continue;
    std::vector<std::string> known;
    for (const config::FlatValue& value : values) {
      known.push_back(config::PathSteps(value.path).back());
    }
    const auto near = Nearest(config::PathSteps(key).back(), known);
    throw Error(Code::kUsage, fmt::format("this job has no key '{}'", key),
                near ? fmt::format("did you mean '{}'?", *near) : "");
  }
  Json shown = Json::array();
  for (const config::FlatValue& value : values) {
    const bool is_asked =
        keys.empty() || std::any_of(keys.begin(), keys.end(), [&](const std::string& key) {
          return IsNamed(value.path, key);
        });
    if (!is_asked) continue;
    const config::Node* const node = NodeOf(loaded.tree, value.path);
    if (invocation.json) {
      shown.push_back(ExplainedJson(value, node));
    } else {
      PrintExplained(value, node);
    }
  }
  if (invocation.json) PrintDocument("config", {{"values", shown}});
  return 0;
}

int Show(const ConfigInvocation& invocation, config::Sources& sources) {
  if (invocation.minimal + invocation.full + invocation.explain > 1) {
    throw Error(Code::kUsage, "--minimal, --full and --explain exclude each other",
                "--full prints every value, --explain the meaning of keys");
  }
  Invocation of_job = invocation;
  if (invocation.explain) of_job.arguments.clear();
  const LoadedJob loaded = LoadInvocationJob(of_job, sources);
  if (invocation.explain) return Explain(invocation, invocation.arguments, loaded);
  const std::string text = invocation.full      ? ResolvedText(loaded.job, loaded.tree)
                           : invocation.minimal ? MinimalText(loaded.job, loaded.tree)
                                                : ShownText(loaded.job, loaded.tree);
  if (invocation.json) {
    PrintDocument("config", {{"yaml", text}});
  } else {
    std::fwrite(text.data(), 1, text.size(), stdout);
  }
  return 0;
}

// Returns the values of a job file, or of the job in a run's folder.
std::vector<config::FlatValue> ValuesAt(const std::string& path, config::Sources& sources) {
  return FlatJob(
      LoadJobFile(DirectoryExists(path) ? ResolvedJobPath(path) : path, {}, sources).job);
}

int Diff(const ConfigInvocation& invocation, config::Sources& sources) {
  if (invocation.arguments.size() != 2) {
    throw Error(Code::kUsage,
                fmt::format("config diff takes two jobs, found {}", invocation.arguments.size()),
                "tpuest config diff a.yaml b.yaml; a run's folder means its job");
  }
  const auto a = ValuesAt(invocation.arguments[0], sources);
  const auto b = ValuesAt(invocation.arguments[1], sources);
  Json differences = Json::array();
  const auto text = [](const std::optional<std::string>& value) { return value.value_or("-"); };
  const auto json = [](const std::optional<std::string>& value) {
    return value ? Json(*value) : Json();
  };
  for (const config::Difference& difference : config::DifferencesOf(a, b)) {
    if (invocation.json) {
      differences.push_back(
          {{"key", difference.path}, {"a", json(difference.a)}, {"b", json(difference.b)}});
    } else {
      fmt::print("{}: {} -> {}\n", difference.path, text(difference.a), text(difference.b));
    }
  }
  if (invocation.json) PrintDocument("config", {{"differences", differences}});
  return 0;
}

int Schema(const ConfigInvocation& invocation) {
  if (invocation.json) {
    PrintDocument("config", {{"json_schema", JobSchema()}});
  } else {
    fmt::print("{}\n", JobSchema().dump(2));
  }
  return 0;
}

int RunConfig(const ConfigInvocation& invocation, config::Sources& sources) {
  if (invocation.subject == "show") return Show(invocation, sources);
  if (invocation.subject == "diff") return Diff(invocation, sources);
  if (invocation.subject == "schema") return Schema(invocation);
  throw Error(Code::kUsage,
              invocation.subject.empty()
                  ? "config needs a subcommand"
                  : fmt::format("config has no subcommand '{}'", invocation.subject),
              kUsages);
}

}  // namespace

Command ConfigCommand() {
  return MakeCommand<ConfigInvocation>(
      {.name = "config",
       .summary = "show a job, compare two, print the schema: config show|diff|schema",
       .examples = {"tpuest config show job.yaml --full", "tpuest config diff a.yaml b.yaml",
                    "tpuest config schema > job.schema.json"},
       .subjects = {"show", {"diff", Takes::kPaths}, {"schema", Takes::kNothing}},
       .needs_subject = true},
      Declare, RunConfig);
}

}  // namespace tpuest::cli
