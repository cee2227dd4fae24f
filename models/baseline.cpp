#include "models/baseline.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/strings.h"

namespace tpuest::models {
namespace {

// TensorFlow's default: the learning rate of an optimizer that names none.
constexpr double kBaselineRate = 0.3;

// A feature that has a row an example; for strings their hashes, because strings stay on the host.
Value AnyFeature(const ModelInputs& inputs, const std::set<std::string>& weight_columns) {
  const Value* any = nullptr;
  for (const auto& [name, feature] : inputs.features) {
    if (weight_columns.contains(name)) continue;
    if (feature.dtype() != DType::kString) return feature;
    any = &feature;
  }
  if (any != nullptr) return ops::StringToHashBucketFast(*any, 1);
  throw Error(Code::kUsage, "a baseline needs a feature by which to count the examples",
              "name one in the input_fn's `features`");
}

// Returns a column of zeros, as long as the batch: the features are read only for their length.
Value BatchOfZeros(Graph& graph, const ModelInputs& inputs,
                   const std::set<std::string>& weight_columns) {
  const Value feature = AnyFeature(inputs, weight_columns);
  const std::vector<int64_t>& known = feature.shape().dims();
  if (std::find(known.begin() + 1, known.end(), kUnknownDim) != known.end()) {
    // For lists, which stay on the host, the column is computed there.
    std::vector<int64_t> axes(known.size() - 1);
    std::iota(axes.begin(), axes.end(), int64_t{1});
    return ops::ExpandDims(ops::Sum(ops::Cast(ops::ZerosLike(feature), DType::kFloat), axes), -1);
  }
  const Value rows = ops::StridedSlice(ops::ShapeOf(feature), {.begin = {0}, .end = {1}});
  const Value dims = ops::ConcatV2({rows, ops::Int32s(graph, {1})}, 0);
  return ops::Fill(dims, graph.ScalarOf(DType::kFloat, 0));
}

}  // namespace

template <class Kind>
TPUEstimatorSpec BaselineOf<Kind>::Build(Graph& graph, const ModelInputs& inputs, Mode mode,
                                         const Params& params, const JobContext& job) const {
  const nn::AnyHead head = Head();
  // The names are those of TensorFlow's checkpoints: the scope that is open when the optimizer is
  // built.
  const nn::OptimizerNames names{.power_beginning = "head/"};
  return BuildPremade(
      graph,
      {.head = head,
       .inputs = inputs,
       .mode = mode,
       .params = params,
       .job = job,
       .metrics = metrics,
       .optimizers = {{nn::ByFamily(optimizer), kBaselineRate, "", names}},
       .divides_losses = !std::is_same_v<Kind, Classifier>},
      [&](nn::ColumnValues& values, int64_t units, nn::Summaries& /*summaries*/) {
        const int first = graph.next_node();
        const Variable* const bias =
            nn::AddWeight(values.layers(), "baseline/bias", Shape({units}), nn::ZerosInitializer{});
        const NameScope scope(graph, "baseline");
        const Value logits =
            ops::AddV2(BatchOfZeros(graph, inputs, nn::WeightColumnsOf(head)), bias->value);
        graph.AddLayer("baseline", "baseline", first, logits);
        return logits;
      });
}

template struct BaselineOf<Classifier>;
template struct BaselineOf<Regressor>;
template struct BaselineOf<WithHead>;

}  // namespace tpuest::models
