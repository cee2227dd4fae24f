#pragma once
// Parses values written in a job (YAML flow text; Raw in core/base/visit.h) into tensors.

#include <string>
#include <vector>

#include "core/base/visit.h"
#include "core/tensor/tensor.h"

namespace tpuest::data {

// A scalar (shape []) or evenly nested lists: shape [2, 3] for two lists of three scalars.
class Literal {
 public:
  struct Scalar {
    std::string text;
    bool quoted = false;
  };
  Literal(Shape shape, std::vector<Scalar> scalars)
      : shape_(std::move(shape)), scalars_(std::move(scalars)) {}

  [[nodiscard]] const Shape& shape() const { return shape_; }
  // A tensor of shape() as string, int64, int32, float32 or bool. Throws Error kUsage at `key` for
  // a value of another type.
  [[nodiscard]] Tensor As(DType dtype, const std::string& key) const;
  // A tensor of shape() with the type that tf.constant infers: bool; int32, or int64 if a value
  // does not fit; float32 for other numbers; string. Throws kUsage at `key` for mixed types.
  [[nodiscard]] Tensor Infer(const std::string& key) const;

 private:
  Shape shape_;
  std::vector<Scalar> scalars_;
};

// Throws kUsage at `key` for text that is not a literal and for lists of uneven length.
[[nodiscard]] Literal ParseLiteral(const Raw& raw, const std::string& key);

}  // namespace tpuest::data
