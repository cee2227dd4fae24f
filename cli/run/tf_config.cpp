#include "cli/run/tf_config.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/run/command_job.h"
#include "cli/shell/cut_message.h"
#include "cli/shell/json.h"
#include "core/base/error.h"
#include "core/base/path_scheme.h"
#include "core/base/whole_number.h"
#include "core/estimator/options/options.h"

namespace tpuest::cli {
namespace {

constexpr const char* kExample =
    R"(TF_CONFIG='{"cluster": {"chief": ["h0:2222"]}, "task": {"type": "evaluator", "index": 0}}')";
constexpr const char* kNoServers =
    "leave `ps` out, and give its addresses to `worker`: the gradients of all replicas are summed "
    "at each step, and a run can resume with another number of processes";
constexpr const char* kFromEnvironment =
    "Note that these values may be coming from the TF_CONFIG environment variable.";

[[noreturn]] void Refuse(std::string message, std::string hint = kExample) {
  message = CutMessage(std::move(message));
  throw Error(Code::kUsage, std::move(message), std::move(hint));
}

// "ClusterSpec({'chief': ['h0:2222']})", as Python prints a ClusterSpec.
std::string ClusterText(const Json& cluster) {
  std::string text = cluster.dump();
  for (char& c : text) {
    if (c == '"') c = '\'';
  }
  return fmt::format("ClusterSpec({})", text);
}

// Returns a member of an object; null if the object lacks it.
Json Member(const Json& object, const char* key) {
  return object.is_object() ? object.value(key, Json()) : Json();
}

// "'text'", "5", as Python prints a value.
std::string PythonText(const Json& value) {
  return value.is_string() ? fmt::format("'{}'", value.get<std::string>()) : value.dump();
}

// Returns Python's name of a value's type.
const char* PythonType(const Json& value) {
  if (value.is_object()) return "dict";
  if (value.is_array()) return "list";
  if (value.is_string()) return "str";
  if (value.is_boolean()) return "bool";
  if (value.is_number_float()) return "float";
  return value.is_null() ? "NoneType" : "int";
}

// Python's int() of a text: allows white space around it, a sign and single underscores between
// digits.
std::optional<int64_t> PythonInt(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return std::nullopt;
  text = text.substr(first, text.find_last_not_of(kBlanks) + 1 - first);
  if (text.starts_with("+") && !text.starts_with("+-")) text.remove_prefix(1);
  std::string digits;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && text[i - 1] != '_' && text[i - 1] != '-';
    if (text[i] != '_' || !between) digits += text[i];
  }
  return WholeNumber<int64_t>(digits);
}

// Python's int() of a JSON value.
int64_t IndexOf(const Json& index) {
  if (index.is_boolean()) return index.get<bool>() ? 1 : 0;
  if (index.is_number_unsigned()) {
    constexpr auto kMost = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return static_cast<int64_t>(std::min(index.get<uint64_t>(), kMost));
  }
  if (index.is_number_integer()) return index.get<int64_t>();
  if (index.is_number_float() && std::abs(index.get<double>()) < 1e18) {
    return static_cast<int64_t>(index.get<double>());
  }
  if (index.is_string()) {
    if (const auto number = PythonInt(index.get<std::string>())) return *number;
    Refuse(fmt::format("invalid literal for int() with base 10: {}", PythonText(index)));
  }
  Refuse(
      fmt::format("int() argument must be a string, a bytes-like object or a real number, not '{}'",
                  PythonType(index)));
}

// The tasks of one type: a list of addresses, or a dict from indices to addresses.
std::map<int64_t, std::string> TasksIn(const std::string& type, const Json& nodes) {
  if (!nodes.is_array() && !nodes.is_object()) {
    Refuse(fmt::format(
        "The tasks for job '{}' must be a list or a dictionary from integers to strings.", type));
  }
  std::map<int64_t, std::string> tasks;
  for (const auto& [key, address] : nodes.items()) {
    if (!address.is_string()) {
      Refuse(fmt::format("Task address {} must be bytes or unicode", PythonText(address)));
    }
    tasks[IndexOf(key)] = address.get<std::string>();
  }
  return tasks;
}

class Reader {
 public:
  Reader(std::string text, ClusterRules rules) : rules_(rules) { config_.text = std::move(text); }

