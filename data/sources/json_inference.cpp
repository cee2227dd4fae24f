#include <utility>

#include "core/base/error.h"
#include "core/base/whole_number.h"
#include "data/sources/json_rows.h"

namespace tpuest::data {
namespace {

constexpr size_t kMostKeyBytes = 256;  // longest key that becomes a column without being named
constexpr const char* kNamesKeys = "list the keys to read, and their types, under features:";

Tensor Nothing(DType dtype, const Shape& shape) {
  if (dtype != DType::kString) return {dtype, shape};
  return Tensor::Strings(shape,
                         std::vector<std::string>(static_cast<size_t>(shape.elements()), ""));
}

}  // namespace

void JsonInference::Add(JsonScanner& scanner) {
  unescaped_.clear();
  scanner.Begin('{');
  while (scanner.More('}')) {
    const std::string key(scanner.Key(unescaped_));
    if (key.size() > kMostKeyBytes) scanner.Fail(fmt::format("a key of {} bytes", key.size()));
    AddValue(scanner, keys_[key]);
  }
  scanner.End();
}

std::vector<JsonColumn> JsonInference::Columns() const {
  std::vector<JsonColumn> columns;
  for (const auto& [name, found] : keys_) {
    JsonColumn column{.name = name, .dtype = found.dtype.value_or(DType::kString)};
    column.shape =
        found.varies ? Shape({kUnknownDim}) : Shape(found.dims.value_or(std::vector<int64_t>()));
    if (!found.varies) column.value = Nothing(column.dtype, column.shape);
    column.is_inferred = true;
    columns.push_back(std::move(column));
  }
  return columns;
}

void JsonInference::AddValue(JsonScanner& scanner, FoundKey& found) {
  const JsonScanner::Kind kind = scanner.Next();
  if (kind == JsonScanner::Kind::kNull) return scanner.Null();
  const size_t begin = scanner.at();
  std::vector<int64_t> dims;
  Walk(scanner, found, dims, 0);
  const auto refuse = [&](const std::string& message) {
    scanner.GoBack(begin);
    scanner.Fail(message, kNamesKeys);
  };
  if (!found.dims) found.dims = dims;
  if (found.dims->size() != dims.size()) {
    refuse(fmt::format("expected a value of {1} axes, as in the rows before, found {0}",
                       dims.size(), found.dims->size()));
  }
  if (*found.dims == dims) return;
  if (dims.size() > 1) refuse("lists of lists differ in size from the rows before");
  found.varies = true;
}

void JsonInference::Walk(JsonScanner& scanner, FoundKey& found, std::vector<int64_t>& dims,
                         size_t axis) {
  constexpr size_t kMostAxes = 8;
  const JsonScanner::Kind kind = scanner.Next();
  if (kind != JsonScanner::Kind::kList) return AddScalar(scanner, found, kind);
  if (axis == kMostAxes) scanner.Fail(fmt::format("lists of more than {} levels", kMostAxes));
  const size_t begin = scanner.at();
  int64_t count = 0;
  const bool is_new = dims.size() == axis;
  if (is_new) dims.push_back(-1);
  for (scanner.Begin('['); scanner.More(']'); ++count) {
    Walk(scanner, found, dims, axis + 1);
  }
  if (is_new) dims[axis] = count;
  if (dims[axis] == count) return;
  scanner.GoBack(begin);
  scanner.Fail(fmt::format("lists of {} and of {} values in one", dims[axis], count), kNamesKeys);
}

void JsonInference::AddScalar(JsonScanner& scanner, FoundKey& found, JsonScanner::Kind kind) {
  const size_t begin = scanner.at();
  DType dtype = DType::kString;
  if (kind == JsonScanner::Kind::kText) {
    (void)scanner.Text(unescaped_);
  } else if (kind == JsonScanner::Kind::kNumber) {
    dtype = WholeNumber<int64_t>(scanner.Word()) ? DType::kInt64 : DType::kFloat;
  } else if (kind == JsonScanner::Kind::kTruth) {
    (void)scanner.Word();
    dtype = DType::kInt64;
  } else {
    scanner.Fail(
        kind == JsonScanner::Kind::kNull ? "null within a list" : "an object within an object",
        kNamesKeys);
  }
  const DType before = found.dtype.value_or(dtype);
  if (before != dtype && (before == DType::kString || dtype == DType::kString)) {
    scanner.GoBack(begin);
    scanner.Fail(fmt::format("expected {} as before, found {}", NameOf(before), NameOf(dtype)),
                 kNamesKeys);
  }
  found.dtype = before == DType::kFloat ? before : dtype;
}

}  // namespace tpuest::data
