// Functions that create, move, select and convert elements.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/nn/formula/call.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

Operand BuildCast(const Arguments& a) {
  const DType dtype = a.Type(1);
  const Tensored x = a.Tensor(0);
  if (x.value.dtype() == DType::kString || dtype == DType::kString) {
    a.Fail(0, fmt::format("{} cannot be converted to {}", NameOf(x.value.dtype()), NameOf(dtype)),
           dtype == DType::kString ? "as_string(x) makes texts" : "");
  }
  return {Tensored{ops::Cast(x.value, dtype), x.rows}};
}

Operand BuildWhere(const Arguments& a) {
  std::vector<Tensored> all = {a.Tensor(0, DType::kBool)};
  if (all[0].value.dtype() != DType::kBool) {
    a.Fail(0, fmt::format("'condition' must be bool, found {}", Described(a.at(0))));
  }
  constexpr std::array<size_t, 2> kBoth = {1, 2};
  for (const Tensored& one : a.Alike(kBoth)) all.push_back(one);
  const bool rows = AlignRows(all);
  return {Tensored{ops::SelectV2(all[0].value, all[1].value, all[2].value), rows}};
}

Operand BuildOneHot(const Arguments& a) {
  constexpr size_t kOn = 2;
  constexpr size_t kOff = 3;
  constexpr size_t kAxis = 4;
  constexpr size_t kType = 5;
  constexpr int64_t kMostClasses = 1 << 24;
  const Tensored x = a.Tensor(0);
  const int64_t depth = a.Integer(1);
  if (depth < 0 || depth > kMostClasses) a.Fail(1, fmt::format("depth is {}", depth));
  const int axis = a.Axis(kAxis, x, -1, 1);
  // -1 is the last one, which TensorFlow's attribute has for it.
  const bool last = axis == x.value.shape().rank();
  return {Tensored{ops::OneHot(x.value, {.depth = static_cast<int>(depth),
                                         .dtype = a.Type(kType, DType::kFloat),
                                         .on_value = a.Number(kOn, 1),
                                         .off_value = a.Number(kOff, 0),
                                         .axis = last ? -1 : axis}),
                   x.rows}};
}

// Returns a shape of an example, in which one dimension may be -1, with the batch before it.
std::vector<int64_t> Batched(const Arguments& a, const Tensored& x, std::vector<int64_t> dims) {
  const std::vector<int64_t>& from = x.value.shape().dims();
  const Shape example(std::vector<int64_t>(from.begin() + 1, from.end()));
  int64_t known = 1;
  for (const int64_t dim : dims) {
    if (__builtin_mul_overflow(known, std::max<int64_t>(dim, 1), &known)) {
      a.Fail(1, "the shape has too many elements");
    }
  }
  for (int64_t& dim : dims) {
    if (dim != -1) continue;
    if (!example.fully_known()) a.Fail(1, "the shape of an example is not known");
    dim = known == 0 ? 0 : example.elements() / known;
  }
  dims.insert(dims.begin(), kUnknownDim);
  return dims;
}

Operand BuildReshape(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  if (a.at(1).tensor() != nullptr) {
    if (x.rows) a.Fail(1, "the shape of an example must be a list of integers");
    return {Tensored{ops::Reshape(x.value, a.Tensor(1).value)}};
  }
  std::vector<int64_t> dims = a.Integers(1);
  const bool fits = std::all_of(dims.begin(), dims.end(), [](int64_t d) { return d >= -1; }) &&
                    std::count(dims.begin(), dims.end(), -1) <= 1;
  if (!fits) a.Fail(1, "one dimension may be -1, and none may be smaller");
  if (x.rows) dims = Batched(a, x, std::move(dims));
  return {Tensored{ops::Reshape(x.value, Shape(dims)), x.rows}};
}

// Every tensor about rows, or none.
bool SameRows(const Arguments& a, const std::vector<Tensored>& tensors) {
  const auto rows =
      std::count_if(tensors.begin(), tensors.end(), [](const Tensored& t) { return t.rows; });
  if (rows != 0 && rows != static_cast<int64_t>(tensors.size())) {
    a.Fail(0, "a constant cannot be combined with an example's values",
           "zeros_like(x) + constant is a value of the example");
  }
  return rows != 0;
}
std::vector<Value> ValuesOf(const std::vector<Tensored>& tensors) {
  std::vector<Value> values;
  for (const Tensored& tensor : tensors) values.push_back(tensor.value);
  return values;
}

