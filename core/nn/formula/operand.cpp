#include "core/nn/formula/operand.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/ops/array.h"

namespace tpuest::nn {

int64_t LeastOf(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return std::numeric_limits<int8_t>::min();
    case DType::kInt16:
      return std::numeric_limits<int16_t>::min();
    case DType::kInt32:
      return std::numeric_limits<int32_t>::min();
    case DType::kInt64:
      return std::numeric_limits<int64_t>::min();
    default:
      return 0;
  }
}
int64_t MostOf(DType dtype) {
  switch (dtype) {
    case DType::kInt8:
      return std::numeric_limits<int8_t>::max();
    case DType::kUint8:
      return std::numeric_limits<uint8_t>::max();
    case DType::kInt16:
      return std::numeric_limits<int16_t>::max();
    case DType::kUint16:
      return std::numeric_limits<uint16_t>::max();
    case DType::kInt32:
      return std::numeric_limits<int32_t>::max();
    case DType::kUint32:
      return std::numeric_limits<uint32_t>::max();
    default:
      return std::numeric_limits<int64_t>::max();
  }
}

namespace {

// The numbers of nested lists in their order, and their shape.
struct Flat {
  std::vector<const Literal*> items;
  std::vector<int64_t> dims;
};

void Flatten(const Literal& literal, size_t depth, Flat& flat) {
  constexpr size_t kMostAxes = 8;
  const auto* const list = std::get_if<Literals>(&literal.value);
  if (list == nullptr) {
    if (depth != flat.dims.size()) throw config::Misfit{"the lists differ in length"};
    if (literal.value.index() == 0) throw config::Misfit{"none is not a tensor"};
    flat.items.push_back(&literal);
    return;
  }
  const auto size = static_cast<int64_t>(list->size());
  // The first list of a depth decides its length.
  if (flat.items.empty() && depth == flat.dims.size() && depth < kMostAxes) {
    flat.dims.push_back(size);
  }
  if (depth >= flat.dims.size() || flat.dims[depth] != size) {
    throw config::Misfit{"the lists differ in length"};
  }
  for (const Literal& item : *list) Flatten(item, depth + 1, flat);
}

Flat Flattened(const Literal& literal) {
  Flat flat;
  Flatten(literal, 0, flat);
  return flat;
}

template <class T>
bool Holds(const Literal& literal) {
  return std::holds_alternative<T>(literal.value);
}

[[noreturn]] void Unfit(const Literal& literal, DType dtype) {
  const std::string text = config::TextOf(literal);
  throw config::Misfit{
      fmt::format("{} cannot be converted to {}", Holds<std::string>(literal) ? Quoted(text) : text,
                  NameOf(dtype)),
      IsInteger(dtype) && Holds<double>(literal) ? "cast(x, float32) converts the other operand"
                                                 : ""};
}

void CheckBecomes(const Literal& literal, DType dtype) {
  if (const auto* const integer = std::get_if<int64_t>(&literal.value)) {
    if (IsFloating(dtype)) return;
    if (IsInteger(dtype) && *integer >= LeastOf(dtype) && *integer <= MostOf(dtype)) return;
  }
  if (Holds<double>(literal) && IsFloating(dtype)) return;
  if (Holds<bool>(literal) && dtype == DType::kBool) return;
  Unfit(literal, dtype);
}

int RowRank(const Tensored& tensor) { return tensor.value.shape().rank() - (tensor.rows ? 1 : 0); }

}  // namespace

void FailAt(const Expression& e, std::string message, std::string hint) {
  throw FormulaError{std::move(message), std::move(hint), e.at, e.width};
}

std::string Quoted(std::string_view text) {
  constexpr size_t kMost = 60;
  return fmt::format("'{}{}'", text.substr(0, kMost), text.size() > kMost ? "..." : "");
}

std::string Described(const Operand& operand) {
  if (const Literal* const literal = operand.literal()) return config::KindOf(*literal);
  if (const Tensored* const tensor = operand.tensor()) {
    return fmt::format("{} {}", NameOf(tensor->value.dtype()), tensor->value.shape().Text());
  }
  if (operand.masked() != nullptr) return "elements that a mask selects";
  if (operand.parts() != nullptr) return "the parts of texts";
  return operand.list() != nullptr ? "a list" : "a type";
}

DType NaturalType(const Literal& literal) {
  const Flat flat = Flattened(literal);
  DType dtype = DType::kFloat;
  bool first = true;
  for (const Literal* const item : flat.items) {
    DType one = DType::kInt32;
    if (Holds<std::string>(*item)) one = DType::kString;
    if (Holds<bool>(*item)) one = DType::kBool;
    if (Holds<double>(*item)) one = DType::kFloat;
    if (const auto* const integer = std::get_if<int64_t>(&item->value)) {
      const bool fits = *integer >= LeastOf(one) && *integer <= MostOf(one);
      if (!fits) one = DType::kInt64;
    }
    const auto pair = [&](DType a, DType b) {
      return (dtype == a && one == b) || (dtype == b && one == a);
    };
    if (first || dtype == one) {
      dtype = one;
    } else if (pair(DType::kInt32, DType::kInt64)) {
      dtype = DType::kInt64;
    } else if (pair(DType::kInt32, DType::kFloat) || pair(DType::kInt64, DType::kFloat)) {
      dtype = DType::kFloat;
    } else {
      throw config::Misfit{"the list mixes kinds of values"};
    }
    first = false;
  }
  return dtype;
}

