#include "core/base/files.h"
#include "core/base/text.h"
#include "core/estimator/object_variables.h"
#include "core/estimator/variables.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/object_graph.h"

namespace tpuest {
namespace {

constexpr std::string_view kKey = "warm_start_from";

// The prefix that `from` means.
std::string PrefixOf(const std::string& from, Log& log) {
  std::string saved_model = SavedModelVariables(from);
  if (CheckpointExists(saved_model)) {
    log.Info("Warm-starting from a SavedModel");
    return saved_model;
  }
  if (CheckpointExists(from)) return from;
  if (DirectoryExists(from)) {
    const std::optional<std::string> latest = LatestCheckpoint(from);
    if (latest) return *latest;
    throw Error(Code::kCheckpoint, fmt::format("{}: there is no checkpoint in this folder", from),
                "name a folder with a file \"checkpoint\", or a prefix such as model.ckpt-1000")
        .Key(std::string(kKey));
  }
  throw Error(Code::kCheckpoint,
              fmt::format("{}: there is no checkpoint {}", from, BundleIndexPath(from)),
              "name a checkpoint's prefix (without .index) or its folder")
      .Key(std::string(kKey));
}

// "(784, 128)", "(3,)", "()": as Python prints a shape.
std::string PythonShape(const Shape& shape) {
  std::vector<std::string> dims;
  for (const int64_t dim : shape.dims()) dims.push_back(std::to_string(dim));
  return fmt::format("({}{})", Join(dims, ", "), dims.size() == 1 ? "," : "");
}

class Starter {
 public:
  Starter(const std::string& prefix, const std::vector<const Variable*>& variables)
      : reader_(prefix) {
    const std::optional<ObjectGraph> objects = ReadObjectGraph(reader_);
    if (!objects) return;
    const auto shape_of = [this](const std::string& key) -> std::optional<Shape> {
      if (!reader_.Has(key)) return std::nullopt;
      return reader_.ShapeOf(key);
    };
    for (const auto& [name, node] :
         FindVariables(*objects, variables, shape_of, reader_.prefix())) {
      keys_[name] = objects->at(node).key;
    }
  }

  // The value for a variable, or an invalid tensor and a fault.
  Tensor ValueFor(const Variable& variable) {
    const auto found = keys_.find(variable.name);
    const std::string key = found == keys_.end() ? variable.name : found->second;
    if (!reader_.Has(key)) {
      Fail(fmt::format("Tensor {} is not found in {} checkpoint", variable.name, reader_.prefix()),
           "the names must agree; see them with tpuest inspect");
      return {};
    }
    if (reader_.ShapeOf(key) != variable.shape) {
      Fail(fmt::format("Shape of variable {} ({}) doesn't match with shape of tensor {} ({}) from "
                       "checkpoint reader.",
                       variable.name, PythonShape(variable.shape), key,
                       PythonShape(reader_.ShapeOf(key))),
           "start from a checkpoint of the same layers");
      return {};
    }
    if (reader_.DTypeOf(key) != variable.dtype) {
      Fail(fmt::format("variable {} is {}, in {} it is {}", variable.name, NameOf(variable.dtype),
                       reader_.prefix(), NameOf(reader_.DTypeOf(key))),
           "start from a checkpoint of the same precision");
      return {};
    }
    return reader_.Read(key);
  }

  void Finish() {
    if (!faults_.empty()) throw Error(Code::kCheckpoint, std::move(faults_));
  }

 private:
  void Fail(std::string message, std::string hint) {
    faults_.push_back({std::move(message), std::move(hint), std::string(kKey), {}, 0});
  }

  BundleReader reader_;
  std::map<std::string, std::string> keys_;
  std::vector<Fault> faults_;
};

}  // namespace

void WarmStart(const std::string& from, const Graph& graph, VariableStore& store, Log& log) {
  log.Info(
      "Warm-starting with WarmStartSettings: WarmStartSettings(ckpt_to_initialize_from='{}', "
      "vars_to_warm_start='.*', var_name_to_vocab_info={{}}, var_name_to_prev_var_name={{}})",
      from);
  const std::string prefix = PrefixOf(from, log);
  log.Info("Warm-starting from: {}", prefix);
  log.Info("Warm-starting variables only in TRAINABLE_VARIABLES.");
  std::vector<const Variable*> variables;
  for (const auto& variable : graph.variables()) {
    if (variable->trainable && !variable->local) variables.push_back(variable.get());
  }
  Starter starter(prefix, variables);
  std::vector<std::pair<std::string, Tensor>> values;
  for (const Variable* const variable : variables) {
    values.emplace_back(variable->name, starter.ValueFor(*variable));
  }
  starter.Finish();
  for (const auto& [name, value] : values) store.Set(name, value);
  log.Info("Warm-started {} variables.", values.size());
}

}  // namespace tpuest
