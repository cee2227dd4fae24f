#include "cli/completion_keys.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/job/job.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

// The job as it is written, even where it is not valid yet.
struct PartialJob {
  Job job;
  config::Tree tree;
};

std::optional<PartialJob> ReadPartialJob(const std::string& path) {
  PartialJob partial;
  try {
    config::Sources sources;
    config::ParseJobInto(config::ReadJobFile(path), path,
                         {.declared_paths = ModelParameterPaths, .rewrite = ExpandModelBlocks},
                         sources, config::ValueOf(partial.job), partial.tree);
  } catch (const Error&) {
    // The tree holds what could be read.
    if (partial.tree.root.kind != config::Node::Kind::kMap) return std::nullopt;
  }
  return partial;
}

std::string LastStep(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::map<std::string, std::string> KeysOf(PartialJob& partial) {
  const std::vector<config::ConcreteKey> all =
      config::ConcreteKeys(partial.tree, config::ValueOf(partial.job));
  std::map<std::string, int> endings;
  for (const config::ConcreteKey& key : all) ++endings[LastStep(key.path)];
  std::map<std::string, std::string> keys;
  for (const config::ConcreteKey& key : all) keys.emplace(key.path, key.help);
  for (const config::ConcreteKey& key : all) {
    if (endings[LastStep(key.path)] == 1) keys.emplace(LastStep(key.path), key.help);
  }
  return keys;
}

// Tells whether "layers[2].units" is the schema's "layers[].units".
bool IsSchemaPathOf(const std::string& schema, const std::string& path) {
  const std::vector<std::string> a = config::PathSteps(schema);
  const std::vector<std::string> b = config::PathSteps(path);
  // The typed path may consist of only the last steps of the schema's path.
  if (b.size() > a.size()) return false;
  return std::equal(b.rbegin(), b.rend(), a.rbegin(),
                    [](const auto& x, const auto& y) { return x == y || x == "<name>"; });
}

void AddValues(const config::SchemaKey& key, std::set<std::string>& values) {
  values.insert(key.values.begin(), key.values.end());
  if (key.type.find("true or false") != std::string::npos ||
      key.type.find("true, false") != std::string::npos) {
    values.insert({"true", "false"});
  }
  if (EndsWith(key.type, "null")) values.insert("null");
}

}  // namespace

std::optional<std::string> WrittenModelDir(const std::string& job) {
  const std::optional<PartialJob> partial = ReadPartialJob(job);
  if (!partial) return std::nullopt;
  return partial->job.estimator.run_config.model_dir.value_or("");
}

std::map<std::string, std::string> JobKeys(const std::string& job) {
  std::optional<PartialJob> partial = ReadPartialJob(job);
  return partial ? KeysOf(*partial) : std::map<std::string, std::string>();
}

std::vector<std::string> KeyValues(const std::string& key) {
  const std::vector<config::SchemaKey> schema = config::Schema<Job>();
  // `type` is no key of its own: the section's words are its values.
  const bool is_type = EndsWith(key, ".type");
  const std::string path = is_type ? key.substr(0, key.rfind('.')) : key;
  std::set<std::string> exact;
  std::set<std::string> by_ending;
  for (const config::SchemaKey& known : schema) {
    if (!IsSchemaPathOf(known.path, path)) continue;
    const bool is_exact = config::PathSteps(known.path).size() == config::PathSteps(path).size();
    AddValues(known, is_exact ? exact : by_ending);
  }
  std::set<std::string>& values = exact.empty() ? by_ending : exact;
  if (is_type) values.erase("null");
  return {values.begin(), values.end()};
}

}  // namespace tpuest::cli
