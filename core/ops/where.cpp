// The indices of elements that are not zero.

#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"
#include "core/ops/data_sized.h"
#include "core/ops/shape_rules.h"
#include "core/tensor/elements.h"

namespace tpuest::ops {
namespace {

template <class T>
bool IsNonZero(T value) {
  return static_cast<bool>(ConvertTo<double>(value) != 0);
}
template <>
bool IsNonZero<bool>(bool value) {
  return value;
}

template <class T>
int64_t CountNonZero(const T* values, int64_t count) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) found += IsNonZero(values[i]) ? 1 : 0;
  return found;
}

void WhereShape(ShapeContext& context) {
  const Shape& shape = context.Input(0);
  const int64_t rank = shape.known_rank() ? shape.rank() : kUnknownDim;
  int64_t count = kUnknownDim;
  if (const Tensor known = context.Constant(0); known.valid()) {
    const bool is_known = DispatchDType(known.dtype(), [&]<class T>() {
      count = CountNonZero(static_cast<const T*>(known.raw()), known.elements());
    });
    if (!is_known) context.Fail(fmt::format("{} has no zero", NameOf(known.dtype())));
  }
  context.Output(0, Shape({count, rank}));
}

BoundOp BindWhere(const Node& node) { return SizedByInputs(node, {0}); }

void PlanWhere(PlanContext& context) {
  const Shape shape = context.InputShape(0);
  const int64_t room = context.OutputShape(0).dim(0);
  const std::string name = context.node().name();
  const Buffer in = context.Input(0);
  const Buffer out = context.Output(0);
  const bool known = DispatchDType(context.InputDType(0), [&]<class T>() {
    context.Run([=](const Task& task) {
      const std::vector<int64_t>& dims = shape.dims();
      std::vector<int64_t> index(dims.size());
      int64_t* to = task.At<int64_t>(out);
      int64_t found = 0;
      for (int64_t i = 0; i < shape.elements(); ++i) {
        if (!IsNonZero(task.At<T>(in)[i])) continue;
        Check(found++ < room, "'{}' is planned for another condition", name);
        int64_t rest = i;
        for (size_t axis = dims.size(); axis-- > 0;) {
          index[axis] = rest % dims[axis];
          rest /= dims[axis];
        }
        for (const int64_t at : index) *to++ = at;
      }
    });
  });
  Check(known, "Where of {}", NameOf(context.InputDType(0)));
}

const OpDef kWhereOps[] = {
    {.name = "Where",
     .signature = "input: T -> index: int64; T: float|double|int32|uint8|int16|int8|int64|"
                  "bfloat16|uint16|uint32|uint64|bool = bool",
     .shape = WhereShape,
     .grad = NoGradient,
     .cpu = PlanWhere,
     .bind = BindWhere,
     .host = true},
};

}  // namespace

OpFamily WhereOps() { return kWhereOps; }

}  // namespace tpuest::ops
