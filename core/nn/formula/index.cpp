// x[...] as a StridedSlice, or a GatherV2 where a tensor says which.

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <utility>

#include "core/nn/formula/call.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/texts.h"

namespace tpuest::nn {

Operand MaskedBy(const Expression& e, const Tensored& x, const Tensored& mask) {
  if (mask.value.dtype() != DType::kBool) {
    FailAt(e, fmt::format("a mask must be bool, found {}", Described({mask})));
  }
  const Shape& whole = x.value.shape();
  const Shape& shape = mask.value.shape();
  if (!whole.known_rank() || !shape.known_rank() || x.rows != mask.rows) {
    FailAt(e, "a mask must have the shape of the tensor that it selects from",
           "where(mask, x, 0) broadcasts");
  }
  const int axes = shape.rank();
  const bool has_axes = axes > (mask.rows ? 1 : 0) && axes <= whole.rank();
  if (!has_axes || !Compatible(shape, Shape(std::vector<int64_t>(whole.dims().begin(),
                                                                 whole.dims().begin() + axes)))) {
    FailAt(
        e, fmt::format("a mask of {} does not fit a tensor of {}", shape.Text(), whole.Text()),
        "it must have the shape of the tensor or of its first axes; where(mask, x, 0) broadcasts");
  }
  return {Masked{x, mask}};
}

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
      if (options_.ellipsis_mask != 0) FailAt(e, "only one ellipsis is allowed");
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
             operand.tensor() != nullptr ? "gather(x, indices) takes a tensor of indices" : "");
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

// The mask with as many axes as what it picks from.
Value WholeMask(const Masked& masked) {
  Value mask = masked.mask.value;
  while (mask.shape().rank() < masked.x.value.shape().rank()) mask = ops::ExpandDims(mask, -1);
  return mask;
}

// The row that a scalar tensor names.
Operand Gathered(const Expression& e, const Tensored& x, const Tensored& index) {
  const DType dtype = index.value.dtype();
  if (dtype == DType::kBool) return MaskedBy(e, x, index);
  const Shape& shape = index.value.shape();
  if (!IsInteger(dtype) || !shape.known_rank() || shape.rank() != 0) {
    FailAt(e, fmt::format("an index must be one integer, found {}", Described({index})),
           "gather(x, indices) picks several");
  }
  if (x.rows || index.rows) FailAt(e, "an index into an example must be a number");
  return {Tensored{ops::GatherV2(x.value, index.value)}};
}

// A part of one text, as Python cuts it: its bytes, as many as there are.
Operand PartOfText(const Expression& e, const Tensored& x,
                   const std::vector<IndexPosition>& positions) {
  const auto bound = [&](const Operand& operand) -> std::optional<int64_t> {
    if (operand.none()) return std::nullopt;
    const Literal* const literal = operand.literal();
    const auto* const integer =
        literal == nullptr ? nullptr : std::get_if<int64_t>(&literal->value);
    if (integer == nullptr) {
      FailAt(*positions[0].e,
             fmt::format("a text can only be sliced at integers, found {}", Described(operand)),
             operand.tensor() != nullptr ? "substr(x, pos, len) takes tensors" : "");
    }
    return *integer;
  };
  const Operands& values = positions[0].values;
  const bool cuts = positions.size() == 1 && positions[0].e->kind != Expression::Kind::kEllipsis;
  if (!cuts) FailAt(e, "a text has one axis, its bytes");
  std::optional<int64_t> begin = bound(values[0]);
  std::optional<int64_t> end;
  if (positions[0].e->kind == Expression::Kind::kSlice) {
    end = bound(values[1]);
    if (bound(values[2]).value_or(1) != 1) FailAt(*positions[0].e, "a text is sliced by stride 1");
  } else if (!begin) {
    FailAt(*positions[0].e, "a text has one axis, its bytes");
  } else if (*begin != -1) {
    end = *begin + 1;
  }
  return {
      Tensored{ops::TextSlice(x.value, begin ? &*begin : nullptr, end ? &*end : nullptr), x.rows}};
}

}  // namespace

Value MaskAsNumbers(const Masked& masked) {
  const Value x = masked.x.value;
  if (x.dtype() == DType::kString) throw config::Misfit{"a mask cannot count texts"};
  return ops::SelectV2(WholeMask(masked), ops::OnesLike(x), ops::ZerosLike(x));
}

Tensored WhereMasked(const Arguments& a, double filler) {
  const Masked& masked = *a.at(0).masked();
  const DType dtype = masked.x.value.dtype();
  if (dtype == DType::kString) a.Fail(0, "a mask of texts cannot be reduced");
  Literal literal{filler};
  if (dtype == DType::kBool) literal.value = filler != 0;
  if (IsInteger(dtype)) {
    literal.value = std::isinf(filler) ? (filler < 0 ? LeastOf(dtype) : MostOf(dtype))
                                       : static_cast<int64_t>(filler);
  }
  const Value other = a.graph().Constant(TensorOf(literal, dtype));
  return {ops::SelectV2(WholeMask(masked), masked.x.value, other), masked.x.rows};
}

Operand Indexed(const Expression& e, const Tensored& x,
                const std::vector<IndexPosition>& positions) {
  constexpr size_t kMostPositions = 16;
  if (positions.size() > kMostPositions) FailAt(e, "there are more positions than axes");
  if (x.value.dtype() == DType::kString && x.value.shape().known_rank() &&
      x.value.shape().rank() == (x.rows ? 1 : 0)) {
    return BuiltAt(e, [&] { return PartOfText(e, x, positions); });
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
