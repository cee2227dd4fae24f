// Writes values at given positions of a tensor that has a default everywhere else.

#include <algorithm>

#include "core/kernels/strided_copy.h"
#include "core/ops/parsing.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value SparseToDense(Value sparse_indices, Value output_shape, Value sparse_values,
                    Value default_value, std::string_view name) {
  return sparse_indices.graph().Add(
      "SparseToDense", {sparse_indices, output_shape, sparse_values, default_value}, {}, name);
}

namespace {

void SparseToDenseShape(ShapeContext& context) {
  NeedRank(context, context.Input(1), 1, "output_shape");
  NeedRank(context, context.Input(3), 0, "default_value");
  context.Output(0, SizesFromInput(context, 1));
}

// Writes values at the positions in `indices`, which are [n, rank], [n] for a vector, or one
// number.
class Scatter {
 public:
  explicit Scatter(PlanContext& context)
      : node_(&context.node()),
        shape_(context.OutputShape(0)),
        strides_(StridesOf(shape_)),
        wide_(context.InputDType(0) == DType::kInt64),
        checked_(context.Attr<bool>("validate_indices")),
        one_value_(context.InputShape(2).rank() == 0),
        indices_(context.Input(0)),
        values_(context.Input(2)),
        default_(context.Input(3)),
        out_(context.Output(0)) {
    const Shape& indices = context.InputShape(0);
    const int64_t width = indices.rank() == 2 ? indices.dim(1) : 1;
    if (indices.rank() > 2 || width != shape_.rank()) {
      Refuse(Code::kUsage,
             fmt::format("indices {} do not fit a {}", indices.Text(), shape_.Text()));
    }
    count_ = indices.rank() == 0 ? 1 : indices.dim(0);
    if (!one_value_ && context.InputShape(2).elements() != count_) {
      Refuse(Code::kUsage,
             fmt::format("{} values at {} indices", context.InputShape(2).elements(), count_));
    }
  }

  template <class T>
  void Run(const Task& task) const {
    T* const out = task.At<T>(out_);
    std::fill_n(out, shape_.elements(), *task.At<T>(default_));
    int64_t before = -1;
    for (int64_t i = 0; i < count_; ++i) {
      const int64_t at = PlaceOf(task, i);
      if (checked_ && at <= before) {
        Refuse(Code::kData,
               fmt::format("index {} is {}", i, at == before ? "repeated" : "out of order"));
      }
      before = at;
      out[at] = task.At<T>(values_)[one_value_ ? 0 : i];
    }
  }

 private:
  [[noreturn]] void Refuse(Code code, const std::string& what) const {
    throw Error(code, fmt::format("SparseToDense '{}': {}", node_->name(), what))
        .At(node_->origin());
  }

  [[nodiscard]] int64_t PlaceOf(const Task& task, int64_t i) const {
    int64_t place = 0;
    for (int d = 0; d < shape_.rank(); ++d) {
      const int64_t k = i * shape_.rank() + d;
      const int64_t at = wide_ ? task.At<int64_t>(indices_)[k] : task.At<int32_t>(indices_)[k];
      if (at < 0 || at >= shape_.dim(d)) {
        Refuse(Code::kData, fmt::format("index {} is out of range for {}", i, shape_.Text()));
      }
      place += at * strides_[static_cast<size_t>(d)];
    }
    return place;
  }

  const Node* node_;
  Shape shape_;
  std::vector<int64_t> strides_;
  bool wide_;
  bool checked_;  // indices ascend
  bool one_value_;
  int64_t count_ = 0;
  Buffer indices_;
  Buffer values_;
  Buffer default_;
  Buffer out_;
};

void PlanSparseToDense(PlanContext& context) {
  const Scatter scatter(context);
  if (context.OutputDType(0) == DType::kString) {
    context.Run([scatter](const Task& task) { scatter.Run<std::string_view>(task); });
    return;
  }
  const bool known = DispatchDType(context.OutputDType(0), [&]<class T>() {
    context.Run([scatter](const Task& task) { scatter.Run<T>(task); });
  });
  Check(known, "SparseToDense of {}", NameOf(context.OutputDType(0)));
}

const OpDef kSparseOps[] = {
    {.name = "SparseToDense",
     .signature = "sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, "
                  "default_value: T -> dense: T; validate_indices: bool = true; T: type; "
                  "Tindices: int32|int64",
     .shape = SparseToDenseShape,
     .grad = NoGradient,
     .cpu = PlanSparseToDense,
     .host = true},
};

}  // namespace

OpFamily SparseOps() { return kSparseOps; }

}  // namespace tpuest::ops