Operand BuildConcat(const Arguments& a) {
  const std::vector<Tensored> items = a.Items(0);
  const bool rows = SameRows(a, items);
  return {Tensored{ops::ConcatV2(ValuesOf(items), a.Axis(1, items[0], std::nullopt)), rows}};
}
Operand BuildStack(const Arguments& a) {
  const std::vector<Tensored> items = a.Items(0);
  const bool rows = SameRows(a, items);
  return {Tensored{ops::Pack(ValuesOf(items), a.Axis(1, items[0], 0, 1)), rows}};
}
Operand BuildUnstack(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  const int axis = a.Axis(1, x, 0);
  if (x.value.shape().dim(axis) == kUnknownDim) a.Fail(0, "the size of that axis is not known");
  Operands parts;
  for (const Value part : ops::Unpack(x.value, axis)) parts.push_back({Tensored{part, x.rows}});
  return {std::move(parts)};
}

// The sizes along an axis: of equal parts, or as they are listed, where one may be -1, the rest.
std::vector<int64_t> SizesOf(const Arguments& a, int64_t side) {
  if (side == kUnknownDim) a.Fail(0, "the size of that axis is not known");
  std::vector<int64_t> sizes = a.Integers(1);
  if (const Literal* const literal = a.at(1).literal();
      std::holds_alternative<int64_t>(literal->value)) {
    const int64_t parts = sizes[0];
    if (parts < 1 || parts > std::max<int64_t>(side, 1) || side % parts != 0) {
      a.Fail(1, fmt::format("{} cannot be split into {} equal parts", side, parts));
    }
    return std::vector<int64_t>(static_cast<size_t>(parts), side / parts);
  }
  int64_t sum = 0;
  int64_t* rest = nullptr;
  for (int64_t& size : sizes) {
    if (size < -1 || size > side || (size == -1 && rest != nullptr)) {
      a.Fail(1, fmt::format("sizes must be at least 0, and one may be -1; found {}", size));
    }
    if (size == -1) rest = &size;
    sum += std::max<int64_t>(size, 0);
  }
  if (sum > side || (rest == nullptr && sum != side)) {
    a.Fail(1, fmt::format("the sizes add up to {}, but the axis has size {}", sum, side));
  }
  if (rest != nullptr) *rest = side - sum;
  return sizes;
}

Operand BuildTensorSplit(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  const int axis = a.Axis(2, x, 0);
  const auto at = static_cast<size_t>(axis);
  ops::StridedSliceOptions cut{.begin = std::vector<int64_t>(at + 1, 0),
                               .end = std::vector<int64_t>(at + 1, 0),
                               .strides = std::vector<int64_t>(at + 1, 1),
                               .begin_mask = (int64_t{1} << at) - 1,
                               .end_mask = (int64_t{1} << at) - 1};
  Operands parts;
  for (const int64_t size : SizesOf(a, x.value.shape().dim(axis))) {
    cut.end[at] = cut.begin[at] + size;
    parts.push_back({Tensored{ops::StridedSlice(x.value, cut), x.rows}});
    cut.begin[at] = cut.end[at];
  }
  return {std::move(parts)};
}

template <Value (*op)(Value, int, DType, std::string_view)>
Operand BuildArg(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  return {Tensored{op(x.value, a.Axis(1, x, 0), a.Type(2, DType::kInt64), ""), x.rows}};
}

Operand BuildGather(const Arguments& a) {
  constexpr size_t kAxis = 2;
  constexpr size_t kBatchDims = 3;
  const Tensored x = a.Tensor(0);
  const Tensored indices = a.Tensor(1);
  const int64_t batch_dims = a.Integer(kBatchDims, 0);
  if (x.rows) a.Fail(0, "cannot be used on an example's values", "x[i] selects from an example");
  if (batch_dims < 0 || batch_dims > indices.value.shape().rank()) {
    a.Fail(kBatchDims, fmt::format("batch_dims is {}", batch_dims));
  }
  return {Tensored{ops::GatherV2(x.value, indices.value, a.Axis(kAxis, x, batch_dims),
                                 static_cast<int>(batch_dims)),
                   indices.rows}};
}

