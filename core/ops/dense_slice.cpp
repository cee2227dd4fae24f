#include "core/ops/dense_slice.h"

#include <algorithm>

namespace tpuest::ops {
namespace {

struct Masks {
  explicit Masks(const Node& node)
      : begin(node.Attr<int64_t>("begin_mask")),
        end(node.Attr<int64_t>("end_mask")),
        ellipsis(node.Attr<int64_t>("ellipsis_mask")),
        new_axis(node.Attr<int64_t>("new_axis_mask")),
        shrink(node.Attr<int64_t>("shrink_axis_mask")) {}
  int64_t begin, end, ellipsis, new_axis, shrink;
};

bool Bit(int64_t mask, size_t i) { return i < 64 && (mask >> i & 1) != 0; }

class Resolver {
 public:
  Resolver(const Node& node, const Shape& shape, const std::vector<int64_t>& begin,
           const std::vector<int64_t>& end, const std::vector<int64_t>& strides)
      : masks_(node), shape_(shape), begin_(begin), end_(end), strides_(strides) {}

  DenseSlice Run() {
    const size_t positions = begin_.size();
    if (end_.size() != positions || strides_.size() != positions) {
      slice_.fault = "begin, end and strides have different lengths";
      return slice_;
    }
    int64_t named = 0;  // axes that positions other than the ellipsis select
    int ellipses = 0;
    for (size_t i = 0; i < positions; ++i) {
      ellipses += Bit(masks_.ellipsis, i) ? 1 : 0;
      named += !Bit(masks_.ellipsis, i) && !Bit(masks_.new_axis, i) ? 1 : 0;
    }
    if (ellipses > 1) {
      slice_.fault = fmt::format("found {} ellipses, expected at most one", ellipses);
      return slice_;
    }
    if (named > shape_.rank()) {
      slice_.fault = fmt::format("found {} positions for {}", named, shape_.Text());
      return slice_;
    }
    for (size_t i = 0; i < positions && slice_.fault.empty(); ++i) {
      if (Bit(masks_.ellipsis, i)) {
        for (int64_t left = shape_.rank() - named; left > 0; --left) TakeAll();
      } else if (Bit(masks_.new_axis, i)) {
        out_.push_back(1);
      } else {
        Take(i);
      }
    }
    while (slice_.fault.empty() && Axis() < shape_.rank()) TakeAll();
    slice_.out = Shape(out_);
    return slice_;
  }

 private:
  [[nodiscard]] int Axis() const { return static_cast<int>(slice_.begin.size()); }

  void Push(int64_t begin, int64_t stride, int64_t size, bool shrunk) {
    if (Axis() == 0) slice_.keeps_first = out_.empty() && !shrunk;
    slice_.begin.push_back(begin);
    // With at most one element the stride is never used, so it may be any number.
    slice_.strides.push_back(size == 0 || size == 1 ? 1 : stride);
    slice_.sizes.push_back(size);
    if (!shrunk) out_.push_back(size);
  }

  void TakeAll() { Push(0, 1, shape_.dim(Axis()), false); }

  void Take(size_t i) {
    const int64_t size = shape_.dim(Axis());
    const int64_t stride = strides_[i];
    if (stride == 0) {
      slice_.fault = fmt::format("strides[{}] is 0", i);
    } else if (Bit(masks_.shrink, i)) {
      TakeOne(begin_[i], size);
    } else if (size == kUnknownDim) {
      Push(begin_[i], stride, kUnknownDim, false);
    } else {
      TakeRange(i, size, stride);
    }
  }

  void TakeOne(int64_t begin, int64_t size) {
    const int64_t at = begin < 0 && size != kUnknownDim ? begin + size : begin;
    if (size != kUnknownDim && (at < 0 || at >= size)) {
      slice_.fault =
          fmt::format("index {} is out of range for axis {} of {}", begin, Axis(), shape_.Text());
      return;
    }
    Push(at, 1, 1, true);
  }

  void TakeRange(size_t i, int64_t size, int64_t stride) {
    const int64_t low = stride > 0 ? 0 : -1;
    const int64_t high = stride > 0 ? size : size - 1;
    const auto clip = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, low, high); };
    const int64_t begin = Bit(masks_.begin, i) ? (stride > 0 ? 0 : size - 1) : clip(begin_[i]);
    const int64_t end = Bit(masks_.end, i) ? (stride > 0 ? size : -1) : clip(end_[i]);
    const int64_t span = end - begin;
    const bool empty = span == 0 || (span < 0) != (stride < 0);
    Push(begin, stride, empty ? 0 : span / stride + (span % stride != 0 ? 1 : 0), false);
  }

  const Masks masks_;
  const Shape& shape_;
  const std::vector<int64_t>& begin_;
  const std::vector<int64_t>& end_;
  const std::vector<int64_t>& strides_;
  std::vector<int64_t> out_;
  DenseSlice slice_;
};

}  // namespace

DenseSlice ResolveSlice(const Node& node, const Shape& shape, const std::vector<int64_t>& begin,
                        const std::vector<int64_t>& end, const std::vector<int64_t>& strides) {
  return Resolver(node, shape, begin, end, strides).Run();
}

}  // namespace tpuest::ops
