#pragma once
// Dimensions of a tensor. In a Graph a dimension, or the rank itself, may be unknown.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

namespace tpuest {

inline constexpr int64_t kUnknownDim = -1;

class Shape {
 public:
  Shape() = default;  // a scalar
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}
  [[nodiscard]] static Shape UnknownRank() {
    Shape shape;
    shape.known_rank_ = false;
    return shape;
  }

  [[nodiscard]] bool known_rank() const { return known_rank_; }
  [[nodiscard]] int rank() const { return static_cast<int>(dims_.size()); }
  [[nodiscard]] const std::vector<int64_t>& dims() const { return dims_; }
  // A negative axis counts from the end.
  [[nodiscard]] int64_t dim(int axis) const {
    return dims_[static_cast<size_t>(axis < 0 ? axis + rank() : axis)];
  }
  void set_dim(int axis, int64_t size) {
    dims_[static_cast<size_t>(axis < 0 ? axis + rank() : axis)] = size;
  }
  // True if the rank and every dimension are known.
  [[nodiscard]] bool fully_known() const;
  // Product of the dimensions (1 for a scalar); fully_known() must hold.
  [[nodiscard]] int64_t elements() const;
  // "[32,784]", "[?,10]", "[]", "<unknown>".
  [[nodiscard]] std::string Text() const;
  bool operator==(const Shape&) const = default;

 private:
  std::vector<int64_t> dims_;
  bool known_rank_ = true;
};

// True if the two can describe one tensor: ranks agree, and dimensions where both are known.
[[nodiscard]] bool Compatible(const Shape& a, const Shape& b);

}  // namespace tpuest
