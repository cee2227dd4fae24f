#include "data/examples/example_encoder.h"

#include <algorithm>

#include "core/ops/elementwise.h"
#include "data/examples/map_nodes.h"

namespace tpuest::data {
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

void WriteFeature(ExampleWriter& writer, std::string_view key, DType as, DType dtype,
                  const Values& values) {
  const auto count = static_cast<size_t>(values.count);
  if (dtype == DType::kString) {
    return writer.Bytes(key, {static_cast<const std::string_view*>(values.data), count});
  }
  DispatchDType(dtype, [&]<class T>() {
    const auto* const from = static_cast<const T*>(values.data);
    // The argument only selects the type.
    const auto converted = [&]<class To>(To /*of*/) {
      std::vector<To> numbers(count);
      for (size_t i = 0; i < count; ++i) numbers[i] = ConvertTo<To>(from[i]);
      return numbers;
    };
    if (as == DType::kFloat) {
      writer.Floats(key, converted(float{}));
    } else {
      writer.Ints(key, converted(int64_t{}));
    }
  });
}

bool IsDefault(const RequestFeature& feature, DType dtype, const Values& values) {
  const Tensor& value = feature.default_value;
  if (!value.valid() || values.count != value.elements()) return false;
  const auto count = static_cast<size_t>(values.count);
  if (dtype == DType::kString) {
    if (value.dtype() != DType::kString) return false;
    const auto* const texts = static_cast<const std::string_view*>(values.data);
    return std::equal(texts, texts + count, value.strings().begin());
  }
  if (value.dtype() == DType::kString) return false;
  bool is_default = true;
  DispatchDType(dtype, [&]<class T>() {
    const auto* const numbers = static_cast<const T*>(values.data);
    for (size_t i = 0; i < count; ++i) {
      is_default =
          is_default && ConvertTo<double>(numbers[i]) == value.AsDouble(static_cast<int64_t>(i));
    }
  });
  return is_default;
}

ExampleEncoder::ExampleEncoder(std::vector<TensorSpec> columns, RequestFeatures requests)
    : columns_(std::move(columns)), requests_(std::move(requests)) {
  for (const TensorSpec& column : columns_) {
    EncodedColumn as = EncodingOf(column);
    const auto wanted = requests_.find(column.name);
    // A string stays a string, whatever type is requested: only numbers are converted.
    const bool numbers = as.dtype != DType::kString;
    if (numbers && wanted != requests_.end() && wanted->second.dtype != DType::kString) {
      as.dtype = wanted->second.dtype;
    }
    encoded_.push_back(std::move(as));
  }
}

std::string ExampleEncoder::Encode(const Row& row) {
  for (size_t i = 0; i < columns_.size(); ++i) Add(columns_[i], encoded_[i], row.columns[i]);
  return writer_.Finish();
}

void ExampleEncoder::Add(const TensorSpec& column, const EncodedColumn& as, const Values& values) {
  const auto count = static_cast<size_t>(values.count);
  if (IsRawBytes(column)) {
    return writer_.Bytes(as.key, std::string_view(static_cast<const char*>(values.data), count));
  }
  const auto request = requests_.find(column.name);
  if (request != requests_.end() && IsDefault(request->second, column.dtype, values)) return;
  WriteFeature(writer_, as.key, as.dtype, column.dtype, values);
}

}  // namespace tpuest::data
