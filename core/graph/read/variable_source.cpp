#include "core/graph/read/variable_source.h"

#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "core/base/text.h"
#include "core/base/whole_number.h"
#include "core/graph/read/function_inliner.h"
#include "core/graph/tensor_name.h"
#include "core/io/proto.h"
#include "core/io/protos.h"
#include "core/io/slice_key.h"

namespace tpuest {
namespace {

// Follows what is assigned to each variable back to the tensors of RestoreV2 nodes. TensorFlow's
// savers write no list of variable and key, only these nodes:
//   RestoreV2(prefix, tensor_names, shape_and_slices):i ─▶ Identity ─▶ AssignVariableOp(handle)
// says that the variable holds tensor_names[i], cut as shape_and_slices[i].
class RestoreGraph {
 public:
  explicit RestoreGraph(const pb::GraphDef& graph) {
    for (const pb::NodeDef& node : graph.node()) nodes_[node.name()] = &node;
  }

  std::map<std::string, StoredTensor> Run() const {
    std::map<std::string, StoredTensor> stored;
    for (const auto& [name, node] : nodes_) {
      if (node->op() != "AssignVariableOp" && node->op() != "Assign") continue;
      if (node->input_size() < 2) continue;
      const pb::NodeDef* const handle = SourceOf(node->input(0));
      if (handle == nullptr) continue;
      if (const auto tensor = RestoredBy(node->input(1))) stored[handle->name()] = *tensor;
    }
    return stored;
  }

 private:
  [[nodiscard]] const pb::NodeDef* Find(std::string_view input) const {
    const auto found = nodes_.find(ParseTensorName(input).node);
    return found == nodes_.end() ? nullptr : found->second;
  }

  // The node behind Identities and the like; `input` becomes the name of its tensor.
  const pb::NodeDef* SourceOf(std::string& input) const {
    for (int steps = 0; steps < kMostPasses; ++steps) {
      const pb::NodeDef* const node = Find(input);
      if (node == nullptr) return nullptr;
      const bool passes = node->op() == "Identity" || node->op() == "Reshape";
      if (!passes || node->input_size() == 0) return node;
      input = node->input(0);
    }
    return nullptr;
  }
  const pb::NodeDef* SourceOf(const std::string& input) const {
    std::string name = input;
    return SourceOf(name);
  }

  [[nodiscard]] std::optional<StoredTensor> RestoredBy(std::string input) const {
    const pb::NodeDef* const restore = SourceOf(input);
    if (restore == nullptr || restore->op() != "RestoreV2" || restore->input_size() < 3) return {};
    const int index = ParseTensorName(input).index;
    const std::optional<std::string> key = StringAt(restore->input(1), index);
    if (!key) return {};
    return StoredTensor{*key, StringAt(restore->input(2), index).value_or("")};
  }

  [[nodiscard]] std::optional<std::string> StringAt(const std::string& input, int index) const {
    const pb::NodeDef* const node = Find(input);
    if (node == nullptr || node->op() != "Const") return {};
    const auto found = node->attr().find("value");
    if (found == node->attr().end()) return {};
    const Tensor names = FromProto(found->second.tensor(), node->name());
    if (names.dtype() != DType::kString || index < 0 || index >= names.elements()) return {};
    return std::string(names.strings()[static_cast<size_t>(index)]);
  }

  static constexpr int kMostPasses =
      64;  // savers need one or two; a damaged graph may go in circles

