#include "core/nn/layers/layer.h"

#include <algorithm>

#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {

namespace {

struct NewVariable {
  const std::string& name;
  const Shape& shape;
  const Initializer& initializer;
  bool trainable = true;
  DType dtype = DType::kFloat;
};

Variable* AddVariable(LayerContext& context, const NewVariable& made,
                      const std::string& object_path) {
  const Value initial =
      InitialValue(context.graph, made.name, made.dtype, made.shape, made.initializer);
  const bool trainable = made.trainable && !context.frozen && context.trainable.Match(made.name);
  return context.graph.AddVariable(
      made.name, made.dtype, made.shape, initial,
      {.trainable = trainable, .object_path = context.object_prefix + object_path});
}

}  // namespace

Variable* AddWeight(LayerContext& context, const std::string& name, const Shape& shape,
                    const Initializer& initializer, bool trainable) {
  const std::string last = name.substr(name.rfind('/') + 1);
  return AddVariable(
      context, {.name = name, .shape = shape, .initializer = initializer, .trainable = trainable},
      fmt::format("layer_with_weights-{}/{}", context.layers_with_weights++, last));
}

void AddActivityPenalty(LayerContext& context, const Regularizer& regularizer, Value y) {
  if (!regularizer) return;
  Value wide = ops::Cast(y, DType::kFloat);
  Value batch;
  if (Value weight = context.example_weight; weight.valid()) {
    // The examples of all replicas, since they are not spread evenly.
    batch = ops::Sum(weight);
    if (context.replicas > 1) {
      batch = ops::Mul(ops::CrossReplicaSum(batch, context.replicas), 1.0 / context.replicas);
    }
    for (int axis = 1; axis < y.shape().rank(); ++axis) weight = ops::ExpandDims(weight, -1);
    wide = ops::Mul(wide, weight);
  } else {
    batch = ops::Cast(
        ops::StridedSlice(ops::ShapeOf(y), {.begin = {0}, .end = {1}, .shrink_axis_mask = 1}),
        DType::kFloat);
  }
  context.regularization_losses.push_back(ops::RealDiv(Penalty(regularizer, wide), batch));
}

namespace {

// One number for all of `count` axes, or as many; `words` is "one or two".
std::vector<int64_t> SidesOf(const Sides& sides, size_t count, std::string_view what,
                             std::string_view words) {
  const auto* const side = std::get_if<int64_t>(&sides);
  std::vector<int64_t> all =
      side != nullptr ? std::vector<int64_t>{*side} : std::get<std::vector<int64_t>>(sides);
  if (all.size() == 1) all.resize(count, all[0]);
  const bool positive = std::all_of(all.begin(), all.end(), [](int64_t n) { return n > 0; });
  if (all.size() != count || !positive) {
    throw Error(Code::kUsage, fmt::format("{} must be {} positive integers", what, words));
  }
  return all;
}

}  // namespace

std::vector<int64_t> HeightAndWidth(const Sides& sides, std::string_view what) {
  return SidesOf(sides, 2, what, "one or two");
}

std::vector<int64_t> DepthHeightWidth(const Sides& sides, std::string_view what) {
  return SidesOf(sides, 3, what, "one or three");
}

int64_t OneSide(const Sides& sides, std::string_view what) {
  const auto* const side = std::get_if<int64_t>(&sides);
  const auto* const list = std::get_if<std::vector<int64_t>>(&sides);
  const int64_t length = side != nullptr ? *side : list->size() == 1 ? list->front() : 0;
  if (length > 0) return length;
  throw Error(Code::kUsage, fmt::format("{} must be one positive integer", what));
}

std::string PaddingName(const std::string& padding) {
  return padding == "same" || padding == "SAME" ? "SAME" : "VALID";
}

LayerScope::LayerScope(LayerContext& context, const std::string& name, std::string_view base,
                       const Place& place)
    : context_(context),
      type_(base),
      place_(place),
      origin_(context.graph, place),
      name_(!context.shares.empty() ? context.shares
            : name.empty()          ? context.graph.UniqueLayerName(base)
                                    : name),
      first_node_(context.graph.next_node()) {}

Value LayerScope::Output(Value y, const Regularizer& activity_regularizer) const {
  if (activity_regularizer) {
    const NameScope scope(context_.graph, "ActivityRegularizer");
    AddActivityPenalty(context_, activity_regularizer, y);
  }
  context_.graph.AddLayer(name_, type_, first_node_, y);
  return y;
}

Variable* LayerScope::AddWeight(std::string_view name, const Shape& shape,
                                const Initializer& initializer, WeightOptions options) {
  const std::string full_name = fmt::format("{}/{}", name_, name);
  Graph& graph = context_.graph;
  if (!context_.shares.empty()) return Shared(full_name, shape);
  if (index_ < 0) index_ = context_.layers_with_weights++;
  Variable* const weight = AddVariable(context_,
                                       {.name = full_name,
                                        .shape = shape,
                                        .initializer = initializer,
                                        .trainable = options.trainable,
                                        .dtype = options.dtype},
                                       fmt::format("layer_with_weights-{}/{}", index_, name));
  if (options.regularizer != nullptr && options.regularizer->has_value()) {
    const NameScope scope(graph, full_name + "/Regularizer");
    context_.regularization_losses.push_back(Penalty(*options.regularizer, weight->value));
  }
  if (options.constraint != nullptr && options.constraint->has_value()) {
    CheckConstraint(*options.constraint, shape);
    if (weight->trainable) context_.constraints.emplace(full_name, *options.constraint);
  }
  return weight;
}

Variable* LayerScope::Shared(const std::string& full_name, const Shape& shape) const {
  Variable* const weight = context_.graph.FindVariable(full_name);
  Check(weight != nullptr, "layer '{}' has no variable '{}'", name_, full_name);
  if (weight->shape != shape) {
    Fail(fmt::format("shares '{}' {}, but this input needs {}", full_name, weight->shape.Text(),
                     shape.Text()));
  }
  return weight;
}

Value LayerScope::Use(const Variable* weight) const {
  return ops::Cast(weight->value, context_.compute_dtype);
}

void LayerScope::Fail(const std::string& message, std::string hint) const {
  throw Error(Code::kUsage, fmt::format("{} '{}': {}", type_, name_, message), std::move(hint))
      .At(place_);
}

int64_t LayerScope::Channels(Value x, int rank) const {
  const Shape& shape = x.shape();
  if (!shape.known_rank() || shape.rank() != rank) {
    Fail(fmt::format("takes an input of rank {}, got {}", rank, shape.Text()),
         rank == 4 ? "an image is [height, width, channels]; a reshape layer before it helps"
                   : "a flatten layer before it helps");
  }
  return Dimension(x, -1);
}

int64_t LayerScope::Dimension(Value x, int axis) const {
  const Shape& shape = x.shape();
  const bool is_there = shape.known_rank() && axis < shape.rank() && axis >= -shape.rank();
  if (!is_there) Fail(fmt::format("its input {} has no axis {}", shape.Text(), axis));
  if (shape.dim(axis) == kUnknownDim) {
    Fail(axis == -1 ? fmt::format("the last dimension of its input {} is not known", shape.Text())
                    : fmt::format("dimension {} of its input {} is not known", axis, shape.Text()));
  }
  return shape.dim(axis);
}

}  // namespace tpuest::nn