  TfConfig Run() {
    const Json json = Json::parse(config_.text, nullptr, /*allow_exceptions=*/false);
    if (!json.is_object()) Refuse(fmt::format("TF_CONFIG is not a JSON object: {}", config_.text));
    ReadModelDir(json);
    if (const Json service = Member(json, "service"); !service.is_null() && !service.is_object()) {
      Refuse(
          fmt::format("If \"service\" is set in TF_CONFIG, it must be a dict. Given <class '{}'>",
                      PythonType(service)));
    }
    ReadCluster(Member(json, "cluster"));
    const Json task = Member(json, "task");
    if (config_.cluster.empty()) {
      ReadLocalTask(task);
    } else if (rules_ == ClusterRules::kStrategy && !config_.cluster.contains("master")) {
      ReadTaskOfStrategy(task);
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
      Refuse("model_dir in TF_CONFIG should be non-empty.",
             "leave it out to use the job's model_dir");
    }
    config_.model_dir = model_dir.get<std::string>();
    if (const std::optional<SchemeRefusal> refusal = RefusalOfScheme(*config_.model_dir)) {
      Refuse("model_dir in TF_CONFIG: " + refusal->message, refusal->hint);
    }
  }

  void ReadCluster(const Json& cluster) {
    if (cluster.is_null()) return;
    if (!cluster.is_object()) {
      Refuse(
          "`cluster` must be a dictionary mapping one or more job names to lists of network "
          "addresses, or a `ClusterDef` protocol buffer");
    }
    for (const auto& [type, nodes] : cluster.items()) {
      config_.cluster[type] = TasksIn(type, nodes);
    }
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

  // The distribute coordinator's rules, in its words.
  void ReadTaskOfStrategy(const Json& task) {
    constexpr const char* kAllowed = "('chief', 'worker', 'evaluator', 'ps', None)";
    const auto is_allowed = [](std::string_view type) {
      return type == "chief" || type == "worker" || type == "evaluator" || type == "ps";
    };
    for (const auto& [type, tasks] : config_.cluster) {
      if (is_allowed(type)) continue;
      Refuse(
          fmt::format("Disallowed task type found in cluster spec. Allowed types are {} and the "
                      "cluster spec is {}.",
                      kAllowed, ClusterText(Json::parse(config_.text)["cluster"])));
    }
    if (!task.is_object()) Refuse("\"task\" is not found in TF_CONFIG.");
    const Json type = Member(task, "type");
    if (type.is_null()) Refuse("\"task_type\" is not found in the `task` part of TF_CONFIG.");
    const std::string name = type.is_string() ? type.get<std::string>() : "";
    if (!is_allowed(name)) {
      Refuse(fmt::format("Unrecognized task_type: {}, valid task types are: {}",
                         type.is_string() ? name : type.dump(), kAllowed));
    }
    config_.task_type = name;
    const Json index = Member(task, "index");
    config_.task_id = index.is_null() ? 0 : IndexOf(index);
    if (config_.task_id < 0) Refuse("Task index must be non-negative number.");
    CheckNumbersOfStrategy();
  }

  void CheckNumbersOfStrategy() const {
    const std::string& type = config_.task_type;
    const bool is_listed = config_.cluster.contains(type);
    if (!is_listed && !config_.is_evaluator()) {
      Refuse(fmt::format("`task_type` '{}' not found in cluster_spec.", type));
    }
    for (const char* const single : {"chief", "evaluator"}) {
      if (config_.TasksOf(single) > 1) {
        Refuse(fmt::format("There must be at most one '{}' job.", single));
      }
    }
    if (is_listed && config_.task_id >= config_.TasksOf(type)) {
      Refuse(fmt::format("The `task_id` {} exceeds the maximum id of {}.", config_.task_id, type));
    }
    if (config_.TasksOf("chief") + config_.TasksOf("worker") == 0) {
      Refuse("You must have `chief` or `worker` jobs in the `cluster_spec`.");
    }
  }

  void CheckChief(const std::string& chief) const {
    const int64_t tasks = config_.TasksOf(chief);
    if (tasks == 0) {
      Refuse(
          fmt::format("If \"cluster\" is set in TF_CONFIG, it must have one \"{}\" node.", chief));
    }
    if (tasks > 1) {
      Refuse(fmt::format("The \"cluster\" in TF_CONFIG must have only one \"{}\" node.", chief));
    }
  }

  void CheckInCluster(const Json& cluster) const {
    if (!config_.cluster.contains(config_.task_type)) {
      Refuse(fmt::format("{} is not a valid task_type in the cluster_spec: {}", config_.task_type,
                         ClusterText(cluster)),
             kFromEnvironment);
    }
    if (config_.task_id >= config_.TasksOf(config_.task_type)) {
      Refuse(fmt::format("{} is not a valid task_id for task_type {} in the cluster_spec: {}",
                         config_.task_id, config_.task_type, ClusterText(cluster)),
             kFromEnvironment);
    }
  }

  ClusterRules rules_;
  TfConfig config_;
};

std::string VariableText() {
  const char* const text = std::getenv("TF_CONFIG");
  return text == nullptr ? "" : text;
}

// Returns the task type of the cluster's chief.
std::string ChiefTypeOf(const TfConfig& config) {
  for (const char* const type : {"master", "chief"}) {
    if (config.TasksOf(type) > 0) return type;
  }
  return "worker";
}

}  // namespace

int64_t TfConfig::TasksOf(const std::string& type) const {
  const auto found = cluster.find(type);
  if (found == cluster.end() || found->second.empty()) return 0;
  return std::max<int64_t>(found->second.rbegin()->first, 0) + 1;
}

TfConfig ParseTfConfig(std::string text, ClusterRules rules) {
  return Reader(std::move(text), rules).Run();
}

TfConfig ReadTfConfig(ClusterRules rules) {
  std::string text = VariableText();
  return text.empty() ? TfConfig() : ParseTfConfig(std::move(text), rules);
}

bool IsEvaluatorTask() {
  const Json json = Json::parse(VariableText(), nullptr, /*allow_exceptions=*/false);
  return Member(Member(json, "task"), "type") == "evaluator" && json.contains("cluster");
}

std::optional<hosts::ProcessPlace> PlaceInCluster(const TfConfig& config) {
  if (config.cluster.empty()) return std::nullopt;
  const std::string chief = ChiefTypeOf(config);
  const int64_t chiefs = chief == "worker" ? 0 : config.TasksOf(chief);
  hosts::ProcessPlace place{.launcher = "TF_CONFIG", .read_from = "cluster, task"};
  place.size = chiefs + config.TasksOf("worker");
  // The cluster need not list its evaluator.
  place.beside = std::max<int64_t>(config.TasksOf("evaluator"), 1) + config.TasksOf("ps");
  const auto& tasks = config.cluster.at(chief);
  if (const auto first = tasks.find(0); first != tasks.end()) place.coordinator = first->second;
  if (config.task_type == "worker") {
    place.rank = chiefs + config.task_id;
  } else if (config.task_type != chief) {
    place.role = config.task_type;
  }
  return place;
}

void CheckTask(const TfConfig& config, const Invocation& invocation) {
  const bool trains = Trains(invocation);
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
  if (type != "chief" && type != "master" && type != "worker") {
    Refuse(fmt::format("Task type {} is not supported. Supported task types are ['chief', "
                       "'evaluator', 'master', 'worker']",
                       type),
           kNoServers);
  }
  if (config.TasksOf("ps") > 0) {
    Refuse("the cluster in TF_CONFIG has a `ps`, but tpuest has no parameter servers", kNoServers);
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
