#pragma once
// The elements of numeric tensors: the C++ type of a dtype, and conversions between such types.

#include <cstdint>
#include <type_traits>

#include "core/tensor/dtype.h"

namespace tpuest {

// Calls fn.template operator()<T>() with the C++ type of a numeric or bool dtype; false if there is
// none.
template <class Fn>
bool DispatchDType(DType dtype, Fn&& fn) {
  switch (dtype) {
    case DType::kFloat:
      fn.template operator()<float>();
      return true;
    case DType::kDouble:
      fn.template operator()<double>();
      return true;
    case DType::kInt32:
      fn.template operator()<int32_t>();
      return true;
    case DType::kUint8:
      fn.template operator()<uint8_t>();
      return true;
    case DType::kInt16:
      fn.template operator()<int16_t>();
      return true;
    case DType::kInt8:
      fn.template operator()<int8_t>();
      return true;
    case DType::kInt64:
      fn.template operator()<int64_t>();
      return true;
    case DType::kBool:
      fn.template operator()<bool>();
      return true;
    case DType::kBfloat16:
      fn.template operator()<bfloat16>();
      return true;
    case DType::kUint16:
      fn.template operator()<uint16_t>();
      return true;
    case DType::kUint32:
      fn.template operator()<uint32_t>();
      return true;
    case DType::kUint64:
      fn.template operator()<uint64_t>();
      return true;
    default:
      return false;
  }
}

// static_cast, but through float to and from bfloat16.
template <class To, class From>
[[nodiscard]] To ConvertTo(From value) {
  if constexpr (std::is_same_v<From, bfloat16>) {
    return ConvertTo<To>(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, bfloat16>) {
    return bfloat16(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace tpuest
