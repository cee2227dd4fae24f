#include "core/ops/row_initial.h"

#include <algorithm>
#include <array>
#include <numbers>
#include <vector>

#include "core/base/random.h"
#include "core/kernels/isa/binary.h"
#include "core/kernels/random_fill.h"
#include "core/ops/array.h"
#include "core/ops/bits.h"
#include "core/ops/elementwise.h"
#include "core/ops/random.h"

namespace tpuest::ops {
namespace {

struct InitialStep {
  Binary op = Binary::kMul;
  float number = 0;
};

// Describes how an initial value is computed from its random numbers.
struct InitialDraw {
  Distribution distribution = Distribution::kUniform;
  uint64_t name = 0;  // the name in the key
  std::vector<InitialStep> steps;
};

// Returns the number in every element of a constant; nullopt if it has several.
std::optional<float> InitialNumber(const Value& value) {
  if (value.node->type() == "Fill") return InitialNumber(value.node->input(1));
  if (value.node->type() != "Const") return std::nullopt;
  const Tensor& tensor = value.node->Attr<Tensor>("value");
  if (tensor.dtype() != DType::kFloat || tensor.elements() == 0) return std::nullopt;
  const float* const numbers = tensor.data<float>();
  const bool same = std::all_of(numbers, numbers + tensor.elements(),
                                [&](float number) { return number == numbers[0]; });
  return same ? std::optional(numbers[0]) : std::nullopt;
}

std::optional<Distribution> InitialDistribution(std::string_view op) {
  if (op == "RandomUniform") return Distribution::kUniform;
  if (op == "RandomStandardNormal") return Distribution::kNormal;
  if (op == "TruncatedNormal") return Distribution::kTruncatedNormal;
  return std::nullopt;
}

std::optional<InitialDraw> InitialDrawOf(const Value& initial) {
  InitialDraw draw;
  Value value = initial;
  while (!InitialDistribution(value.node->type())) {
    const std::string_view op = value.node->type();
    if (op == "Identity") {
      value = value.node->input(0);
      continue;
    }
    if (op != "Mul" && op != "AddV2") return std::nullopt;
    const std::optional<float> number = InitialNumber(value.node->input(1));
    if (!number) return std::nullopt;
    draw.steps.push_back({op == "Mul" ? Binary::kMul : Binary::kAdd, *number});
    value = value.node->input(0);
  }
  std::reverse(draw.steps.begin(), draw.steps.end());
  draw.distribution = *InitialDistribution(value.node->type());
  draw.name = RandomName(*value.node, false);
  return draw;
}

constexpr int64_t kWordMask = 0xFFFFFFFF;
constexpr int64_t kTries = 8;

Value Word(Graph& graph, int64_t number) { return graph.Scalar<int64_t>(number & kWordMask); }

// The two halves of the 64-bit product of two words.
struct WordProduct {
  Value high, low;
};

WordProduct ProductOf(Value word, int64_t factor) {
  Graph& graph = word.graph();
  const Value product = Mul(word, Word(graph, factor));
  return {BitwiseAnd(RightShift(product, graph.Scalar<int64_t>(32)), Word(graph, kWordMask)),
          BitwiseAnd(product, Word(graph, kWordMask))};
}

// Philox4x32-10 (core/base/random.h) for counters whose words are int64 of one shape, or scalars.
std::array<Value, 4> PhiloxWords(std::array<Value, 4> counter, uint64_t key) {
  Graph& graph = counter[0].graph();
  auto key_low = static_cast<uint32_t>(key);
  auto key_high = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const WordProduct first = ProductOf(counter[0], 0xD2511F53);
    const WordProduct second = ProductOf(counter[2], 0xCD9E8D57);
    const Value low = Word(graph, key_low);
    const Value high = Word(graph, key_high);
    counter = {BitwiseXor(BitwiseXor(second.high, counter[1]), low), second.low,
               BitwiseXor(BitwiseXor(first.high, counter[3]), high), first.low};
    key_low += 0x9E3779B9;
    key_high += 0xBB67AE85;
  }
  return counter;
}

// The words of the counters of elements [n, width]; `per_counter` elements share a counter. Each
// try has its own words: [tries, n, width].
std::array<Value, 4> WordsOf(Value elements, int64_t per_counter, int64_t tries, uint64_t key) {
  Graph& graph = elements.graph();
  const Value index = FloorDiv(elements, graph.Scalar<int64_t>(per_counter));
  std::vector<int64_t> steps;
  for (int64_t i = 0; i < tries; ++i) steps.push_back(i << 24);
  const Value step = graph.Constant(Tensor::Of(Shape({tries, 1, 1}), steps), "try");
  return PhiloxWords({BitwiseAnd(index, Word(graph, kWordMask)),
                      RightShift(index, graph.Scalar<int64_t>(32)), graph.Scalar<int64_t>(0), step},
                     key);
}

// Selects word `which` of each element; the elements of a counter share its four words equally.
Value WordOfElement(const std::array<Value, 4>& words, Value elements, int64_t per_counter,
                    int64_t which) {
  Graph& graph = elements.graph();
  const Value lane = FloorMod(elements, graph.Scalar<int64_t>(per_counter));
  const int64_t each = 4 / per_counter;
  Value word = words[static_cast<size_t>(which)];
  for (int64_t i = 1; i < per_counter; ++i) {
    word = SelectV2(Equal(lane, graph.Scalar<int64_t>(i)),
                    words[static_cast<size_t>(i * each + which)], word);
  }
  return word;
}

Value UniformElements(Value elements, uint64_t key) {
  Graph& graph = elements.graph();
  const Value word = WordOfElement(WordsOf(elements, 4, 1, key), elements, 4, 0);
  const Value bits = RightShift(word, graph.Scalar<int64_t>(9));
  return Mul(Cast(bits, DType::kFloat), 0x1p-23);
}

// [tries, n, width] in double.
Value NormalElements(Value elements, int64_t tries, uint64_t key) {
  const std::array<Value, 4> words = WordsOf(elements, 2, tries, key);
  const auto number = [&](int64_t which) {
    return Cast(WordOfElement(words, elements, 2, which), DType::kDouble);
  };
  const Value u = Mul(AddV2(number(0), 1.0), 0x1p-32);
  const Value v = Mul(number(1), 0x1p-32);
  return Mul(Sqrt(Mul(Log(u), -2.0)), Cos(Mul(v, 2.0 * std::numbers::pi)));
}

// Selects the first try that lies within two standard deviations.
Value TruncatedElements(Value elements, uint64_t key) {
  Graph& graph = elements.graph();
  const Value normals = NormalElements(elements, kTries, key);
  const auto of_try = [&](int64_t i) { return GatherV2(normals, graph.Scalar<int64_t>(i)); };
  Value value = of_try(kTries - 1);
  for (int64_t i = kTries - 2; i >= 0; --i) {
    const Value other = of_try(i);
    value = SelectV2(LessEqual(Abs(other), graph.ScalarOf(DType::kDouble, 2)), other, value);
  }
  return value;
}

Value Elements(Distribution distribution, Value elements, uint64_t key) {
  const Value none = elements.graph().Scalar<int64_t>(0);
  switch (distribution) {
    case Distribution::kUniform:
      return GatherV2(UniformElements(elements, key), none);
    case Distribution::kNormal:
      return Cast(GatherV2(NormalElements(elements, 1, key), none), DType::kFloat);
    default:
      return Cast(TruncatedElements(elements, key), DType::kFloat);
  }
}

}  // namespace

