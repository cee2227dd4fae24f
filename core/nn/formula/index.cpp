// x[...] as a StridedSlice, or a GatherV2 where a tensor says which.

#include <fmt/format.h>

#include <utility>

#include "core/nn/formula/call.h"
#include "core/ops/array.h"

namespace tpuest::nn {
namespace {

// Collects positions as tf.strided_slice takes them.
class SliceWriter {
 public:
  explicit SliceWriter(bool rows) {
    if (!rows) return;
    // The batch, which the formula does not know of, stays whole.
    Push(0, 0, 1);
    options_.begin_mask |= 1;
    options_.end_mask |= 1;
  }

  void Add(const IndexPosition& position) {
    const Expression& e = *position.e;
    const int64_t bit = int64_t{1} << options_.begin.size();
    if (e.kind == Expression::Kind::kEllipsis) {
      if (options_.ellipsis_mask != 0) FailAt(e, "there are two ellipses");
      options_.ellipsis_mask |= bit;
      return Push(0, 0, 1);
    }
    if (e.kind == Expression::Kind::kSlice) return AddSlice(position, bit);
    if (position.values[0].none()) {
      options_.new_axis_mask |= bit;
      return Push(0, 0, 1);
    }
    const int64_t at = Integer(e, position.values[0], "an index");
    options_.shrink_axis_mask |= bit;
    Push(at, at + 1, 1);
  }

  [[nodiscard]] const ops::StridedSliceOptions& options() const { return options_; }

 private:
  void AddSlice(const IndexPosition& position, int64_t bit) {
    const Operands& bounds = position.values;
    const int64_t stride = bounds[2].none() ? 1 : Integer(*position.e, bounds[2], "a stride");
    if (stride == 0) FailAt(*position.e, "the stride of a slice is 0");
    if (bounds[0].none()) options_.begin_mask |= bit;
    if (bounds[1].none()) options_.end_mask |= bit;
    Push(bounds[0].none() ? 0 : Integer(*position.e, bounds[0], "a slice"),
         bounds[1].none() ? 0 : Integer(*position.e, bounds[1], "a slice"), stride);
  }

  static int64_t Integer(const Expression& e, const Operand& operand, std::string_view what) {
    constexpr int64_t kMost = int64_t{1} << 30;
    const Literal* const literal = operand.literal();
    const auto* const integer =
        literal == nullptr ? nullptr : std::get_if<int64_t>(&literal->value);
    if (integer == nullptr) {
      FailAt(e, fmt::format("{} takes an integer, found {}", what, Described(operand)),
             operand.tensor() != nullptr ? "gather(x, indices) picks by a tensor" : "");
    }
    if (*integer > kMost || *integer < -kMost) FailAt(e, fmt::format("{} is out of range", what));
    return *integer;
  }

  void Push(int64_t begin, int64_t end, int64_t stride) {
    options_.begin.push_back(begin);
    options_.end.push_back(end);
    options_.strides.push_back(stride);
  }

  ops::StridedSliceOptions options_;
};

// The row that a scalar tensor names.
Operand Gathered(const Expression& e, const Tensored& x, const Tensored& index) {
  const DType dtype = index.value.dtype();
  if (dtype == DType::kBool) {
    FailAt(e, "a mask changes how many there are", "where(mask, x, 0) keeps the shape");
  }
  const Shape& shape = index.value.shape();
  if (!IsInteger(dtype) || !shape.known_rank() || shape.rank() != 0) {
    FailAt(e, fmt::format("an index is one integer, found {}", Described({index})),
           "gather(x, indices) picks several");
  }
  if (x.rows || index.rows) FailAt(e, "an index of an example is a number");
  return {Tensored{ops::GatherV2(x.value, index.value)}};
}

}  // namespace

Operand Indexed(const Expression& e, const Tensored& x,
                const std::vector<IndexPosition>& positions) {
  constexpr size_t kMostPositions = 16;
  if (positions.size() > kMostPositions) FailAt(e, "there are more positions than axes");
  if (x.value.dtype() == DType::kString && x.value.shape().known_rank() &&
      x.value.shape().rank() == (x.rows ? 1 : 0)) {
    FailAt(e, "one text has no items here", "compare it whole, or with `in`");
  }
  if (positions.size() == 1 && positions[0].values.size() == 1) {
    if (const Tensored* const index = positions[0].values[0].tensor()) {
      return BuiltAt(e, [&] { return Gathered(*positions[0].e, x, *index); });
    }
  }
  SliceWriter writer(x.rows);
  for (const IndexPosition& position : positions) writer.Add(position);
  return BuiltAt(e, [&]() -> Operand {
    return {Tensored{ops::StridedSlice(x.value, writer.options()), x.rows}};
  });
}

}  // namespace tpuest::nn
