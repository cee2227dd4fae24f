// Comparisons and logic of two arguments.

#include <string_view>

#include "core/kernels/isa/binary_loop.h"

namespace tpuest::TPUEST_ISA {
namespace {

struct EqualFn {
  template <class T>
  static bool On(T a, T b) {
    return a == b;
  }
};
struct NotEqualFn {
  template <class T>
  static bool On(T a, T b) {
    return a != b;
  }
};
struct LessFn {
  template <class T>
  static bool On(T a, T b) {
    return a < b;
  }
};
struct LessEqualFn {
  template <class T>
  static bool On(T a, T b) {
    return a <= b;
  }
};
struct GreaterFn {
  template <class T>
  static bool On(T a, T b) {
    return a > b;
  }
};
struct GreaterEqualFn {
  template <class T>
  static bool On(T a, T b) {
    return a >= b;
  }
};
struct AndFn {
  static bool On(bool a, bool b) { return a && b; }
};
struct OrFn {
  static bool On(bool a, bool b) { return a || b; }
};

template <class Fn>
BinaryKernel AnyBinary(DType dtype) {
  if (dtype == DType::kBool) return BinaryLoop<Fn, bool>;
  if (dtype == DType::kInt8) return BinaryLoop<Fn, int8_t>;
  if (dtype == DType::kUint8) return BinaryLoop<Fn, uint8_t>;
  if (dtype == DType::kString) return BinaryLoop<Fn, std::string_view>;
  return NumberBinary<Fn>(dtype);
}

template <class Fn>
BinaryKernel Logic(DType dtype) {
  return dtype == DType::kBool ? BinaryLoop<Fn, bool> : nullptr;
}

}  // namespace

BinaryKernel FindComparison(Binary op, DType dtype) {
  switch (op) {
    case Binary::kEqual:
      return AnyBinary<EqualFn>(dtype);
    case Binary::kNotEqual:
      return AnyBinary<NotEqualFn>(dtype);
    case Binary::kLess:
      return NumberBinary<LessFn>(dtype);
    case Binary::kLessEqual:
      return NumberBinary<LessEqualFn>(dtype);
    case Binary::kGreater:
      return NumberBinary<GreaterFn>(dtype);
    case Binary::kGreaterEqual:
      return NumberBinary<GreaterEqualFn>(dtype);
    case Binary::kAnd:
      return Logic<AndFn>(dtype);
    case Binary::kOr:
      return Logic<OrFn>(dtype);
    default:
      return nullptr;
  }
}

}  // namespace tpuest::TPUEST_ISA
