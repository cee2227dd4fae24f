#include "cli/run/tf_config.h"

#include <cstdlib>

#include "cli/shell/json.h"
#include "core/base/error.h"
#include "core/estimator/options/options.h"

namespace tpuest::cli {
namespace {

constexpr const char* kExample =
    R"(TF_CONFIG='{"cluster": {"chief": ["h0:2222"]}, "task": {"type": "evaluator", "index": 0}}')";
constexpr const char* kFromEnvironment =
    "Note that these values may be coming from the TF_CONFIG environment variable.";
constexpr const char* kAlone =
    "one process trains all replicas: a cluster of its chief alone, or no TF_CONFIG";

[[noreturn]] void Refuse(std::string message, std::string hint = kExample) {
  throw Error(Code::kUsage, std::move(message), std::move(hint));
}

// "ClusterSpec({'chief': ['h0:2222']})", as Python prints it.
std::string ClusterText(const Json& cluster) {
  std::string text = cluster.dump();
  for (char& c : text) {
    if (c == '"') c = '\'';
  }
  return fmt::format("ClusterSpec({})", text);
}

// A member of an object; null where the object lacks it.
Json Member(const Json& object, const char* key) {
  return object.is_object() ? object.value(key, Json()) : Json();
}

// Python's int() of a JSON value.
int64_t IndexOf(const Json& index) {
  if (index.is_number_integer()) return index.get<int64_t>();
  if (index.is_string()) {
    const std::string text = index.get<std::string>();
    char* end = nullptr;
    const int64_t number = std::strtoll(text.c_str(), &end, 10);
    if (!text.empty() && *end == '\0') return number;
  }
  Refuse(fmt::format("the task index in TF_CONFIG is {}; expected a number", index.dump()));
}

class Reader {
 public:
  explicit Reader(std::string text) { config_.text = std::move(text); }

  TfConfig Run() {
    const Json json = Json::parse(config_.text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) Refuse(fmt::format("TF_CONFIG is no JSON object: {}", config_.text));
    ReadModelDir(json);
    if (const Json service = Member(json, "service"); !service.is_null() && !service.is_object()) {
      Refuse(fmt::format("If \"service\" is set in TF_CONFIG, it must be a dict. Given {}",
                         service.dump()));
    }
    ReadCluster(Member(json, "cluster"));
    const Json task = Member(json, "task");
    if (config_.cluster.empty()) {
      ReadLocalTask(task);
    } else {
      ReadTask(task, Member(json, "cluster"));
    }
    return std::move(config_);
  }

 private:
  void ReadModelDir(const Json& json) {
    const Json model_dir = Member(json, "model_dir");
    if (model_dir.is_null()) return;
    if (!model_dir.is_string() || model_dir.get<std::string>().empty()) {
      Refuse("model_dir in TF_CONFIG should be non-empty.", "leave it out for the job's");
    }
    config_.model_dir = model_dir.get<std::string>();
  }

  void ReadCluster(const Json& cluster) {
    if (cluster.is_null()) return;
    bool is_map = cluster.is_object();
    if (is_map) {
      for (const auto& [type, nodes] : cluster.items()) {
        is_map = is_map && (nodes.is_array() || nodes.is_object());
        config_.cluster[type] = nodes.size();
      }
    }
    if (is_map) return;
    Refuse(
        "`cluster` must be a dictionary mapping one or more job names to lists of network "
        "addresses, or a `ClusterDef` protocol buffer");
  }

  void ReadLocalTask(const Json& task) {
    if (const Json type = Member(task, "type"); !type.is_null() && type != "worker") {
      Refuse("If \"cluster\" is not set in TF_CONFIG, task type must be WORKER.");
    }
    if (const Json index = Member(task, "index"); !index.is_null() && IndexOf(index) != 0) {
      Refuse("If \"cluster\" is not set in TF_CONFIG, task index must be 0.");
    }
  }

