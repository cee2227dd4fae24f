#include "core/estimator/step/input_partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <string>
#include <utility>

#include "core/base/text.h"

namespace tpuest {
namespace {

using ByName = std::map<std::string, PartitionDims>;

[[noreturn]] void RefusePartition(std::string message, std::string hint) {
  throw Error(Code::kUsage, std::move(message), std::move(hint))
      .Key("run_config.tpu_config.input_partition_dims");
}

// "['image', 'size']", as Python prints a list of names.
std::string NamesText(const std::vector<std::string>& names) {
  std::vector<std::string> texts;
  for (const std::string& name : names) texts.push_back(fmt::format("'{}'", name));
  return fmt::format("[{}]", Join(texts, ", "));
}

// "[8, 32, 32, 3]", as TensorShape.as_list() is printed.
std::string DimsText(const Shape& shape) {
  std::vector<std::string> texts;
  for (const int64_t dim : shape.dims()) {
    texts.push_back(dim == kUnknownDim ? "None" : std::to_string(dim));
  }
  return fmt::format("[{}]", Join(texts, ", "));
}

int64_t PartsOf(const std::vector<int64_t>& dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
}

void CheckDims(const PartitionDims& dims, const std::string& name, const Shape& shape, int cores) {
  if (!dims) return;
  const std::string hint = fmt::format("'{}' is {} on each replica", name, DimsText(shape));
  if (std::any_of(dims->begin(), dims->end(), [](int64_t dim) { return dim < 1; })) {
    RefusePartition("All input partition dims must be >= 1.", hint);
  }
  const int64_t parts = PartsOf(*dims);
  if (parts == 1) return;
  if (parts != cores) {
    RefusePartition(fmt::format("The product of each input partition dim should equal to "
                                "num_cores_per_replica. (dim = {}, num_cores_per_replica = {})",
                                PythonText(*dims), cores),
                    hint);
  }
  if (static_cast<int>(dims->size()) != shape.rank()) {
    RefusePartition(
        fmt::format("Input partition dims must have the same number of dimensions as the `Tensor` "
                    "to be partitioned. (tensor shape = {}, input partition dims = {}).",
                    DimsText(shape), PythonText(*dims)),
        fmt::format("give one number per dimension of '{}'", name));
  }
}

// The dims by name; a list stands for the only tensor. `of` and `index` describe the tensors:
// "feature", 0. Refuses names that no tensor has.
ByName NamedDims(const std::optional<InputPartition>& given, const std::vector<std::string>& names,
                 bool is_dict, std::string_view of, int index) {
  ByName dims;
  if (!given) return dims;
  const auto* const named = std::get_if<ByName>(&*given);
  std::vector<std::string> found;
  if (named != nullptr) {
    for (const auto& [name, each] : *named) found.push_back(name);
  } else if (names.size() == 1) {
    dims[names.front()] = std::get<std::vector<int64_t>>(*given);
    return dims;
  }
  if (named == nullptr || !is_dict || found != names) {
    RefusePartition(
        fmt::format("TPUConfig.input_partition_dims[{}] mismatched {} keys. Expected {}, got {}",
                    index, of, NamesText(is_dict ? names : std::vector<std::string>()),
                    NamesText(found)),
        is_dict ? "give a list of numbers, or null, for each of them by name"
                : "give a list of numbers, or null: there is one tensor, without a name");
  }
  return *named;
}

// The dims of each feature and of each label, by name.
struct NamedPartitions {
  ByName features, labels;
};

template <class T>
NamedPartitions NamedPartitionsOf(const TpuConfig& config, const std::vector<std::string>& features,
                                  const nn::Labels<T>& labels) {
  NamedPartitions named;
  const InputPartitionDims& dims = *config.input_partition_dims;
  named.features = NamedDims(dims.front(), features, /*is_dict=*/true, "feature", 0);
  if (!labels.valid() || dims.size() < 2) return named;
  std::vector<std::string> heads;
  for (const auto& [head, label] : labels) heads.push_back(head);
  named.labels = NamedDims(dims[1], heads, labels.is_dict(), "label", 1);
  return named;
}

PartitionDims DimsOf(const ByName& dims, const std::string& name) {
  const auto found = dims.find(name);
  return found == dims.end() ? std::nullopt : found->second;
}

void CheckInputs(const TpuConfig& config, const ModelInputs& inputs) {
  std::vector<std::string> features;
  for (const auto& [name, feature] : inputs.features) features.push_back(name);
  const NamedPartitions named = NamedPartitionsOf(config, features, inputs.labels);
  const int cores = config.CoresOfReplica();
  for (const auto& [name, feature] : inputs.features) {
    CheckDims(DimsOf(named.features, name), name, feature.shape(), cores);
  }
  if (!inputs.labels.valid()) return;
  for (const auto& [head, label] : inputs.labels) {
    CheckDims(DimsOf(named.labels, head), head.empty() ? "labels" : head, label.shape(), cores);
  }
}

// The dims in the device's layout, in which the batch axis is first. A tensor that is not split is
// complete on every core; on a TPU it would be on the first core.
Partition OnDevice(const PartitionDims& dims, int64_t batch_axis) {
  if (!dims || PartsOf(*dims) == 1) return {};
  Partition turned = *dims;
  const auto axis = turned.begin() + batch_axis;
  std::rotate(turned.begin(), axis, axis + 1);
  return turned;
}

}  // namespace

ModelFn WithInputPartition(ModelFn model_fn, const TpuConfig& config) {
  if (!config.input_partition_dims) return model_fn;
  return [model_fn = std::move(model_fn), config](Graph& graph, const ModelInputs& inputs,
                                                  Mode mode, const Params& params) {
    const bool is_export = !params.batch_size;
    if (params.use_tpu && !is_export) CheckInputs(config, inputs);
    return model_fn(graph, inputs, mode, params);
  };
}

std::vector<Partition> PartitionsOf(const EstimatorContext& context, Mode mode,
                                    const StreamSpec& stream, const BuiltModel& model) {
  const EstimatorOptions& options = context.options;
  const TpuConfig& config = options.run_config.tpu_config;
  std::vector<Partition> partitions(model.inputs.size());
  if (!config.input_partition_dims || !context.OnTpu(mode)) return partitions;
  std::vector<std::string> features;
  for (const TensorSpec& feature : stream.features) features.push_back(feature.name);
  const NamedPartitions named = NamedPartitionsOf(
      config, features, model.has_labels ? stream.labels : nn::Labels<TensorSpec>());
  size_t axis = 0;
  const auto next_axis = [&] { return options.batch_axis ? options.batch_axis->at(axis++) : 0; };
  size_t input = 0;
  for (const std::string& name : features) {
    partitions[input++] = OnDevice(DimsOf(named.features, name), next_axis());
  }
  if (!model.has_labels) return partitions;
  input += stream.lists.size();
  for (const auto& [head, label] : stream.labels) {
    partitions[input++] = OnDevice(DimsOf(named.labels, head), next_axis());
  }
  return partitions;
}

}  // namespace tpuest
