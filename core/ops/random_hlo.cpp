#include "core/ops/random_hlo.h"

#include <array>
#include <numbers>

#include "core/base/random.h"
#include "core/ops/hlo_math.h"
#include "core/ops/random.h"

namespace tpuest::ops {
namespace {

HloTerm Xor(const HloTerm& x, const HloTerm& y) { return x.Binary("xor", y); }
HloTerm ShiftLeft(const HloTerm& x, int bits) { return x.Binary("shift_left", x.Like(bits)); }
HloTerm ShiftRight(const HloTerm& x, int bits) {
  return x.Binary("shift_right_logical", x.Like(bits));
}
HloTerm BitsAs(const HloTerm& x, DType dtype) {
  return {x.hlo(), x.hlo().Op("bitcast_convert", {x.value()}, "", "", dtype, x.shape())};
}
// Masks 64-bit numbers before converting them, because the result of a conversion that overflows
// depends on the device.
HloTerm LowWord(const HloTerm& x) { return x.Binary("and", x.Like(0xFFFFFFFF)).As(DType::kUint32); }
HloTerm HighWord(const HloTerm& x) { return ShiftRight(x, 32).As(DType::kUint32); }

using Words = std::array<HloTerm, 4>;

// Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3", section 3.4).
Words Philox(RandomKey key, Words c) {
  constexpr uint32_t kMultipliers[] = {0xD2511F53, 0xCD9E8D57};
  constexpr uint32_t kWeyl[] = {0x9E3779B9, 0xBB67AE85};
  constexpr int kRounds = 10;
  const uint64_t mixed = MixedKey(key);
  uint32_t k[] = {static_cast<uint32_t>(mixed), static_cast<uint32_t>(mixed >> 32)};
  for (int round = 0; round < kRounds; ++round) {
    const HloTerm first = c[0].As(DType::kUint64) * kMultipliers[0];
    const HloTerm second = c[2].As(DType::kUint64) * kMultipliers[1];
    c = {Xor(Xor(HighWord(second), c[1]), c[1].Like(k[0])), LowWord(second),
         Xor(Xor(HighWord(first), c[3]), c[3].Like(k[1])), LowWord(first)};
    for (int i = 0; i < 2; ++i) k[i] += kWeyl[i];
  }
  return c;
}

// The inputs of a node's random numbers: scalars of uint64.
struct Source {
  RandomKey key;
  HloTerm step;
  HloTerm first;        // first element in the global tensor
  bool aligned = true;  // `first` is a multiple of 4
};

Source SourceOf(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloTerm zero(hlo, hlo.Full(DType::kUint64, Shape(), 0));
  Source source{.key = {.seed = c.seed(), .name = RandomName(c.node(), c.seeds_by_name())},
                .step = {hlo, c.Step()},
                .first = zero};
  if (!c.OutputIsCut() || c.replicas() == 1) return source;
  const auto elements = c.OutputShape(0).elements();
  const HloTerm replica(hlo, hlo.Op("replica_id", {}, "", "", DType::kUint32, Shape()));
  source.first = replica.As(DType::kUint64) * static_cast<double>(elements);
  source.aligned = elements % 4 == 0;
  return source;
}

// Words first .. first + n - 1 of the global tensor, [n].
HloTerm WordsFrom(const Source& source, const HloTerm& first, int64_t n) {
  HloBuilder& hlo = first.hlo();
  // If `first` is not aligned, up to three words of the first counter are skipped.
  const int64_t counters = (source.aligned ? n + 3 : n + 6) / 4;
  const HloTerm numbers(hlo, hlo.Iota(DType::kUint64, Shape({counters}), 0));
  const HloTerm counter = numbers + ShiftRight(first, 2);
  const HloTerm zeros = LowWord(numbers) * 0;
  const Words words =
      Philox(source.key, {LowWord(counter), HighWord(counter), zeros + LowWord(source.step),
                          zeros + HighWord(source.step)});
  std::vector<HloValue> columns;
  for (const HloTerm& word : words) {
    columns.push_back(hlo.Reshape(word.value(), Shape({counters, 1})));
  }
  const HloValue all = hlo.Reshape(hlo.Concatenate(columns, 1), Shape({4 * counters}));
  if (source.aligned) return {hlo, hlo.Slice(all, {0}, {n}, {1})};
  const HloTerm begin = first.Binary("and", first.Like(3)).As(DType::kInt64);
  return {hlo,
          hlo.Op("dynamic_slice", {all, begin.value()},
                 fmt::format("{{slice_sizes = {}}}", HloArray({n})), "", all.dtype, Shape({n}))};
}

// The two words of each element, [n] each.
struct Pairs {
  HloTerm low, high;
};

Pairs PairsFrom(const Source& source, int64_t n) {
  HloBuilder& hlo = source.first.hlo();
  const HloTerm words = WordsFrom(source, ShiftLeft(source.first, 1), 2 * n);
  const auto column = [&](int64_t i) {
    return HloTerm(hlo, hlo.Slice(words.value(), {i}, {2 * n}, {2}));
  };
  return {column(0), column(1)};
}

HloTerm Bits64(const Pairs& pairs) {
  return ShiftLeft(pairs.high.As(DType::kUint64), 32).Binary("or", pairs.low.As(DType::kUint64));
}

// Box and Muller's sqrt(-2 log u) cos(2 pi v) with u = (low + 1) / 2^32 and v = high / 2^32. For u
// near 1 the logarithm is log1p(u - 1), which is accurate in float, and v ranges from -1/2 to 1/2.
HloTerm NormalOf(const Pairs& pairs, DType dtype) {
  const HloTerm u = (pairs.low.As(dtype) + 1) * 0x1p-32;
  const HloTerm missing = Not(pairs.low).As(dtype) * 0x1p-32;
  const HloTerm log = Where(u < 0.5, LogOf(u), Log1pOf(-missing));
  const HloTerm v = BitsAs(pairs.high, DType::kInt32).As(dtype) * 0x1p-32;
  return SqrtOf(log * -2) * (v * (2 * std::numbers::pi)).Unary("cosine");
}

DType NormalDType(const LowerContext& c) {
  return c.OutputDType(0) == DType::kDouble ? DType::kDouble : DType::kFloat;
}

void Finish(LowerContext& c, const HloTerm& flat) {
  c.Output(0, c.hlo().Reshape(flat.As(c.OutputDType(0)).value(), c.OutputShape(0)));
}

}  // namespace

void LowerRandomUniform(LowerContext& c) {
  const Source source = SourceOf(c);
  const int64_t n = c.OutputShape(0).elements();
  if (c.OutputDType(0) == DType::kDouble) {
    const HloTerm bits = ShiftRight(Bits64(PairsFrom(source, n)), 12);
    return Finish(c, bits.As(DType::kDouble) * 0x1p-52);
  }
  // A number has as many random bits as its mantissa.
  const int bits = c.OutputDType(0) == DType::kBfloat16 ? 7 : 23;
  const HloTerm words = ShiftRight(WordsFrom(source, source.first, n), 32 - bits);
  Finish(c, words.As(DType::kFloat) * (1.0 / (1 << bits)));
}

void LowerRandomNormal(LowerContext& c) {
  const Pairs pairs = PairsFrom(SourceOf(c), c.OutputShape(0).elements());
  Finish(c, NormalOf(pairs, NormalDType(c)));
}

// Redraws all numbers until none is out of bounds; numbers within bounds stay.
void LowerTruncatedNormal(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const int64_t n = c.OutputShape(0).elements();
  const DType dtype = NormalDType(c);
  const Source source = SourceOf(c);
  const auto outside = [](const HloTerm& x) { return AbsOf(x) > 2; };
  const HloFn any_outside = [&](const std::vector<HloValue>& state) {
    const HloTerm claims = outside({hlo, state[3]});
    return std::vector<HloValue>{hlo.Reduce("or", claims.value(), {0}, 0)};
  };
  const HloFn draw_again = [&](const std::vector<HloValue>& state) {
    const HloTerm attempt(hlo, state[0]);
    const HloTerm values(hlo, state[3]);
    Source again = source;
    again.step = HloTerm(hlo, state[1]) + ShiftLeft(attempt, 56);
    again.first = {hlo, state[2]};
    const HloTerm drawn = NormalOf(PairsFrom(again, n), dtype);
    return std::vector<HloValue>{(attempt + 1).value(), state[1], state[2],
                                 Where(outside(values), drawn, values).value()};
  };
  const HloTerm values = NormalOf(PairsFrom(source, n), dtype);
  const std::vector<HloValue> start = {source.step.Like(1).value(), source.step.value(),
                                       source.first.value(), values.value()};
  Finish(c, {hlo, hlo.While(start, any_outside, draw_again)[3]});
}

void LowerRandomIntegers(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const auto bits_of = [&](int input) {
    return BitsAs(HloTerm(hlo, c.Input(input)).As(DType::kInt64), DType::kUint64);
  };
  const HloTerm minval = bits_of(1);
  const HloTerm range = bits_of(2) - minval;
  const HloTerm bits = Bits64(PairsFrom(SourceOf(c), c.OutputShape(0).elements()));
  Finish(c, BitsAs(minval + bits.Binary("remainder", range), DType::kInt64));
}

}  // namespace tpuest::ops