std::optional<RowDraw> RowDrawOf(const Value& initial, uint64_t seed) {
  if (initial.dtype() != DType::kFloat) return std::nullopt;
  if (const std::optional<float> number = InitialNumber(initial)) {
    return [number = *number](std::span<const uint64_t> firsts, int64_t n, float* to) {
      std::fill_n(to, static_cast<int64_t>(firsts.size()) * n, number);
    };
  }
  const std::optional<InitialDraw> of = InitialDrawOf(initial);
  if (!of) return std::nullopt;
  const RandomKernel draw = FindRandom(of->distribution, DType::kFloat);
  return [draw, key = RandomKey{.seed = seed, .name = of->name}, steps = of->steps](
             std::span<const uint64_t> firsts, int64_t n, float* to) {
    draw({.key = key, .step = 0, .firsts = firsts, .n = static_cast<size_t>(n)}, to);
    const int64_t all = static_cast<int64_t>(firsts.size()) * n;
    for (const InitialStep& step : steps) {
      FindBinary(step.op, DType::kFloat)(to, &step.number, to, all, 1, 0);
    }
  };
}

std::optional<Value> DrawnRows(const Value& initial, uint64_t seed, Value rows, int64_t width) {
  Graph& graph = rows.graph();
  if (initial.dtype() != DType::kFloat) return std::nullopt;
  std::vector<int64_t> columns(static_cast<size_t>(width));
  for (size_t i = 0; i < columns.size(); ++i) columns[i] = static_cast<int64_t>(i);
  const Value elements = AddV2(Mul(ExpandDims(rows, -1), graph.Scalar<int64_t>(width)),
                               graph.Constant(Tensor::Of(Shape({width}), columns), "columns"));
  if (const std::optional<float> number = InitialNumber(initial)) {
    return AddV2(ZerosLike(Cast(elements, DType::kFloat)), *number);
  }
  const std::optional<InitialDraw> of = InitialDrawOf(initial);
  if (!of) return std::nullopt;
  const uint64_t key = MixedKey({.seed = seed, .name = of->name});
  Value drawn = Elements(of->distribution, elements, key);
  for (const InitialStep& step : of->steps) {
    const Value number = graph.Scalar<float>(step.number);
    drawn = step.op == Binary::kMul ? Mul(drawn, number) : AddV2(drawn, number);
  }
  return drawn;
}

}  // namespace tpuest::ops
