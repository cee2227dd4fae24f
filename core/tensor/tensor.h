#pragma once
// A tensor on the host: dense, row-major. Copies share the buffer; Clone does not.

#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/dtype.h"
#include "core/tensor/elements.h"
#include "core/tensor/shape.h"

namespace tpuest {

// Memory that string views point into, kept alive by the tensors that use it.
using StringArena = std::shared_ptr<const void>;

class Tensor {
 public:
  Tensor() = default;  // invalid: dtype kInvalid
  // A zeroed buffer, aligned to 64 bytes; for kString, empty strings.
  Tensor(DType dtype, Shape shape);

  template <class T>
  [[nodiscard]] static Tensor Of(Shape shape, const std::vector<T>& values) {
    Tensor tensor(kDTypeOf<T>, std::move(shape));
    Check(static_cast<int64_t>(values.size()) == tensor.elements());
    for (size_t i = 0; i < values.size(); ++i) tensor.data<T>()[i] = values[i];
    return tensor;
  }
  template <class T>
  [[nodiscard]] static Tensor Scalar(T value) {
    Tensor tensor(kDTypeOf<T>, Shape());
    *tensor.data<T>() = value;
    return tensor;
  }
  // Copies the strings into a new arena.
  [[nodiscard]] static Tensor Strings(Shape shape, const std::vector<std::string>& values);
  // Views into an existing arena.
  [[nodiscard]] static Tensor Views(Shape shape, std::vector<std::string_view> views,
                                    StringArena arena);
  // Empty views, for the caller to point into the arena.
  [[nodiscard]] static Tensor Views(Shape shape, StringArena arena);

  [[nodiscard]] bool valid() const { return dtype_ != DType::kInvalid; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] int64_t elements() const { return elements_; }
  // Bytes of the buffer; 0 for strings.
  [[nodiscard]] size_t bytes() const { return static_cast<size_t>(elements_) * SizeOf(dtype_); }

  [[nodiscard]] void* raw() { return buffer_.get(); }
  [[nodiscard]] const void* raw() const { return buffer_.get(); }
  template <class T>
  [[nodiscard]] T* data() {
    Check(dtype_ == kDTypeOf<T>, "a {} tensor is read as {}", NameOf(dtype_), NameOf(kDTypeOf<T>));
    return static_cast<T*>(raw());
  }
  template <class T>
  [[nodiscard]] const T* data() const {
    return const_cast<Tensor*>(this)->data<T>();
  }
  template <class T>
  [[nodiscard]] std::span<const T> values() const {
    return {data<T>(), static_cast<size_t>(elements_)};
  }
  // The strings of a kString tensor, row-major.
  [[nodiscard]] std::span<std::string_view> strings();
  [[nodiscard]] std::span<const std::string_view> strings() const;
  [[nodiscard]] const StringArena& arena() const { return arena_; }

  // No other tensor shares the buffer, so it may be written again: whoever held it has let go, and
  // this thread sees what they did before.
  [[nodiscard]] bool Unshared() const;
  [[nodiscard]] Tensor Clone() const;
  // A view of this buffer under another shape of as many elements.
  [[nodiscard]] Tensor Reshaped(Shape shape) const;
  // Rows begin..end-1 along axis 0, sharing the buffer.
  [[nodiscard]] Tensor Rows(int64_t begin, int64_t end) const;
  // Element i of a numeric or bool tensor as a double.
  [[nodiscard]] double AsDouble(int64_t i) const;
  // The values as another numeric type, by C++ conversion (bfloat16 rounds to nearest even).
  [[nodiscard]] Tensor Cast(DType dtype) const;

 private:
  DType dtype_ = DType::kInvalid;
  Shape shape_;
  int64_t elements_ = 0;
  std::shared_ptr<void> buffer_;  // for strings: an array of string_view
  StringArena arena_;
};

// True if dtype, shape and bytes (of strings: contents) are equal; so NaN equals itself, and 0 is
// not -0.
[[nodiscard]] bool SameBits(const Tensor& a, const Tensor& b);

}  // namespace tpuest
