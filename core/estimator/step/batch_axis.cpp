#include "core/estimator/step/batch_axis.h"

#include <algorithm>
#include <numeric>

#include "core/base/text.h"
#include "core/estimator/contract/wrapped_stream.h"
#include "core/kernels/strided_copy.h"
#include "core/ops/array.h"

namespace tpuest {
namespace {

// "[3, 0]", as Python prints a list.
std::string ListText(const std::vector<int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const int64_t number : numbers) texts.push_back(std::to_string(number));
  return fmt::format("[{}]", Join(texts, ", "));
}

[[noreturn]] void RefuseAxis(std::string message) {
  throw Error(Code::kUsage, std::move(message),
              "give an axis for each feature, by name, and then for each label")
      .Key("batch_axis");
}

// batch_axis may name axes of labels that the stream lacks; they are ignored.
void CheckLength(const std::vector<int64_t>& axes, size_t features, size_t labels) {
  if (axes.size() == features + labels || (labels == 0 && axes.size() > features)) return;
  RefuseAxis(fmt::format("shard_dimensions is {}, but must be a list of length {}", ListText(axes),
                         features + labels));
}

size_t CheckedAxis(int64_t axis, const Shape& shape) {
  if (axis < shape.rank()) return static_cast<size_t>(axis);
  RefuseAxis(fmt::format("Shape {} does not contain shard_dimension {}", shape.Text(), axis));
}

// The shape of the other axes, in their order.
Shape Without(const Shape& shape, size_t axis) {
  std::vector<int64_t> dims = shape.dims();
  dims.erase(dims.begin() + static_cast<ptrdiff_t>(axis));
  return Shape(std::move(dims));
}

bool Fits(const Shape& example, const Shape& expected) {
  if (!expected.known_rank()) return true;
  return std::equal(
      example.dims().begin(), example.dims().end(), expected.dims().begin(), expected.dims().end(),
      [](int64_t dim, int64_t wanted) { return wanted == kUnknownDim || dim == wanted; });
}

// The tensor with the axis moved to the front.
Tensor Turned(const Tensor& tensor, size_t axis) {
  if (axis == 0) return tensor;
  const Shape& shape = tensor.shape();
  std::vector<int64_t> dims = Without(shape, axis).dims();
  dims.insert(dims.begin(), shape.dim(static_cast<int>(axis)));
  std::vector<int64_t> strides = StridesOf(shape);
  std::rotate(strides.begin(), strides.begin() + static_cast<ptrdiff_t>(axis),
              strides.begin() + static_cast<ptrdiff_t>(axis) + 1);
  const Shape turned(dims);
  const bool is_text = tensor.dtype() == DType::kString;
  Tensor result = is_text ? Tensor::Views(turned, tensor.arena()) : Tensor(tensor.dtype(), turned);
  StridedCopy(dims, {.strides = strides}, {.strides = StridesOf(turned)},
              ElementBytes(tensor.dtype()))
      .Run(tensor.raw(), result.raw());
  return result;
}

class TurnedStream final : public WrappedStream {
 public:
  TurnedStream(std::unique_ptr<BatchStream> stream, const std::vector<int64_t>& axes)
      : WrappedStream(std::move(stream)), axes_(axes) {
    const StreamSpec& spec = of().spec();
    CheckLength(axes_, spec.features.size(), LabelCount());
  }

  void TakeRows(int64_t /*first*/, int64_t /*count*/) override {}  // its axis may not be the batch
  [[nodiscard]] std::optional<Batch> Next() override {
    std::optional<Batch> batch = of().Next();
    if (!batch) return batch;
    const StreamSpec& spec = of().spec();
    size_t input = 0;
    for (Tensor& feature : batch->features) {
      feature = Turn(feature, spec.features[input], axes_[input]);
      ++input;
    }
    batch->labels = batch->labels.Map([&](const std::string& head, const Tensor& label) {
      return input < axes_.size() ? Turn(label, SpecOf(head), axes_[input++]) : label;
    });
    CheckRows(*batch);
    return batch;
  }

 private:
  [[nodiscard]] size_t LabelCount() const {
    size_t count = 0;
    if (!spec().labels.valid()) return count;
    for ([[maybe_unused]] const auto& label : spec().labels) ++count;
    return count;
  }

  [[nodiscard]] const TensorSpec& SpecOf(const std::string& head) const {
    const nn::Labels<TensorSpec>& labels = spec().labels;
    return labels.is_dict() ? *labels.Find(head) : labels.only();
  }

  static Tensor Turn(const Tensor& tensor, const TensorSpec& spec, int64_t batch_axis) {
    const size_t axis = CheckedAxis(batch_axis, tensor.shape());
    const Shape example = Without(tensor.shape(), axis);
    if (!Fits(example, spec.shape)) {
      RefuseAxis(fmt::format("'{}' is {}: without axis {} that gives {}, expected {}", spec.name,
                             tensor.shape().Text(), axis, example.Text(), spec.shape.Text()));
    }
    return Turned(tensor, axis);
  }

  void CheckRows(const Batch& batch) const {
    const int64_t rows = batch.features.front().shape().dim(0);
    const auto check = [&](const std::string& name, const Tensor& tensor) {
      const int64_t found = tensor.shape().dim(0);
      if (found == rows) return;
      RefuseAxis(fmt::format("batch_axis {}: '{}' has {} examples on its axis, but '{}' has {}",
                             ListText(axes_), name, found, spec().features.front().name, rows));
    };
    for (size_t i = 0; i < batch.features.size(); ++i) {
      check(spec().features[i].name, batch.features[i]);
    }
    for (const auto& [head, label] : batch.labels) check(SpecOf(head).name, label);
  }

  const std::vector<int64_t> axes_;
};

// The value with its first axis moved to `batch_axis`.
Value TurnedBack(Value value, int64_t batch_axis) {
  const size_t axis = CheckedAxis(batch_axis, value.shape());
  if (axis == 0) return value;
  std::vector<int64_t> perm(static_cast<size_t>(value.shape().rank()));
  std::iota(perm.begin(), perm.end(), int64_t{0});
  std::rotate(perm.begin(), perm.begin() + 1, perm.begin() + static_cast<ptrdiff_t>(axis) + 1);
  return ops::Transpose(value, perm, "batch_axis");
}

ModelInputs TurnedBack(const ModelInputs& inputs, const std::vector<int64_t>& axes) {
  ModelInputs turned = inputs;
  size_t labels = 0;
  if (inputs.labels.valid()) {
    for ([[maybe_unused]] const auto& label : inputs.labels) ++labels;
  }
  CheckLength(axes, inputs.features.size(), labels);
  size_t input = 0;
  for (auto& [name, feature] : turned.features) feature = TurnedBack(feature, axes[input++]);
  if (labels == 0) return turned;
  turned.labels =
      inputs.labels.Map([&](const Value& label) { return TurnedBack(label, axes[input++]); });
  return turned;
}

}  // namespace

std::unique_ptr<BatchStream> BatchFirst(std::unique_ptr<BatchStream> stream,
                                        const std::vector<int64_t>& batch_axis) {
  if (stream->spec().batch_first) return stream;
  return std::make_unique<TurnedStream>(std::move(stream), batch_axis);
}

ModelFn WithBatchAxis(ModelFn model_fn, const std::optional<std::vector<int64_t>>& batch_axis) {
  if (!batch_axis) return model_fn;
  return [model_fn = std::move(model_fn), axes = *batch_axis](
             Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
    return model_fn(graph, TurnedBack(inputs, axes), mode, params);
  };
}

}  // namespace tpuest
