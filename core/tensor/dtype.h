#pragma once
// Element types, with the numbers and names that TensorFlow gives them (types.proto). A tensor on
// the host has any but kResource; one of kHalf only carries its bytes, nothing computes with it.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tpuest {

enum class DType : int {
  kInvalid = 0,
  kFloat = 1,
  kDouble = 2,
  kInt32 = 3,
  kUint8 = 4,
  kInt16 = 5,
  kInt8 = 6,
  kString = 7,
  kInt64 = 9,
  kBool = 10,
  kBfloat16 = 14,
  kUint16 = 17,
  kHalf = 19,
  kResource = 20,
  kUint32 = 22,
  kUint64 = 23,
};

// Bytes of one element; 0 for strings and resources.
[[nodiscard]] size_t SizeOf(DType dtype);
// The name in job files and in tf.DType.name: "float32", "int64".
[[nodiscard]] std::string_view NameOf(DType dtype);
[[nodiscard]] std::optional<DType> DTypeFromName(std::string_view name);
[[nodiscard]] bool IsFloating(DType dtype);
[[nodiscard]] bool IsInteger(DType dtype);

// The upper half of a float, rounded to nearest even.
struct bfloat16 {
  uint16_t bits = 0;

  bfloat16() = default;
  explicit bfloat16(float value) {
    const auto word = std::bit_cast<uint32_t>(value);
    const bool is_nan = (word & 0x7FFFFFFFU) > 0x7F800000U;
    bits = is_nan ? static_cast<uint16_t>((word >> 16) | 0x40U)
                  : static_cast<uint16_t>((word + 0x7FFFU + ((word >> 16) & 1U)) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

template <class T>
struct DTypeOfHelper;
template <>
struct DTypeOfHelper<float> {
  static constexpr DType value = DType::kFloat;
};
template <>
struct DTypeOfHelper<double> {
  static constexpr DType value = DType::kDouble;
};
template <>
struct DTypeOfHelper<int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct DTypeOfHelper<uint8_t> {
  static constexpr DType value = DType::kUint8;
};
template <>
struct DTypeOfHelper<int16_t> {
  static constexpr DType value = DType::kInt16;
};
template <>
struct DTypeOfHelper<int8_t> {
  static constexpr DType value = DType::kInt8;
};
template <>
struct DTypeOfHelper<int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct DTypeOfHelper<bool> {
  static constexpr DType value = DType::kBool;
};
template <>
struct DTypeOfHelper<bfloat16> {
  static constexpr DType value = DType::kBfloat16;
};
template <>
struct DTypeOfHelper<uint16_t> {
  static constexpr DType value = DType::kUint16;
};
template <>
struct DTypeOfHelper<uint32_t> {
  static constexpr DType value = DType::kUint32;
};
template <>
struct DTypeOfHelper<uint64_t> {
  static constexpr DType value = DType::kUint64;
};
template <class T>
inline constexpr DType kDTypeOf = DTypeOfHelper<T>::value;

}  // namespace tpuest
