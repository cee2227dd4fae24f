#include "core/nn/layers/layers.h"

#include "core/nn/job_place.h"

namespace tpuest::nn {

Value Apply(const Layer& layer, LayerContext& context, Value x) {
  return std::visit(
      [&](const auto& l) { return AtPlace(l.place, [&] { return l.Apply(context, x); }); }, layer);
}

}  // namespace tpuest::nn
