#include "core/nn/layers/layer.h"

#include <algorithm>

#include "core/ops/elementwise.h"

namespace tpuest::nn {

namespace {

Variable* AddVariable(LayerContext& context, const std::string& name, const Shape& shape,
                      const Initializer& initializer, bool trainable, std::string object_path) {
  const Value initial = InitialValue(context.graph, name, DType::kFloat, shape, initializer);
  return context.graph.AddVariable(name, DType::kFloat, shape, initial,
                                   {.trainable = trainable && context.trainable.Match(name),
                                    .object_path = std::move(object_path)});
}

}  // namespace

Variable* AddWeight(LayerContext& context, const std::string& name, const Shape& shape,
                    const Initializer& initializer, bool trainable) {
  const std::string last = name.substr(name.rfind('/') + 1);
  return AddVariable(context, name, shape, initializer, trainable,
                     fmt::format("layer_with_weights-{}/{}", context.layers_with_weights++, last));
}

std::vector<int64_t> HeightAndWidth(const Sides& sides, std::string_view what) {
  std::vector<int64_t> both;
  if (const auto* const side = std::get_if<int64_t>(&sides)) {
    both = {*side, *side};
  } else {
    both = std::get<std::vector<int64_t>>(sides);
    if (both.size() == 1) both.push_back(both[0]);
  }
  const bool positive = std::all_of(both.begin(), both.end(), [](int64_t n) { return n > 0; });
  if (both.size() != 2 || !positive) {
    throw Error(Code::kUsage, fmt::format("{} is one or two positive integers", what));
  }
  return both;
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
      name_(name.empty() ? context.graph.UniqueLayerName(base) : name),
      first_node_(context.graph.next_node()) {}

Value LayerScope::Output(Value y) const {
  context_.graph.AddLayer(name_, type_, first_node_, y);
  return y;
}

Variable* LayerScope::AddWeight(std::string_view name, const Shape& shape,
                                const Initializer& initializer, WeightOptions options) {
  if (index_ < 0) index_ = context_.layers_with_weights++;
  const std::string full_name = fmt::format("{}/{}", name_, name);
  Graph& graph = context_.graph;
  Variable* const weight = AddVariable(context_, full_name, shape, initializer, options.trainable,
                                       fmt::format("layer_with_weights-{}/{}", index_, name));
  if (options.regularizer != nullptr && options.regularizer->has_value()) {
    const NameScope scope(graph, full_name + "/Regularizer");
    context_.regularization_losses.push_back(Penalty(*options.regularizer, weight->value));
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
  if (shape.dim(-1) == kUnknownDim) {
    Fail(fmt::format("the last dimension of its input {} is not known", shape.Text()));
  }
  return shape.dim(-1);
}

}  // namespace tpuest::nn