  std::unordered_map<std::string_view, const pb::NodeDef*> nodes_;
};

// The whole text as a number that is not negative, or nullopt.
std::optional<int64_t> NumberIn(std::string_view text) {
  const std::optional<int64_t> value = WholeNumber<int64_t>(text);
  return value && *value >= 0 ? value : std::nullopt;
}

// "4 6 0,4:3,3" and "4 6 -:3,3": the tensor's shape, then start and length in each dimension.
std::optional<std::vector<SliceExtent>> ParseSlice(const std::string& text, const Shape& shape) {
  const std::vector<std::string> words = Split(text, ' ');
  std::vector<SliceExtent> extents;
  for (const std::string& part : Split(words.back(), ':')) {
    const auto d = static_cast<int>(extents.size());
    if (d == shape.rank()) return {};
    SliceExtent extent{0, shape.dim(d)};
    if (part != "-") {
      const std::vector<std::string> numbers = Split(part, ',');
      if (numbers.size() != 2) return {};
      const auto start = NumberIn(numbers[0]);
      const auto length = NumberIn(numbers[1]);
      if (!start || !length) return {};
      if (*start > shape.dim(d) || *length > shape.dim(d) - *start) return {};
      extent = {*start, *length};
    }
    extents.push_back(extent);
  }
  if (static_cast<int>(extents.size()) != shape.rank()) return {};
  return extents;
}

// Copies the slice, row by row of the last dimension: `at` counts through the other dimensions like
// the digits of a number.
Tensor Cut(const Tensor& whole, const std::vector<SliceExtent>& extents) {
  std::vector<int64_t> dims;
  for (const SliceExtent& extent : extents) dims.push_back(extent.length);
  Tensor part(whole.dtype(), Shape(dims));
  if (part.elements() == 0) return part;
  const size_t last = extents.size() - 1;
  const auto row = static_cast<size_t>(dims[last]) * SizeOf(whole.dtype());
  std::vector<int64_t> at(extents.size(), 0);
  for (size_t offset = 0; offset < part.bytes(); offset += row) {
    int64_t from = 0;
    for (size_t d = 0; d <= last; ++d) {
      from = from * whole.shape().dim(static_cast<int>(d)) + extents[d].start + at[d];
    }
    std::memcpy(
        static_cast<char*>(part.raw()) + offset,
        static_cast<const char*>(whole.raw()) + static_cast<size_t>(from) * SizeOf(whole.dtype()),
        row);
    for (size_t d = last; d-- > 0;) {
      if (++at[d] < dims[d]) break;
      at[d] = 0;
    }
  }
  return part;
}

std::string WithoutIndex(const std::string& tensor) {
  return std::string(ParseTensorName(tensor).node);
}

}  // namespace

std::map<std::string, StoredTensor> FindStoredTensors(const pb::MetaGraphDef& meta,
                                                      const OpRegistry& registry) {
  const std::string& restore = meta.saver_def().restore_op_name();
  if (restore.empty()) return {};
  InlineRequest request;
  request.wanted.push_back("^" + WithoutIndex(restore));
  const InlinedGraph inlined = InlineFunctions(meta.graph_def(), registry, request);
  return RestoreGraph(*inlined.graph).Run();
}

Tensor ReadStored(const BundleReader& bundle, const StoredTensor& stored) {
  Tensor tensor = bundle.Read(stored.key);
  if (stored.slice.empty()) return tensor;
  const auto extents = ParseSlice(stored.slice, tensor.shape());
  if (!extents || extents->empty() || SizeOf(tensor.dtype()) == 0) {
    throw Error(Code::kCheckpoint,
                fmt::format("{}: \"{}\" is {}, which has no slice '{}'", bundle.prefix(),
                            stored.key, tensor.shape().Text(), stored.slice));
  }
  return Cut(tensor, *extents);
}

// Looks at names of nodes first, and then at the collections, which win where both tell: a name is
// only a convention.
std::map<std::string, std::string> FindInitialValues(const pb::MetaGraphDef& meta) {
  std::map<std::string, std::string> initial;
  for (const pb::NodeDef& node : meta.graph_def().node()) {
    const bool assigns = node.op() == "AssignVariableOp" || node.op() == "Assign";
    if (!assigns || node.input_size() < 2) continue;
    const std::string variable = WithoutIndex(node.input(0));
    if (node.name() == variable + "/Assign") initial[variable] = node.input(1);
  }
  for (const auto& [name, collection] : meta.collection_def()) {
    if (!name.ends_with("variables")) continue;
    for (const std::string& bytes : collection.bytes_list().value()) {
      pb::VariableDef variable;
      FromBytes(bytes, variable, "collection " + name, Code::kData);
      if (variable.initial_value_name().empty()) continue;
      initial[WithoutIndex(variable.variable_name())] = variable.initial_value_name();
    }
  }
  return initial;
}

}  // namespace tpuest
