#include "core/nn/layers/layers.h"

#include "core/nn/job_place.h"
#include "core/ops/elementwise.h"

namespace tpuest::nn {
namespace {

template <class L>
concept TakesOne = requires(const L& layer, LayerContext& context, Value x) {
  layer.Apply(context, x);
};
template <class L>
concept TakesSeveral = requires(const L& layer, LayerContext& context, std::vector<Value> inputs) {
  layer.Apply(context, inputs);
};
// Layers that convert their inputs to numbers receive them unchanged.
template <class L>
concept TakesAnything = requires {
  L::kTakesAnything;
};

template <class L>
constexpr std::string_view TypeOf() {
  if constexpr (requires { L::kType; }) {
    return L::kType;
  } else {
    return "a shared layer";
  }
}

Value Numbers(Value x, DType dtype, std::string_view type) {
  if (IsFloating(x.dtype()) || IsInteger(x.dtype()) || x.dtype() == DType::kBool) {
    return ops::Cast(x, dtype);
  }
  throw Error(Code::kUsage, fmt::format("{} takes numbers, found {}", type, NameOf(x.dtype())));
}

template <class L>
Value ApplyTo(const L& layer, LayerContext& context, std::vector<Value>& inputs) {
  if constexpr (!TakesAnything<L>) {
    for (Value& x : inputs) x = Numbers(x, context.compute_dtype, TypeOf<L>());
  }
  if constexpr (TakesSeveral<L>) {
    return layer.Apply(context, inputs);
  } else if constexpr (TakesOne<L>) {
    if (inputs.size() == 1) return layer.Apply(context, inputs.front());
    throw Error(Code::kUsage, fmt::format("{} takes one input, got {}", TypeOf<L>(), inputs.size()),
                "combine them with an add or a concatenate layer");
  } else {
    throw Error(Code::kUsage, "only a network can apply this layer");
  }
}

}  // namespace

Value Apply(const Layer& layer, LayerContext& context, std::vector<Value> inputs) {
  return std::visit(
      [&](const auto& l) { return AtPlace(l.place, [&] { return ApplyTo(l, context, inputs); }); },
      layer);
}

}  // namespace tpuest::nn

namespace tpuest {
template class OneOf<nn::LayerTypes>;
}  // namespace tpuest
