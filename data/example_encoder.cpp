#include "data/example_encoder.h"

#include "core/ops/elementwise.h"
#include "data/map_nodes.h"

namespace tpuest {
namespace {

bool IsRawBytes(const TensorSpec& column) {
  return column.dtype == DType::kUint8 && column.shape.rank() > 0;
}

}  // namespace

EncodedColumn EncodingOf(const TensorSpec& column) {
  if (IsRawBytes(column)) return {column.name + "_raw", DType::kString, Shape()};
  if (column.dtype == DType::kString || column.dtype == DType::kFloat) {
    return {column.name, column.dtype, column.shape};
  }
  if (IsInteger(column.dtype) || column.dtype == DType::kBool) {
    return {column.name, DType::kInt64, column.shape};
  }
  throw Error(Code::kUsage, fmt::format("column \"{}\" is {}; a tf.Example holds bytes, float32 "
                                        "and int64",
                                        column.name, NameOf(column.dtype)));
}

Value DecodedNodes(const TensorSpec& column, Value feature) {
  if (IsRawBytes(column)) return RawNodes(feature, column.dtype, column.shape);
  if (column.dtype == DType::kString) return feature;
  return ops::Cast(feature, column.dtype);
}

ExampleEncoder::ExampleEncoder(std::vector<TensorSpec> columns) : columns_(std::move(columns)) {
  for (const TensorSpec& column : columns_) encoded_.push_back(EncodingOf(column));
}

std::string ExampleEncoder::Encode(const Row& row) {
  for (size_t i = 0; i < columns_.size(); ++i) Add(columns_[i], encoded_[i].key, row.columns[i]);
  return writer_.Finish();
}

void ExampleEncoder::Add(const TensorSpec& column, const std::string& key, const Values& values) {
  const auto count = static_cast<size_t>(values.count);
  if (IsRawBytes(column)) {
    return writer_.Bytes(key, std::string_view(static_cast<const char*>(values.data), count));
  }
  if (column.dtype == DType::kString) {
    return writer_.Bytes(key, {static_cast<const std::string_view*>(values.data), count});
  }
  if (column.dtype == DType::kFloat) {
    return writer_.Floats(key, {static_cast<const float*>(values.data), count});
  }
  std::vector<int64_t> numbers(count);
  DispatchDType(column.dtype, [&]<class T>() {
    const auto* const from = static_cast<const T*>(values.data);
    for (size_t i = 0; i < count; ++i) numbers[i] = ConvertTo<int64_t>(from[i]);
  });
  writer_.Ints(key, numbers);
}

}  // namespace tpuest
