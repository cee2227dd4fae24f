#include "cli/prepare/agreement/forward.h"

#include <cmath>
#include <set>
#include <string_view>

#include "cli/prepare/migrate/graph/nodes.h"
#include "cli/prepare/migrate/model/normalization.h"
#include "core/backend/bind.h"
#include "core/backend/cpu/program.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/step/programs/host_graph.h"
#include "core/graph/bound_op.h"

namespace tpuest::cli {
namespace {

std::string Indexed(const std::string& tensor) {
  return tensor.find(':') == std::string::npos ? tensor + ":0" : tensor;
}

[[noreturn]] void Unknown(const SeenNode& node) {
  throw Error(Code::kData, fmt::format("op {} is not supported (\"{}\")", node.op, node.name));
}

bool PassesOn(const SeenNode& node) {
  static const std::set<std::string_view> kOps = {
      "Identity", "StopGradient", "PreventGradient", "CheckNumerics",
      "Snapshot", "EnsureShape",  "Enter",           "PlaceholderWithDefault"};
  return kOps.contains(node.op);
}

bool IsRandom(const SeenNode& node) {
  return node.op.find("Random") != std::string::npos || node.op == "TruncatedNormal" ||
         node.op == "Multinomial";
}

// Returns the lines of a vocabulary file.
Tensor WordsOf(const std::string& path, int64_t most) {
  std::vector<std::string> words = Split(ReadFile(path), '\n');
  if (!words.empty() && words.back().empty()) words.pop_back();
  for (std::string& word : words) {
    if (word.ends_with('\r')) word.pop_back();
  }
  if (most > 0 && static_cast<int64_t>(words.size()) > most)
    words.resize(static_cast<size_t>(most));
  return Tensor::Strings(Shape({static_cast<int64_t>(words.size())}), words);
}

// Returns the positions of `keys` among `words`, both string or int64; `otherwise` for an unknown
// key.
Tensor LookUp(const Tensor& words, const Tensor& places, const Tensor& keys,
              const Tensor& otherwise) {
  const auto text = [](const Tensor& tensor, int64_t i) {
    return tensor.dtype() == DType::kString
               ? std::string(tensor.strings()[static_cast<size_t>(i)])
               : fmt::format("{}", static_cast<int64_t>(tensor.AsDouble(i)));
  };
  std::map<std::string, int64_t> known;
  for (int64_t i = 0; i < words.elements(); ++i) {
    known.emplace(text(words, i), static_cast<int64_t>(places.AsDouble(i)));
  }
  Tensor found(DType::kInt64, keys.shape());
  for (int64_t i = 0; i < keys.elements(); ++i) {
    const auto place = known.find(text(keys, i));
    found.data<int64_t>()[i] =
        place == known.end() ? static_cast<int64_t>(otherwise.AsDouble(0)) : place->second;
  }
  return found;
}

Tensor Counted(int64_t count) {
  Tensor numbers(DType::kInt64, Shape({count}));
  for (int64_t i = 0; i < count; ++i) numbers.data<int64_t>()[i] = i;
  return numbers;
}

}  // namespace

StoredForward::StoredForward(const SeenGraph& graph, const StoredNodes& nodes,
                             const BundleReader& variables, const OpRegistry& registry)
    : graph_(graph), nodes_(nodes), variables_(variables), registry_(registry) {
  for (const SeenNode& node : graph.nodes()) {
    const bool fills_table =
        node.op.starts_with("LookupTableImport") || node.op.starts_with("InitializeTable");
    if (fills_table && !node.inputs.empty()) fills_[node.inputs[0]] = &node;
  }
}

Tensor StoredForward::Run(const std::string& tensor, const std::map<std::string, Tensor>& fed) {
  known_ = fed;
  open_.clear();
  return ValueOf(tensor);
}

Tensor StoredForward::ValueOf(const std::string& tensor) {
  const std::string key = Indexed(tensor);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  const SeenNode* const node = graph_.Find(tensor);
  if (node == nullptr) throw Error(Code::kData, fmt::format("\"{}\" is not in the graph", tensor));
  if (!open_.insert(node->name).second) Unknown(*node);  // a loop
  const Tensors values = Compute(*node);
  open_.erase(node->name);
  for (size_t i = 0; i < values.size(); ++i) {
    known_[fmt::format("{}:{}", node->name, i)] = values[i];
  }
  const auto known = known_.find(key);
  if (known == known_.end()) Unknown(*node);
  return known->second;
}

StoredForward::Tensors StoredForward::Compute(const SeenNode& node) {
  if (node.op == "Const" && node.value) return {*node.value};
  if (IsVariable(node)) return {VariableOf(node)};
  if (PassesOn(node) && !node.inputs.empty()) return {ValueOf(node.inputs[0])};
  if (node.op == "ReadVariableOp") return {ValueOf(node.inputs.at(0))};
  if (node.op == "ResourceGather") {
    return RunOp("GatherV2", {ValueOf(node.inputs.at(0)), ValueOf(node.inputs.at(1)),
                              Tensor::Scalar<int32_t>(0)});
  }
  if (node.op.starts_with("LookupTableFind")) return {LookUpAt(node)};
  if (node.op.starts_with("LookupTableSize")) {
    const Table table = TableAt(node);
    return {Tensor::Scalar<int64_t>(table.words.elements())};
  }
  if (const auto dropout = FindDropout(graph_, node)) {
    return {ValueOf(dropout->first->inputs.at(dropout->input))};
  }
  if (IsRandom(node)) Unknown(node);
  const auto trains = node.ints.find("is_training");
  const bool normalizes =
      IsOp(node, "FusedBatchNorm") && (trains == node.ints.end() || trains->second != 0);
  if (normalizes) return {Normalized(node)};
  if (node.name.ends_with("/moments/Squeeze")) {
    if (const Tensor mean = AverageOf(node, "moving_mean"); mean.valid()) return {mean};
  }
  if (node.name.ends_with("/moments/Squeeze_1")) {
    if (const Tensor variance = AverageOf(node, "moving_variance"); variance.valid()) {
      return {variance};
    }
  }
  Tensors inputs;
  for (const std::string& input : node.inputs) {
    if (!input.starts_with('^')) inputs.push_back(ValueOf(input));
  }
  return ComputeByEngine(node, inputs);
}

StoredForward::Tensors StoredForward::ComputeByEngine(const SeenNode& node,
                                                      const Tensors& inputs) const {
  if (registry_.Find(node.op) == nullptr) Unknown(node);
  Graph graph(registry_);
  std::map<std::string, Value> values;
  size_t next = 0;
  for (const std::string& input : node.inputs) {
    if (!input.starts_with('^')) values[Indexed(input)] = graph.Constant(inputs[next++]);
  }
  Node& added = *nodes_.AddTo(graph, node.name, values);
  for (int i = 0; i < added.outputs(); ++i) {
    if (added.output_dtype(i) == DType::kResource) Unknown(node);
  }
  return RunNode(graph, added, inputs);
}

StoredForward::Tensors StoredForward::RunOp(std::string_view op, const Tensors& inputs) const {
  Graph graph(registry_);
  std::vector<Value> values;
  for (const Tensor& input : inputs) values.push_back(graph.Constant(input));
  return RunNode(graph, *graph.AddNode(op, values), inputs);
}

StoredForward::Tensors StoredForward::RunNode(Graph& graph, Node& added, const Tensors& inputs) {
  const BoundOp bound =
      added.op().bind != nullptr ? added.op().bind(added) : BoundOp{added.type(), added.attrs()};
  // A node whose output size depends on input values runs by itself, with constants as inputs.
  const bool is_ready =
      bound.op == added.type() || !bound.sized_by_values.empty() || !bound.sizing_inputs.empty();
  Node& ready = is_ready ? added : *graph.AddNode(bound.op, added.inputs(), bound.attrs, "bound");
  if (ready.op().cpu != nullptr && ready.op().expand == nullptr) return EvaluateNode(ready, inputs);
  std::vector<Value> outputs;
  for (int i = 0; i < added.outputs(); ++i) outputs.push_back(added.output(i));
  const std::unique_ptr<Backend> backend = MakeCpuBackend();
  VariableStore none;
  return HostGraph(*backend, graph, none).Run({.fetches = outputs});
}

StoredForward::Table StoredForward::TableAt(const SeenNode& node) {
  const auto filled = fills_.find(node.inputs.at(0));
  if (filled == fills_.end()) Unknown(node);
  const SeenNode& fill = *filled->second;
  if (!fill.op.starts_with("InitializeTableFromTextFile")) {
    return {ValueOf(fill.inputs.at(1)), ValueOf(fill.inputs.at(2))};
  }
  constexpr int64_t kWholeLine = -2;
  constexpr int64_t kLineNumber = -1;
  const auto number = [&](const char* key) {
    const auto found = fill.ints.find(key);
    return found == fill.ints.end() ? 0 : found->second;
  };
  const Tensor file = ValueOf(fill.inputs.at(1));
  const bool is_plain = number("key_index") == kWholeLine && number("value_index") == kLineNumber;
  if (!is_plain || file.elements() != 1) Unknown(fill);
  const std::string path(file.strings()[0]);
  if (!FileExists(path)) {
    throw Error(Code::kData, fmt::format("the vocabulary file {} does not exist", path));
  }
  const Tensor words = WordsOf(path, number("vocab_size"));
  return {words, Counted(words.elements())};
}

Tensor StoredForward::LookUpAt(const SeenNode& node) {
  const Table table = TableAt(node);
  return LookUp(table.words, table.places, ValueOf(node.inputs.at(1)), ValueOf(node.inputs.at(2)));
}

// Normalizes by the moving averages: (x - mean) * scale / sqrt(variance + epsilon) + offset.
Tensor StoredForward::Normalized(const SeenNode& node) {
  const Tensor x = ValueOf(node.inputs.at(0));
  const Tensor scale = ValueOf(node.inputs.at(1));
  const Tensor offset = ValueOf(node.inputs.at(2));
  const Tensor mean = AverageOf(node, "moving_mean");
  const Tensor variance = AverageOf(node, "moving_variance");
  const auto format = node.strings.find("data_format");
  const bool is_known = mean.valid() && variance.valid() && x.dtype() == DType::kFloat &&
                        (format == node.strings.end() || format->second == "NHWC");
  if (!is_known) Unknown(node);
  const auto epsilon = node.floats.find("epsilon");
  const double small = epsilon == node.floats.end() ? 1e-4 : epsilon->second.at(0);
  const int64_t channels = scale.elements();
  Tensor y(DType::kFloat, x.shape());
  for (int64_t i = 0; i < x.elements(); ++i) {
    const int64_t c = i % channels;
    y.data<float>()[i] = static_cast<float>((x.AsDouble(i) - mean.AsDouble(c)) * scale.AsDouble(c) /
                                                std::sqrt(variance.AsDouble(c) + small) +
                                            offset.AsDouble(c));
  }
  return y;
}

Tensor StoredForward::VariableOf(const SeenNode& handle) const {
  const auto shared = handle.strings.find("shared_name");
  const bool is_named = shared != handle.strings.end() && !shared->second.empty();
  for (const std::string& name : {is_named ? shared->second : handle.name, handle.name}) {
    if (variables_.Has(name)) return variables_.Read(name);
    if (Tensor part = PartOf(name); part.valid()) return part;
  }
  throw Error(Code::kData, fmt::format("\"{}\" is not in the checkpoint", handle.name));
}

Tensor StoredForward::PartOf(const std::string& name) const {
  const size_t at = name.rfind("/part_");
  if (at == std::string::npos) return {};
  const std::string whole = name.substr(0, at);
  if (!variables_.Has(whole)) return {};
  Tensor all = variables_.Read(whole);
  if (graph_.Find(whole + "/part_1") == nullptr) return all;
  int64_t begin = 0;
  for (int64_t i = 0;; ++i) {
    const std::string part = fmt::format("{}/part_{}", whole, i);
    const SeenNode* const node = graph_.Find(part);
    const auto shape =
        node == nullptr ? decltype(node->shapes.end()){} : node->shapes.find("shape");
    if (node == nullptr || shape == node->shapes.end() || shape->second.size() != 1) return {};
    const Shape& own = shape->second[0];
    const bool is_of_rows = own.rank() == all.shape().rank() && own.rank() > 0 &&
                            own.elements() * all.shape().dim(0) == all.elements() * own.dim(0);
    if (!is_of_rows || begin + own.dim(0) > all.shape().dim(0)) return {};
    if (part == name) return all.Rows(begin, begin + own.dim(0));
    begin += own.dim(0);
  }
}

Tensor StoredForward::AverageOf(const SeenNode& node, const std::string& what) const {
  // The layer's variables may be beside its gamma or beta, or below a scope of the node.
  for (const size_t input : {1, 2}) {
    const auto beside =
        node.op.starts_with("FusedBatchNorm") ? VariableAt(graph_, node, input) : std::nullopt;
    const std::string name = beside ? ScopeOf(*beside) + "/" + what : "";
    if (beside && variables_.Has(name)) return variables_.Read(name);
  }
  std::string scope = ScopeOf(node.name);
  while (!scope.empty()) {
    for (std::string layer : {scope, scope.substr(0, scope.find_last_not_of("0123456789") + 1)}) {
      if (layer.ends_with('_')) layer.pop_back();
      if (variables_.Has(layer + "/" + what)) return variables_.Read(layer + "/" + what);
    }
    scope = ScopeOf(scope);
  }
  return {};
}

}  // namespace tpuest::cli
