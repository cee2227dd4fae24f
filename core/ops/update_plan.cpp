#include "core/ops/update_plan.h"

#include "core/ops/shape_rules.h"
#include "core/ops/state.h"

namespace tpuest::ops {
namespace {

int FindInput(const Node& node, std::string_view name) {
  const std::vector<ArgDef>& inputs = node.signature().inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

void CheckSlot(const ShapeContext& context, int input) {
  const Value slot = context.node().input(input);
  const Value variable = context.node().input(0);
  if (VariableDType(slot) != context.node().Attr<DType>("T") ||
      VariableShape(slot) != VariableShape(variable)) {
    context.Fail(fmt::format("'{}' is {} {}, but '{}' is {} {} and the gradient {}", slot.name(),
                             NameOf(VariableDType(slot)), VariableShape(slot).Text(),
                             variable.name(), NameOf(VariableDType(variable)),
                             VariableShape(variable).Text(),
                             NameOf(context.node().Attr<DType>("T"))));
  }
}

// The shape of the gradient of rows: one row of the variable per index.
Shape RowsShape(const ShapeContext& context, int indices) {
  std::vector<int64_t> dims = VariableShape(context.node().input(0)).dims();
  const Shape& shape = context.Input(indices);
  NeedRank(context, shape, 1, "indices");
  if (dims.empty()) context.Fail("a scalar has no rows");
  dims[0] = shape.known_rank() ? shape.dim(0) : kUnknownDim;
  return Shape(dims);
}

}  // namespace

int InputIndex(const Node& node, std::string_view name) {
  const int found = FindInput(node, name);
  Check(found >= 0, "{} has no input {}", node.type(), name);
  return found;
}

bool HasInput(const Node& node, std::string_view name) { return FindInput(node, name) >= 0; }

UpdateBuffers::UpdateBuffers(PlanContext& context) {
  for (int i = 0; i < context.inputs(); ++i) {
    if (context.InputDType(i) == DType::kResource) slots.at(count++) = context.VariableInput(i);
  }
  grad = context.Input(InputIndex(context.node(), "grad"));
}

UpdateRows::UpdateRows(PlanContext& context)
    : what_(fmt::format("{} '{}'", context.node().type(), context.node().name())) {
  const int input = InputIndex(context.node(), "indices");
  const Shape& variable = VariableShape(context.node().input(0));
  indices_ = context.Input(input);
  wide_ = context.InputDType(input) == DType::kInt64;
  count_ = context.InputShape(input).dim(0);
  rows_ = variable.dim(0);
  elements_ = rows_ > 0 ? variable.elements() / rows_ : 0;
}

void UpdateRows::Fail(int64_t row) const {
  throw Error(Code::kData,
              fmt::format("{}: index {} is out of range for {} rows", what_, row, rows_));
}

void UpdateShape(ShapeContext& context) {
  const Node& node = context.node();
  const int indices = FindInput(node, "indices");
  for (int i = 0; i < context.inputs(); ++i) {
    const std::string& name = node.signature().inputs[static_cast<size_t>(i)].name;
    if (node.input(i).dtype() == DType::kResource) {
      CheckSlot(context, i);
    } else if (name == "grad" || name == "delta") {
      const Shape expected =
          indices >= 0 ? RowsShape(context, indices) : VariableShape(node.input(0));
      if (!Compatible(expected, context.Input(i))) {
        context.Fail(fmt::format("the gradient of '{}' must be {}, found {}", node.input(0).name(),
                                 expected.Text(), context.Input(i).Text()));
      }
    } else if (i != indices) {
      NeedRank(context, context.Input(i), 0, name.c_str());
    }
  }
}

}  // namespace tpuest::ops