  void ReadTask(const Json& task, const Json& cluster) {
    const bool has_master = config_.cluster.contains("master");
    if (has_master && config_.cluster.contains("chief")) {
      Refuse("If `master` node exists in `cluster`, job `chief` is not supported.");
    }
    CheckChief(has_master ? "master" : "chief");
    const Json type = Member(task, "type");
    if (!type.is_string() || type.get<std::string>().empty()) {
      Refuse("If \"cluster\" is set in TF_CONFIG, task type must be set.");
    }
    const Json index = Member(task, "index");
    if (index.is_null()) Refuse("If \"cluster\" is set in TF_CONFIG, task index must be set.");
    config_.task_type = type.get<std::string>();
    config_.task_id = IndexOf(index);
    if (config_.task_id < 0) Refuse("Task index must be non-negative number.");
    if (config_.is_evaluator()) {
      if (!has_master) return;
      Refuse("If `master` node exists in `cluster`, task_type `evaluator` is not supported.");
    }
    CheckInCluster(cluster);
  }

  void CheckChief(const std::string& chief) const {
    const auto found = config_.cluster.find(chief);
    if (found == config_.cluster.end() || found->second == 0) {
      Refuse(
          fmt::format("If \"cluster\" is set in TF_CONFIG, it must have one \"{}\" node.", chief));
    }
    if (found->second > 1) {
      Refuse(fmt::format("The \"cluster\" in TF_CONFIG must have only one \"{}\" node.", chief));
    }
  }

  void CheckInCluster(const Json& cluster) const {
    const auto found = config_.cluster.find(config_.task_type);
    if (found == config_.cluster.end()) {
      Refuse(fmt::format("{} is not a valid task_type in the cluster_spec: {}", config_.task_type,
                         ClusterText(cluster)),
             kFromEnvironment);
    }
    if (config_.task_id >= static_cast<int64_t>(found->second)) {
      Refuse(fmt::format("{} is not a valid task_id for task_type {} in the cluster_spec: {}",
                         config_.task_id, config_.task_type, ClusterText(cluster)),
             kFromEnvironment);
    }
  }

  TfConfig config_;
};

}  // namespace

TfConfig ParseTfConfig(std::string text) { return Reader(std::move(text)).Run(); }

TfConfig ReadTfConfig() {
  const char* const text = std::getenv("TF_CONFIG");
  if (text == nullptr || *text == '\0') return {};
  return ParseTfConfig(text);
}

void CheckTask(const TfConfig& config, const Invocation& invocation) {
  const bool trains = invocation.command.starts_with("train");
  if (config.cluster.empty() || !trains) return;
  const std::string& type = config.task_type;
  if (invocation.command == "train" && (type == "evaluator" || type == "ps")) {
    Refuse(fmt::format("Train has been called wrong configuration. Please use "
                       "tf.estimator.train_and_evaluate which calls proper API according to given "
                       "configuration. Current configuration: {}.",
                       config.text),
           "tpuest train-and-evaluate JOB, or tpuest evaluate JOB --follow");
  }
  if (type == "evaluator") {
    if (config.task_id == 0) return;
    Refuse(
        fmt::format("For distributed training, there can only be one `evaluator` task (with "
                    "task id 0).  Given task id {}",
                    config.task_id));
  }
  if (type != "chief" && type != "master") {
    Refuse(fmt::format("Task type {} is not supported. Supported task types are ['chief', "
                       "'evaluator', 'master']",
                       type),
           kAlone);
  }
  size_t nodes = 0;
  for (const auto& [name, count] : config.cluster) nodes += name == "evaluator" ? 0 : count;
  if (nodes > 1) {
    Refuse(fmt::format("the cluster in TF_CONFIG has {} nodes; one can train", nodes), kAlone);
  }
}

void ApplyTfConfig(const TfConfig& config, RunConfig& run_config, Log& log) {
  if (config.text.empty()) return;
  log.Info("TF_CONFIG environment variable: {}", config.text);
  if (!config.model_dir) return;
  if (!run_config.model_dir) {
    log.Info("Using model_dir in TF_CONFIG: {}", *config.model_dir);
    run_config.model_dir = config.model_dir;
  }
  if (*run_config.model_dir == *config.model_dir) return;
  throw Error(Code::kUsage,
              fmt::format("`model_dir` provided in RunConfig construct, if set, must have the same "
                          "value as the model_dir in TF_CONFIG. model_dir: {} "
                          "TF_CONFIG[\"model_dir\"]: {}.",
                          *run_config.model_dir, *config.model_dir),
              "leave one of them out")
      .Key("run_config.model_dir");
}

}  // namespace tpuest::cli
