#pragma once
// What shape functions and plans of the optimizers' ops share: their inputs by name, and their two
// dtypes.

#include <cstdint>
#include <string_view>

#include "core/backend/cpu_plan.h"

namespace tpuest::ops {

// Where the input called `name` stands in the op's signature.
[[nodiscard]] int InputIndex(const Node& node, std::string_view name);
[[nodiscard]] bool HasInput(const Node& node, std::string_view name);

// Slots and a dense gradient have the variable's shape and dtype, other inputs are scalars. With
// `indices` the gradient holds rows.
void UpdateShape(ShapeContext& context);

// The buffers of an update by name.
class UpdateInputs {
 public:
  explicit UpdateInputs(PlanContext& context) : context_(context) {}
  // The memory of a variable or slot.
  [[nodiscard]] Buffer Slot(std::string_view name) const {
    return context_.VariableInput(InputIndex(context_.node(), name));
  }
  // A tensor that is read: the gradient, a rate.
  [[nodiscard]] Buffer Read(std::string_view name) const {
    return context_.Input(InputIndex(context_.node(), name));
  }
  [[nodiscard]] int64_t Elements(std::string_view name) const {
    return context_.InputShape(InputIndex(context_.node(), name)).elements();
  }

 private:
  PlanContext& context_;
};

// Calls PlanOf<float> or <double>, as the variable is.
template <class Fn>
void PlanByType(const PlanContext& context, Fn&& plan) {
  if (context.Attr<DType>("T") == DType::kDouble) {
    plan.template operator()<double>();
  } else {
    plan.template operator()<float>();
  }
}

}  // namespace tpuest::ops
