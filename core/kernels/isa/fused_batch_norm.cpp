#include "core/kernels/isa/fused_batch_norm.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/kernels/isa/isa_vector.h"

namespace tpuest::TPUEST_ISA {
namespace {

// If rows have few channels, several rows are processed side by side so that a loop over lanes is
// long: lane l is channel l % channels. Rows with very many channels are cut into runs.
constexpr int64_t kFewLanes = 256;
constexpr int64_t kMostLanes = 1024;

struct ChannelLanes {
  int64_t first = 0;  // channel of lane 0
  int64_t channels = 0;
  int64_t together = 1;  // rows side by side
  [[nodiscard]] int64_t width() const { return channels * together; }
};

// Calls fn(lanes) for the runs of channels of a matrix.
template <class Fn>
void ForEachRunOfLanes(int64_t channels, Fn&& fn) {
  if (channels == 0) return;
  if (channels < kFewLanes) return fn(ChannelLanes{0, channels, kFewLanes / channels});
  for (int64_t first = 0; first < channels; first += kMostLanes) {
    fn(ChannelLanes{first, std::min(kMostLanes, channels - first), 1});
  }
}

// Fills an array of lanes with the values of `of` for their channels.
template <class Fn>
void Spread(const ChannelLanes& lanes, float* to, Fn&& of) {
  for (int64_t c = 0; c < lanes.channels; ++c) to[c] = of(lanes.first + c);
  for (int64_t l = lanes.channels; l < lanes.width(); ++l) to[l] = to[l - lanes.channels];
}

// Calls fn(first element, lanes in use) for each row, or each group of rows side by side.
template <class Fn>
void ForEachRow(const ChannelLanes& lanes, int64_t rows, int64_t channels, Fn&& fn) {
  for (int64_t r = 0; r < rows; r += lanes.together) {
    fn(r * channels + lanes.first, std::min(lanes.together, rows - r) * lanes.channels);
  }
}

constexpr int64_t kRun = 16;  // rows that are added in float before their sum is added in double

// Rows of lanes, `step` elements apart.
struct RowsOfLanes {
  int64_t begin;
  int64_t step;
  int64_t rows;
};

// Two sums over the rows: totals[0] gets the sums by lane of the vectors a, and totals[1] of the
// vectors b, that parts(element, lane, how, a, b) computes. Reads memory in its order.
template <class Parts>
void AddRun(const RowsOfLanes& rows, int64_t width, const Parts& parts,
            double* const (&totals)[2]) {
  float sums[2][kMostLanes];
  for (auto& sum : sums) std::fill_n(sum, width, 0.0F);
  for (int64_t r = 0; r < rows.rows; ++r) {
    const int64_t at = rows.begin + r * rows.step;
    ForEachVector(
        width, [&](int64_t lane, auto how) __attribute__((always_inline)) {
          FloatVector add[2];
          parts(at + lane, lane, how, add[0], add[1]);
          for (int k = 0; k < 2; ++k) {
            FloatVector sum;
            Load(sums[k] + lane, how, sum);
            sum += add[k];
            Store(sum, how, sums[k] + lane);
          }
        });
  }
  for (int k = 0; k < 2; ++k) {
    for (int64_t l = 0; l < width; ++l) totals[k][l] += static_cast<double>(sums[k][l]);
  }
}

template <class Parts>
void AddRows(const ChannelLanes& lanes, int64_t rows, int64_t channels, const Parts& parts,
             double* const (&totals)[2]) {
  for (double* const total : totals) std::fill_n(total, lanes.width(), 0.0);
  const int64_t whole = rows / lanes.together;  // groups of rows side by side
  const int64_t step = lanes.together * channels;
  for (int64_t r = 0; r < whole; r += kRun) {
    AddRun({r * step + lanes.first, step, std::min(kRun, whole - r)}, lanes.width(), parts, totals);
  }
  const int64_t rest = rows - whole * lanes.together;
  if (rest > 0) AddRun({whole * step + lanes.first, step, 1}, rest * channels, parts, totals);
}

// Adds the lanes of a channel in order.
double TotalOf(const ChannelLanes& lanes, const double* total, int64_t channel) {
  double sum = 0;
  for (int64_t l = channel - lanes.first; l < lanes.width(); l += lanes.channels) sum += total[l];
  return sum;
}

template <class T>
void Moments(const void* x_raw, double* sum, double* square_sum, int64_t rows, int64_t channels) {
  const T* const x = static_cast<const T*>(x_raw);
  ForEachRunOfLanes(channels, [&](const ChannelLanes& lanes) {
    float about[kMostLanes];
    double first[kMostLanes];
    double second[kMostLanes];
    Spread(lanes, about, [&](int64_t c) { return ConvertTo<float>(x[c]); });
    const auto parts = [&](int64_t i, int64_t lane, auto how, FloatVector& a, FloatVector& b)
        __attribute__((always_inline)) {
      FloatVector origin;
      Load(x + i, how, a);
      Load(about + lane, how, origin);
      a -= origin;
      b = a * a;
    };
    AddRows(lanes, rows, channels, parts, {first, second});
    for (int64_t c = lanes.first; c < lanes.first + lanes.channels; ++c) {
      const double s = TotalOf(lanes, first, c);
      const double origin = ConvertTo<double>(x[c]);
      const auto n = static_cast<double>(rows);
      sum[c] = s + n * origin;
      square_sum[c] = TotalOf(lanes, second, c) + origin * (2 * s + n * origin);
    }
  });
}

float InverseDeviationAt(const NormInputs& in, int64_t c) {
  return 1.0F /
         std::sqrt(static_cast<const float*>(in.variance)[c] + static_cast<float>(in.epsilon));
}

// The factors by lane that a pass over the rows reads.
struct Factors {
  float mean[kMostLanes];
  float factor[kMostLanes];  // scale / deviation
  float offset[kMostLanes];

