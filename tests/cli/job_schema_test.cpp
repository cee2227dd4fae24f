// The JSON Schema knows every key that the reader knows.

#include <doctest/doctest.h>

#include "cli/job/job.h"
#include "cli/job/schema.h"
#include "cli/shell/json.h"
#include "config/schema.h"

namespace tpuest::cli {
namespace {

// All schemas that a schema stands for: itself, the one it refers to, its alternatives.
std::vector<const Json*> FormsOf(const Json& root, const Json& schema) {
  if (schema.contains("$ref")) {
    const std::string name = schema["$ref"].get<std::string>().substr(sizeof "#/$defs/" - 1);
    return FormsOf(root, root["$defs"].at(name));
  }
  if (!schema.contains("anyOf")) return {&schema};
  std::vector<const Json*> forms;
  for (const Json& alternative : schema["anyOf"]) {
    const std::vector<const Json*> more = FormsOf(root, alternative);
    forms.insert(forms.end(), more.begin(), more.end());
  }
  return forms;
}

// The schemas one step below these: of a key, of the elements of a list ("[]"), of the values of a
// map ("<name>").
std::vector<const Json*> Below(const Json& root, const std::vector<const Json*>& schemas,
                               const std::string& step) {
  std::vector<const Json*> found;
  for (const Json* const schema : schemas) {
    for (const Json* const form : FormsOf(root, *schema)) {
      if (step == "[]" && form->contains("items")) found.push_back(&form->at("items"));
      if (step == "<name>" && form->value("additionalProperties", Json()).is_object()) {
        found.push_back(&form->at("additionalProperties"));
      }
      if (form->contains("properties") && form->at("properties").contains(step)) {
        found.push_back(&form->at("properties").at(step));
      }
    }
  }
  return found;
}

std::vector<std::string> StepsOf(std::string path) {
  for (size_t at = path.find("[]"); at != std::string::npos; at = path.find("[]", at + 4)) {
    path.insert(at, ".");
  }
  std::vector<std::string> steps;
  std::string step;
  for (const char c : path + ".") {
    if (c != '.') {
      step += c;
    } else {
      if (!step.empty()) steps.push_back(step);
      step.clear();
    }
  }
  return steps;
}

}  // namespace

TEST_CASE("every key of a job is in its schema, with its meaning") {
  const Json root = JobSchema();
  int keys = 0;
  for (const config::SchemaKey& key : config::Schema<Job>()) {
    std::vector<const Json*> schemas = {&root};
    for (const std::string& step : StepsOf(key.path)) schemas = Below(root, schemas, step);
    CAPTURE(key.path);
    CHECK(!schemas.empty());
    const bool is_told = std::any_of(schemas.begin(), schemas.end(), [&](const Json* schema) {
      return schema->value("description", "") == key.help;
    });
    CHECK(is_told);
    ++keys;
  }
  CHECK(keys > 300);
}

TEST_CASE("the schema lists exactly the sections that have a key") {
  const std::vector<config::SchemaKey> keys = config::Schema<Job>();
  for (const std::string name :
       {"units", "learning_rate", "name", "decay_steps", "steps", "version", "model", "nowhere"}) {
    std::vector<std::string> listed;
    for (const config::SchemaKey& key : keys) {
      const size_t dot = key.path.rfind('.');
      const bool is_top = dot == std::string::npos;
      if (key.path.substr(is_top ? 0 : dot + 1) != name) continue;
      listed.push_back(is_top ? "" : key.path.substr(0, dot));
    }
    CAPTURE(name);
    CHECK(config::SectionsWithKey(*config::TypeOf<Job>(), name) == listed);
  }
}

TEST_CASE("a schema gives the values of a key, and its default") {
  const Json root = JobSchema();
  const Json& properties = root["properties"];
  CHECK(root["required"] == Json({"version", "model"}));
  CHECK(root["additionalProperties"] == false);
  CHECK(properties["use_tpu"]["default"] == true);
  CHECK(properties["train_batch_size"]["default"].is_null());
  CHECK(properties["mode"].dump().find("train_and_evaluate") != std::string::npos);
  const Json& run_config = properties["run_config"]["properties"];
  CHECK(run_config["save_summary_steps"]["default"] == 100);
  CHECK(root["$defs"]["MomentumOptimizer"]["required"] ==
        Json({"type", "learning_rate", "momentum"}));
}

}  // namespace tpuest::cli