Operand BuildBooleanMask(const Arguments& a) {
  return MaskedBy(a.place(1), a.Tensor(0), a.Tensor(1, DType::kBool));
}

Operand BuildExpandDims(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  return {Tensored{ops::ExpandDims(x.value, a.Axis(1, x, std::nullopt, 1)), x.rows}};
}
Operand BuildSqueeze(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  std::vector<int64_t> axes;
  for (const int64_t axis : a.Axes(1, x)) {
    if (a.Has(1) || x.value.shape().dim(static_cast<int>(axis)) == 1) axes.push_back(axis);
  }
  return {axes.empty() ? x : Tensored{ops::Squeeze(x.value, axes), x.rows}};
}

Operand BuildTranspose(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  std::vector<int64_t> perm = a.Axes(1, x);
  if (!a.Has(1)) std::reverse(perm.begin(), perm.end());
  if (x.rows) perm.insert(perm.begin(), 0);
  return {Tensored{ops::Transpose(x.value, perm), x.rows}};
}
Operand BuildTile(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  std::vector<int64_t> multiples = a.Integers(1);
  if (x.rows) multiples.insert(multiples.begin(), 1);
  return {Tensored{ops::Tile(x.value, multiples), x.rows}};
}
Operand BuildPad(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  const Literal* const literal = a.at(1).literal();
  const auto* const list = literal == nullptr ? nullptr : std::get_if<Literals>(&literal->value);
  std::vector<std::pair<int64_t, int64_t>> paddings;
  if (x.rows) paddings.emplace_back(0, 0);
  for (const Literal& item : list != nullptr ? *list : Literals()) {
    const auto* const both = std::get_if<Literals>(&item.value);
    if (both == nullptr || both->size() != 2) break;
    const auto* const before = std::get_if<int64_t>(&(*both)[0].value);
    const auto* const after = std::get_if<int64_t>(&(*both)[1].value);
    if (before == nullptr || after == nullptr) break;
    paddings.emplace_back(*before, *after);
  }
  if (list == nullptr || paddings.size() != list->size() + (x.rows ? 1 : 0)) {
    a.Fail(1, "'paddings' must be a list of [before, after], one per axis");
  }
  return {Tensored{ops::Pad(x.value, paddings), x.rows}};
}

Operand BuildShape(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  if (x.rows) a.Fail(0, "cannot be used on single examples");
  return {Tensored{ops::ShapeOf(x.value, a.Type(1, DType::kInt32))}};
}
Operand BuildSize(const Arguments& a) {
  if (const Masked* const masked = a.at(0).masked()) {
    const DType dtype = a.Type(1, DType::kInt32);
    const Value counted = ops::Cast(MaskAsNumbers(*masked), dtype);
    std::vector<int64_t> axes;
    for (int64_t d = masked->x.rows ? 1 : 0; d < masked->x.value.shape().rank(); ++d) {
      axes.push_back(d);
    }
    return {Tensored{ops::Sum(counted, axes), masked->x.rows}};
  }
  if (const Parts* const parts = a.at(0).parts(); parts != nullptr && parts->x.rows) {
    const Tensored count = CountOfParts(*parts);
    return {Tensored{ops::Cast(count.value, a.Type(1, DType::kInt32)), true}};
  }
  const Tensored x = a.Tensor(0);
  if (x.rows) a.Fail(0, "cannot be used on single examples");
  return {Tensored{ops::Size(x.value, a.Type(1, DType::kInt32))}};
}
Operand BuildRank(const Arguments& a) {
  const Tensored x = a.Tensor(0);
  const Shape& shape = x.value.shape();
  if (!shape.known_rank()) return {Tensored{ops::Rank(x.value)}};
  return {Literal{static_cast<int64_t>(shape.rank() - (x.rows ? 1 : 0))}};
}

