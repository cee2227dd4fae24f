#pragma once
// Assembles bytes that arrive in arbitrary pieces into whole rows of float32.

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tpuest {

class RowPieces {
 public:
  // Consumes rows first .. first + n - 1, each of `width` numbers.
  using Take = std::function<void(int64_t first, int64_t n, const float* values)>;
  RowPieces(int64_t width, Take take) : width_(width), take_(std::move(take)) {}

  void operator()(std::string_view bytes) {
    const size_t row = static_cast<size_t>(width_) * sizeof(float);
    rest_.append(bytes);
    const auto n = static_cast<int64_t>(rest_.size() / row);
    values_.resize(static_cast<size_t>(n * width_));
    std::memcpy(values_.data(), rest_.data(), static_cast<size_t>(n) * row);
    rest_.erase(0, static_cast<size_t>(n) * row);
    if (n > 0) take_(next_, n, values_.data());
    next_ += n;
  }

 private:
  int64_t width_;
  Take take_;
  std::string rest_;
  std::vector<float> values_;
  int64_t next_ = 0;
};

}  // namespace tpuest
