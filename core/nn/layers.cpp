#include "core/nn/layers.h"

#include <utility>

namespace tpuest::nn {

Value Apply(const Layer& layer, LayerContext& context, Value x) {
  return std::visit(
      [&](const auto& l) {
        try {
          return l.Apply(context, x);
        } catch (Error& error) {
          if (error.faults().front().place.line > 0) throw;
          throw std::move(error).At(l.place);
        }
      },
      layer);
}

}  // namespace tpuest::nn
