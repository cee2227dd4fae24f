#include "core/nn/optimizers/premade_optimizers.h"

#include <type_traits>

namespace tpuest::nn {

PartOptimizer ByFamily(const PremadeOptimizer& optimizer) {
  return std::visit(
      [](const auto& o) -> PartOptimizer {
        if constexpr (std::is_constructible_v<KerasOptimizer, decltype(o)>) {
          return KerasOptimizer(o);
        } else {
          return AnyOptimizer(o);
        }
      },
      optimizer);
}

const Place& PlaceOf(const PartOptimizer& optimizer) {
  return std::visit(
      [](const auto& family) -> const Place& {
        return std::visit([](const auto& o) -> const Place& { return o.place; }, family);
      },
      optimizer);
}

const ExponentialMovingAverage* AverageOf(const AnyOptimizer& optimizer) {
  return std::visit(
      [](const auto& o) {
        const auto& average = o.gradients.exponential_moving_average;
        return average ? &*average : nullptr;
      },
      optimizer);
}

const ExponentialMovingAverage* AverageOf(const PartOptimizer& optimizer) {
  const auto* const of_train = std::get_if<AnyOptimizer>(&optimizer);
  return of_train == nullptr ? nullptr : AverageOf(*of_train);
}

}  // namespace tpuest::nn