// A constant with one number everywhere, of a shape of integers.
Operand Filled(const Arguments& a, double value, size_t type) {
  constexpr int64_t kMostElements = int64_t{1} << 24;
  const std::vector<int64_t> dims = a.Integers(0);
  int64_t elements = 1;
  for (const int64_t dim : dims) {
    if (dim < 0 || dim > kMostElements || (elements *= dim) > kMostElements) {
      a.Fail(0, "this shape is negative or too large");
    }
  }
  return {Tensored{ops::Full(a.graph(), a.Type(type, DType::kFloat), Shape(dims), value)}};
}
Operand BuildZeros(const Arguments& a) { return Filled(a, 0, 1); }
Operand BuildOnes(const Arguments& a) { return Filled(a, 1, 1); }

Operand BuildFill(const Arguments& a) {
  if (a.at(0).tensor() == nullptr) (void)Filled(a, 0, 2);
  return {Tensored{ops::Fill(a.Tensor(0).value, a.Tensor(1).value)}};
}

Operand BuildConstant(const Arguments& a) {
  std::optional<DType> dtype;
  if (a.Has(1)) dtype = a.Type(1);
  if (a.at(0).tensor() != nullptr) a.Fail(0, "'value' must be a number, a text or a list of these");
  return {a.Tensor(0, dtype)};
}

Operand BuildRange(const Arguments& a) {
  constexpr std::array<size_t, 2> kTwo = {0, 2};
  constexpr std::array<size_t, 3> kThree = {0, 1, 2};
  if (!a.Has(1)) {
    const std::vector<Tensored> t = a.Alike(std::span(kTwo).first(1));
    const Value limit = t[0].value;
    return {Tensored{ops::Range(a.graph().ScalarOf(limit.dtype(), 0), limit,
                                a.graph().ScalarOf(limit.dtype(), a.Number(2, 1)))}};
  }
  if (a.Has(2)) {
    const std::vector<Tensored> t = a.Alike(kThree);
    return {Tensored{ops::Range(t[0].value, t[1].value, t[2].value)}};
  }
  const std::vector<Tensored> t = a.Alike(std::span(kThree).first(2));
  const Value delta = a.graph().ScalarOf(t[0].value.dtype(), 1);
  return {Tensored{ops::Range(t[0].value, t[1].value, delta)}};
}

constexpr std::array kArrays = {
    FormulaRecord{"cast", "x, dtype", BuildCast},
    FormulaRecord{"where", "condition, x, y", BuildWhere},
    FormulaRecord{"one_hot", "indices, depth, on_value=None, off_value=None, axis=None, dtype=None",
                  BuildOneHot},
    FormulaRecord{"reshape", "tensor, shape", BuildReshape},
    FormulaRecord{"concat", "values, axis", BuildConcat},
    FormulaRecord{"stack", "values, axis=0", BuildStack},
    FormulaRecord{"unstack", "value, axis=0", BuildUnstack},
    FormulaRecord{"tf.split", "value, num_or_size_splits, axis=0", BuildTensorSplit},
    FormulaRecord{"argmax", "input, axis=None, output_type=int64", BuildArg<ops::ArgMax>},
    FormulaRecord{"argmin", "input, axis=None, output_type=int64", BuildArg<ops::ArgMin>},
    FormulaRecord{"boolean_mask", "tensor, mask", BuildBooleanMask},
    FormulaRecord{"gather", "params, indices, axis=None, batch_dims=0", BuildGather},
    FormulaRecord{"expand_dims", "input, axis", BuildExpandDims},
    FormulaRecord{"squeeze", "input, axis=None", BuildSqueeze},
    FormulaRecord{"transpose", "a, perm=None", BuildTranspose},
    FormulaRecord{"tile", "input, multiples", BuildTile},
    FormulaRecord{"pad", "tensor, paddings", BuildPad},
    FormulaRecord{"shape", "input, out_type=int32", BuildShape},
    FormulaRecord{"size", "input, out_type=int32", BuildSize},
    FormulaRecord{"rank", "input", BuildRank},
    FormulaRecord{"zeros", "shape, dtype=float32", BuildZeros},
    FormulaRecord{"ones", "shape, dtype=float32", BuildOnes},
    FormulaRecord{"fill", "dims, value, dtype=None", BuildFill},
    FormulaRecord{"constant", "value, dtype=None", BuildConstant},
    FormulaRecord{"range", "start, limit=None, delta=None", BuildRange},
};

}  // namespace

std::span<const FormulaRecord> ArrayFunctions() { return kArrays; }

}  // namespace tpuest::nn