Tensor TensorOf(const Literal& literal, DType dtype) {
  const Flat flat = Flattened(literal);
  if (dtype == DType::kString) {
    std::vector<std::string> texts;
    for (const Literal* const item : flat.items) {
      const auto* const text = std::get_if<std::string>(&item->value);
      if (text == nullptr) Unfit(*item, dtype);
      texts.push_back(*text);
    }
    return Tensor::Strings(Shape(flat.dims), texts);
  }
  for (const Literal* const item : flat.items) CheckBecomes(*item, dtype);
  if (dtype == DType::kInt64) {
    std::vector<int64_t> integers;
    for (const Literal* const item : flat.items) {
      integers.push_back(std::get<int64_t>(item->value));
    }
    return Tensor::Of<int64_t>(Shape(flat.dims), integers);
  }
  std::vector<double> numbers;
  for (const Literal* const item : flat.items) {
    const auto* const truth = std::get_if<bool>(&item->value);
    numbers.push_back(truth != nullptr ? static_cast<double>(*truth) : config::NumberOf(*item));
  }
  return Tensor::Of<double>(Shape(flat.dims), numbers).Cast(dtype);
}

Tensored ToTensor(Graph& graph, const Operand& operand, std::optional<DType> dtype) {
  if (const Tensored* const tensor = operand.tensor()) return *tensor;
  if (const Literal* const literal = operand.literal()) {
    if (operand.none()) throw config::Misfit{"none is not a tensor"};
    return {graph.Constant(TensorOf(*literal, dtype ? *dtype : NaturalType(*literal)))};
  }
  if (operand.masked() != nullptr) {
    throw config::Misfit{
        "the number of elements that a mask selects varies",
        "sum, mean, max, min, prod, all, any and size take x[mask]; where(mask, x, "
        "0) keeps the shape"};
  }
  if (const Parts* const parts = operand.parts()) {
    throw config::Misfit{"the number of parts varies with each text", WayOutOfParts(*parts)};
  }
  const Operands* const list = operand.list();
  if (list == nullptr) throw config::Misfit{"a type is not a tensor"};
  std::vector<const Operand*> items;
  for (const Operand& item : *list) items.push_back(&item);
  std::vector<Tensored> tensors = OfOneType(graph, items, "a list");
  if (!AlignRows(tensors)) {
    std::vector<Value> values;
    for (const Tensored& tensor : tensors) values.push_back(tensor.value);
    return {ops::Pack(values, 0, "stack")};
  }
  throw config::Misfit{"a list of an example's values is not a tensor", "stack([a, b]) makes one"};
}

std::vector<Tensored> OfOneType(Graph& graph, const std::vector<const Operand*>& from,
                                std::string_view what) {
  std::optional<DType> dtype;
  bool real = false;
  for (const Operand* const operand : from) {
    if (const Tensored* const tensor = operand->tensor()) {
      if (!dtype) dtype = tensor->value.dtype();
      if (*dtype == tensor->value.dtype()) continue;
      throw config::Misfit{fmt::format("{} takes tensors of one type, found {} and {}", what,
                                       NameOf(*dtype), NameOf(tensor->value.dtype())),
                           fmt::format("cast(x, {}) converts", NameOf(*dtype))};
    }
    if (operand->literal() != nullptr && !operand->none()) {
      real = real || NaturalType(*operand->literal()) == DType::kFloat;
    }
  }
  if (!dtype && real) dtype = DType::kFloat;
  std::vector<Tensored> tensors;
  tensors.reserve(from.size());
  for (const Operand* const operand : from) tensors.push_back(ToTensor(graph, *operand, dtype));
  return tensors;
}

bool AlignRows(std::vector<Tensored>& tensors) {
  const bool any =
      std::any_of(tensors.begin(), tensors.end(), [](const Tensored& t) { return t.rows; });
  if (!any) return false;
  int rank = 0;
  for (const Tensored& tensor : tensors) {
    if (!tensor.value.shape().known_rank()) {
      throw config::Misfit{"the shape of an example is not known"};
    }
    rank = std::max(rank, RowRank(tensor));
  }
  for (Tensored& tensor : tensors) {
    while (tensor.rows && RowRank(tensor) < rank) tensor.value = ops::ExpandDims(tensor.value, 1);
  }
  return true;
}

}  // namespace tpuest::nn