  Factors(const ChannelLanes& lanes, const NormInputs& in) {
    Spread(lanes, mean, [&](int64_t c) { return static_cast<const float*>(in.mean)[c]; });
    Spread(lanes, offset, [&](int64_t c) { return static_cast<const float*>(in.offset)[c]; });
    Spread(lanes, factor, [&](int64_t c) {
      return static_cast<const float*>(in.scale)[c] * InverseDeviationAt(in, c);
    });
  }
};

// Computes y = centered * factor + offset, and `centered`, for the vector x at a lane.
template <class How>
[[gnu::always_inline]] inline void Normalise(const Factors& factors, int64_t lane, How how,
                                             const FloatVector& x, FloatVector& centered,
                                             FloatVector& y) {
  FloatVector mean;
  FloatVector factor;
  FloatVector offset;
  Load(factors.mean + lane, how, mean);
  Load(factors.factor + lane, how, factor);
  Load(factors.offset + lane, how, offset);
  centered = x - mean;
  y = centered * factor + offset;
}

// As in activation.h; NaN stays NaN.
template <NormActivation kActivation>
[[gnu::always_inline]] inline void Activate(FloatVector& y) {
  if constexpr (kActivation == NormActivation::kNone) return;
  const FloatVector zero = {};
  y = y <= zero ? zero : y;
  if constexpr (kActivation == NormActivation::kRelu6) {
    const FloatVector six = zero + 6.0F;
    y = y >= six ? six : y;
  }
}

// Sets dy to 0 where the activation of y, rounded to T, blocks it. A y that rounds to 0 or 6 is at
// the bound; for bfloat16 the bounds are half way to the neighbouring numbers.
template <class T, NormActivation kActivation>
[[gnu::always_inline]] inline void Gate(const FloatVector& y, FloatVector& dy) {
  if constexpr (kActivation == NormActivation::kNone) return;
  constexpr bool kIsHalf = std::is_same_v<T, bfloat16>;
  const FloatVector zero = {};
  const FloatVector least = zero + (kIsHalf ? 0x1p-134F : 0.0F);
  dy = y > least ? dy : zero;
  if constexpr (kActivation == NormActivation::kRelu6) {
    const FloatVector most = zero + (kIsHalf ? 5.984375F : 6.0F);
    dy = y < most ? dy : zero;
  }
}

template <class T, NormActivation kActivation>
void FusedApply(const NormInputs& in, const void* side_raw, void* y_raw) {
  const T* const x = static_cast<const T*>(in.x);
  const T* const side = static_cast<const T*>(side_raw);
  T* const y = static_cast<T*>(y_raw);
  ForEachRunOfLanes(in.channels, [&](const ChannelLanes& lanes) {
    const Factors factors(lanes, in);
    ForEachRow(lanes, in.rows, in.channels, [&](int64_t at, int64_t n) {
      ForEachVector(
          n, [&](int64_t lane, auto how) __attribute__((always_inline)) {
            FloatVector numbers;
            FloatVector centered;
            FloatVector result;
            Load(x + at + lane, how, numbers);
            Normalise(factors, lane, how, numbers, centered, result);
            if (side != nullptr) {
              FloatVector other;
              Load(side + at + lane, how, other);
              RoundTo<T>(result);
              result += other;
              RoundTo<T>(result);
            }
            Activate<kActivation>(result);
            Store(result, how, y + at + lane);
          });
    });
  });
}

template <class T, NormActivation kActivation>
void FusedGradSums(const NormInputs& in, const void* dy_raw, void* dy_sum, void* dot) {
  const T* const x = static_cast<const T*>(in.x);
  const T* const dy = static_cast<const T*>(dy_raw);
  ForEachRunOfLanes(in.channels, [&](const ChannelLanes& lanes) {
    const Factors factors(lanes, in);
    double first[kMostLanes];
    double second[kMostLanes];
    const auto parts = [&](int64_t i, int64_t lane, auto how, FloatVector& a, FloatVector& b)
        __attribute__((always_inline)) {
      FloatVector numbers;
      FloatVector centered;
      FloatVector y;
      Load(x + i, how, numbers);
      Load(dy + i, how, a);
      Normalise(factors, lane, how, numbers, centered, y);
      Gate<T, kActivation>(y, a);
      b = a * centered;
    };
    AddRows(lanes, in.rows, in.channels, parts, {first, second});
    for (int64_t c = lanes.first; c < lanes.first + lanes.channels; ++c) {
      static_cast<float*>(dy_sum)[c] = static_cast<float>(TotalOf(lanes, first, c));
      static_cast<float*>(dot)[c] =
          static_cast<float>(TotalOf(lanes, second, c)) * InverseDeviationAt(in, c);
    }
  });
}

template <class T, NormActivation kActivation>
void FusedGradApply(const NormInputs& in, const void* dy_raw, const void* dy_sum, const void* dot,
                    int64_t count, void* dx_raw) {
  const T* const x = static_cast<const T*>(in.x);
  const T* const dy = static_cast<const T*>(dy_raw);
  T* const dx = static_cast<T*>(dx_raw);
  const float share = count == 0 ? 0.0F : 1.0F / static_cast<float>(count);
  ForEachRunOfLanes(in.channels, [&](const ChannelLanes& lanes) {
    const Factors factors(lanes, in);
    // dx = factor * (dy - level - (x - mean) * slope).
    float level[kMostLanes];
    float slope[kMostLanes];
    Spread(lanes, level, [&](int64_t c) { return static_cast<const float*>(dy_sum)[c] * share; });
    Spread(lanes, slope, [&](int64_t c) {
      return static_cast<const float*>(dot)[c] * share * InverseDeviationAt(in, c);
    });
    ForEachRow(lanes, in.rows, in.channels, [&](int64_t at, int64_t n) {
      ForEachVector(
          n, [&](int64_t lane, auto how) __attribute__((always_inline)) {
            FloatVector numbers;
            FloatVector d;
            FloatVector centered;
            FloatVector y;
            FloatVector levels;
            FloatVector slopes;
            FloatVector scales;
            Load(x + at + lane, how, numbers);
            Load(dy + at + lane, how, d);
            Load(level + lane, how, levels);
            Load(slope + lane, how, slopes);
            Load(factors.factor + lane, how, scales);
            Normalise(factors, lane, how, numbers, centered, y);
            Gate<T, kActivation>(y, d);
            Store(scales * (d - levels - centered * slopes), how, dx + at + lane);
          });
    });
  });
}

template <class T, NormActivation kActivation>
constexpr FusedBatchNormKernels kFused = {Moments<T>, FusedApply<T, kActivation>,
                                          FusedGradSums<T, kActivation>,
                                          FusedGradApply<T, kActivation>};

template <class T>
FusedBatchNormKernels OfType(NormActivation activation) {
  switch (activation) {
    case NormActivation::kRelu:
      return kFused<T, NormActivation::kRelu>;
    case NormActivation::kRelu6:
      return kFused<T, NormActivation::kRelu6>;
    case NormActivation::kNone:
      break;
  }
  return kFused<T, NormActivation::kNone>;
}

}  // namespace

FusedBatchNormKernels FindFusedBatchNorm(DType dtype, NormActivation activation) {
  if (dtype == DType::kBfloat16) return OfType<bfloat16>(activation);
  if (dtype == DType::kFloat) return OfType<float>(activation);
  return {};
}

}  // namespace tpuest::TPUEST_ISA
