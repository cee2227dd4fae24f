#include "cli/prepare/agreement/random_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/kernels/fingerprint.h"

namespace tpuest::cli {
namespace {

constexpr int64_t kLongest = 3;

// DType has TensorFlow's numbers.
DType DTypeOf(int64_t number) {
  const auto dtype = static_cast<DType>(number);
  switch (dtype) {
    case DType::kFloat:
    case DType::kDouble:
    case DType::kInt32:
    case DType::kInt64:
    case DType::kUint8:
    case DType::kString:
      return dtype;
    default:
      throw Error(Code::kData,
                  fmt::format("a feature has the unsupported TensorFlow type {}", number));
  }
}

// Draws random numbers for one element of a feature.
class Draw {
 public:
  Draw(uint64_t seed, const std::string& name, uint64_t element)
      : words_(Philox({.seed = seed, .name = Fingerprint64(name)}, 0, element)) {}

  [[nodiscard]] double uniform(size_t lane) const { return UniformFloat(words_[lane]); }
  [[nodiscard]] int64_t below(size_t lane, int64_t count) const {
    return std::min(count - 1, static_cast<int64_t>(uniform(lane) * static_cast<double>(count)));
  }

 private:
  std::array<uint32_t, 4> words_;
};

// Returns a word of the column, the empty string, or a word that it may not know.
std::string Word(const Draw& draw, const MigratedFeature& feature, bool may_be_absent) {
  if (may_be_absent && draw.uniform(0) < 0.1) return "";
  if (!feature.words.empty() && draw.uniform(0) < 0.8) {
    const auto count = static_cast<int64_t>(feature.words.size());
    return feature.words[static_cast<size_t>(draw.below(1, count))];
  }
  return fmt::format("word {}", draw.below(2, 100));
}

int64_t Whole(const Draw& draw, const MigratedFeature& feature, bool may_be_absent) {
  if (may_be_absent && !feature.is_number && draw.uniform(0) < 0.1) return -1;
  if (feature.categories > 0) return draw.below(1, feature.categories);
  if (!feature.numbers.empty() && draw.uniform(0) < 0.8) {
    const auto count = static_cast<int64_t>(feature.numbers.size());
    return std::llround(feature.numbers[static_cast<size_t>(draw.below(1, count))]) +
           (feature.is_number ? draw.below(2, 3) - 1 : 0);
  }
  return draw.below(2, 100);
}

// Returns a boundary of a bucket, a number next to one, or a normally distributed number: mostly
// positive, as counts and measurements are.
double Real(const Draw& draw, const MigratedFeature& feature) {
  const double sum = draw.uniform(1) + draw.uniform(2) + draw.uniform(3) - 1.5;
  if (!feature.numbers.empty() && draw.uniform(0) < 0.6) {
    const auto count = static_cast<int64_t>(feature.numbers.size());
    const double at = feature.numbers[static_cast<size_t>(draw.below(1, count))];
    return draw.uniform(0) < 0.2 ? at : at + sum;
  }
  return draw.uniform(0) < 0.8 ? std::exp(2 * sum) : 2 * sum;
}

Tensor Values(uint64_t seed, const std::string& name, int64_t number, const Shape& shape,
              const MigratedFeature& feature, bool may_be_absent) {
  const DType dtype = DTypeOf(number);
  const int64_t count = shape.elements();
  const auto draw = [&](int64_t i) { return Draw(seed, name, static_cast<uint64_t>(i)); };
  if (dtype == DType::kString) {
    std::vector<std::string> words;
    for (int64_t i = 0; i < count; ++i) words.push_back(Word(draw(i), feature, may_be_absent));
    return Tensor::Strings(shape, words);
  }
  if (dtype == DType::kFloat || dtype == DType::kDouble) {
    Tensor values(DType::kFloat, shape);
    for (int64_t i = 0; i < count; ++i) {
      values.data<float>()[i] = static_cast<float>(Real(draw(i), feature));
    }
    return dtype == DType::kFloat ? values : values.Cast(dtype);
  }
  Tensor values(DType::kInt64, shape);
  for (int64_t i = 0; i < count; ++i) {
    values.data<int64_t>()[i] =
        dtype == DType::kUint8 ? draw(i).below(1, 256) : Whole(draw(i), feature, may_be_absent);
  }
  return dtype == DType::kInt64 ? values : values.Cast(dtype);
}

// Returns the elements of a tensor at these positions, in one row.
Tensor ElementsAt(const Tensor& tensor, const std::vector<int64_t>& places) {
  const Shape shape({static_cast<int64_t>(places.size())});
  if (tensor.dtype() == DType::kString) {
    std::vector<std::string> words;
    for (const int64_t i : places) words.emplace_back(tensor.strings()[static_cast<size_t>(i)]);
    return Tensor::Strings(shape, words);
  }
  Tensor taken(tensor.dtype(), shape);
  const size_t bytes = SizeOf(tensor.dtype());
  for (size_t i = 0; i < places.size(); ++i) {
    std::memcpy(static_cast<char*>(taken.raw()) + i * bytes,
                static_cast<const char*>(tensor.raw()) + static_cast<size_t>(places[i]) * bytes,
                bytes);
  }
  return taken;
}

}  // namespace

RandomFeature RandomRows::Dense(const std::string& name, int64_t dtype,
                                const std::vector<int64_t>& shape,
                                const MigratedFeature& feature) const {
  std::vector<int64_t> whole = {rows_};
  whole.insert(whole.end(), shape.begin(), shape.end());
  return {Values(seed_, name, dtype, Shape(whole), feature, true), {}};
}

RandomFeature RandomRows::List(const std::string& name, int64_t dtype,
                               const MigratedFeature& feature) const {
  RandomFeature drawn{Values(seed_, name, dtype, Shape({rows_, kLongest}), feature, false), {}};
  for (int64_t row = 0; row < rows_; ++row) {
    drawn.lengths.push_back(
        Draw(seed_, "lengths", static_cast<uint64_t>(row)).below(0, kLongest + 1));
  }
  Tensor& values = drawn.values;
  for (int64_t row = 0; row < rows_; ++row) {
    for (int64_t i = drawn.lengths[static_cast<size_t>(row)]; i < kLongest; ++i) {
      const int64_t at = row * kLongest + i;
      if (values.dtype() == DType::kString) values.strings()[static_cast<size_t>(at)] = "";
      if (values.dtype() == DType::kFloat) values.data<float>()[at] = 0;
      if (values.dtype() == DType::kInt64) values.data<int64_t>()[at] = -1;
    }
  }
  return drawn;
}

SparseRows SparseOf(const RandomFeature& feature) {
  std::vector<int64_t> places;
  std::vector<int64_t> taken;
  const int64_t rows = feature.values.shape().dim(0);
  const int64_t longest = feature.values.shape().dim(1);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < feature.lengths[static_cast<size_t>(row)]; ++i) {
      places.insert(places.end(), {row, i});
      taken.push_back(row * longest + i);
    }
  }
  const auto count = static_cast<int64_t>(taken.size());
  return {Tensor::Of<int64_t>(Shape({count, 2}), places), ElementsAt(feature.values, taken),
          Tensor::Of<int64_t>(Shape({2}), {rows, longest})};
}

Tensor PresentOf(const RandomFeature& feature) {
  Tensor present(DType::kBool, feature.values.shape());
  const int64_t longest = feature.values.shape().dim(1);
  for (int64_t i = 0; i < present.elements(); ++i) {
    present.data<bool>()[i] =
        feature.lengths.empty() || i % longest < feature.lengths[static_cast<size_t>(i / longest)];
  }
  return present;
}

}  // namespace tpuest::cli
