#include "core/tensor/dtype.h"

#include <array>

namespace tpuest {
namespace {

struct Row {
  DType dtype;
  size_t size;
  std::string_view name;
  std::string_view signature_name;
};

constexpr std::array kRows = {
    Row{DType::kFloat, 4, "float32", "float"},
    Row{DType::kDouble, 8, "float64", "double"},
    Row{DType::kInt32, 4, "int32", "int32"},
    Row{DType::kUint8, 1, "uint8", "uint8"},
    Row{DType::kInt16, 2, "int16", "int16"},
    Row{DType::kInt8, 1, "int8", "int8"},
    Row{DType::kString, 0, "string", "string"},
    Row{DType::kInt64, 8, "int64", "int64"},
    Row{DType::kBool, 1, "bool", "bool"},
    Row{DType::kBfloat16, 2, "bfloat16", "bfloat16"},
    Row{DType::kUint16, 2, "uint16", "uint16"},
    Row{DType::kHalf, 2, "float16", "half"},
    Row{DType::kResource, 0, "resource", "resource"},
    Row{DType::kUint32, 4, "uint32", "uint32"},
    Row{DType::kUint64, 8, "uint64", "uint64"},
};

const Row* Find(DType dtype) {
  for (const Row& row : kRows) {
    if (row.dtype == dtype) return &row;
  }
  return nullptr;
}

}  // namespace

size_t SizeOf(DType dtype) {
  const Row* const row = Find(dtype);
  return row == nullptr ? 0 : row->size;
}

std::string_view NameOf(DType dtype) {
  const Row* const row = Find(dtype);
  return row == nullptr ? "invalid" : row->name;
}

std::optional<DType> DTypeFromName(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name || row.signature_name == name) return row.dtype;
  }
  return std::nullopt;
}

bool IsFloating(DType dtype) {
  return dtype == DType::kFloat || dtype == DType::kDouble || dtype == DType::kBfloat16 ||
         dtype == DType::kHalf;
}

bool IsInteger(DType dtype) {
  return SizeOf(dtype) != 0 && !IsFloating(dtype) && dtype != DType::kBool;
}

}  // namespace tpuest
