#include "core/ops/random.h"

#include "core/graph/draw_of_seed.h"
#include "core/kernels/fingerprint.h"
#include "core/kernels/random_fill.h"
#include "core/ops/array.h"
#include "core/ops/random_hlo.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {
namespace {

Value AddRandom(std::string_view op, Value shape, DType dtype, std::string_view name) {
  return shape.graph().Add(op, {shape}, {{"dtype", dtype}}, name);
}

}  // namespace

Value RandomUniform(Value shape, DType dtype, std::string_view name) {
  return AddRandom("RandomUniform", shape, dtype, name);
}
Value RandomStandardNormal(Value shape, DType dtype, std::string_view name) {
  return AddRandom("RandomStandardNormal", shape, dtype, name);
}
Value TruncatedNormal(Value shape, DType dtype, std::string_view name) {
  return AddRandom("TruncatedNormal", shape, dtype, name);
}
Value RandomUniformInt(Value shape, Value minval, Value maxval, std::string_view name) {
  return shape.graph().Add("RandomUniformInt", {shape, minval, maxval}, {}, name);
}

Value RandomUniform(Graph& graph, const Shape& shape, DType dtype, std::string_view name) {
  return RandomUniform(Int32s(graph, shape.dims(), "shape"), dtype, name);
}
Value RandomStandardNormal(Graph& graph, const Shape& shape, DType dtype, std::string_view name) {
  return RandomStandardNormal(Int32s(graph, shape.dims(), "shape"), dtype, name);
}
Value TruncatedNormal(Graph& graph, const Shape& shape, DType dtype, std::string_view name) {
  return TruncatedNormal(Int32s(graph, shape.dims(), "shape"), dtype, name);
}

uint64_t RandomName(const Node& node, bool seeds_by_name) {
  const int64_t seed = node.Attr<int64_t>("seed");
  const int64_t seed2 = node.Attr<int64_t>("seed2");
  if (seed == 0 && seed2 == 0) return Fingerprint64(node.name());
  if (seeds_by_name) return Fingerprint64(fmt::format("{}/{}/{}", node.name(), seed, seed2));
  const uint64_t name = SeedName(static_cast<uint64_t>(seed), static_cast<uint64_t>(seed2));
  if (!node.HasAttr(kDrawOfSeed)) return name;
  return SeedName(name, static_cast<uint64_t>(node.Attr<int64_t>(kDrawOfSeed)));
}

namespace {

void RandomShape(ShapeContext& context) {
  NeedRank(context, context.Input(0), 1, "shape");
  context.Output(0, SizesFromInput(context, 0));
}

// The shape input gives the number of rows.
Rows RandomRows(RowContext& context) {
  for (int i = 1; i < static_cast<int>(context.node().inputs().size()); ++i) {
    if (context.IsCut(i)) return Rows::kWhole;
  }
  return context.IsCut(0) ? Rows::kEach : Rows::kWhole;
}

// The slice of the global tensor that a task fills.
class SliceOf {
 public:
  explicit SliceOf(PlanContext& context)
      : name_(RandomName(context.node(), false)),
        old_name_(RandomName(context.node(), true)),
        cut_(context.OutputIsCut()),
        n_(static_cast<size_t>(context.OutputShape(0).elements())) {
    const int64_t rows = cut_ ? context.OutputShape(0).dim(0) : 0;
    if (rows > 0) row_elements_ = n_ / static_cast<size_t>(rows);
  }

  [[nodiscard]] RandomSlice operator()(const Task& task) const {
    const uint64_t first_row =
        static_cast<uint64_t>(task.replica) * task.batch_rows + task.row_begin;
    return {.key = {.seed = task.seed, .name = task.seeds_by_name ? old_name_ : name_},
            .step = task.step,
            .first = cut_ ? first_row * row_elements_ : 0,
            .n = n_};
  }

 private:
  uint64_t name_;
  uint64_t old_name_;  // key's name in a run with seeds_by_name
  bool cut_;
  size_t n_;
  uint64_t row_elements_ = 0;
};

template <Distribution distribution>
void PlanRandom(PlanContext& context) {
  const RandomKernel kernel = FindRandom(distribution, context.OutputDType(0));
  Check(kernel != nullptr, "{} of {}", context.node().type(), NameOf(context.OutputDType(0)));
  const SliceOf slice(context);
  const Buffer out = context.Output(0);
  context.Run([=](const Task& task) {
    const RandomSlice of = slice(task);
    kernel({.key = of.key, .step = of.step, .firsts = {&of.first, 1}, .n = of.n}, task.At(out));
  });
}

void RandomIntShape(ShapeContext& context) {
  NeedRank(context, context.Input(1), 0, "minval");
  NeedRank(context, context.Input(2), 0, "maxval");
  RandomShape(context);
}

template <class T>
void PlanIntegersOf(PlanContext& context) {
  const SliceOf slice(context);
  const Buffer low = context.Input(1);
  const Buffer high = context.Input(2);
  const Buffer out = context.Output(0);
  const std::string name = context.node().name();
  context.Run([=](const Task& task) {
    const T minval = *task.At<T>(low);
    const T maxval = *task.At<T>(high);
    if (minval >= maxval) {
      throw Error(Code::kData,
                  fmt::format("RandomUniformInt '{}': minval {} is not less than maxval {}", name,
                              minval, maxval));
    }
    RandomIntegers(slice(task), minval, maxval, task.At<T>(out));
  });
}

void PlanIntegers(PlanContext& context) {
  if (context.OutputDType(0) == DType::kInt64) return PlanIntegersOf<int64_t>(context);
  PlanIntegersOf<int32_t>(context);
}

constexpr std::string_view kRandomSignature =
    "shape: T -> output: dtype; seed: int = 0; seed2: int = 0; dtype: bfloat16|float|double; "
    "T: int32|int64";

constexpr OpDef RandomDef(std::string_view name, PlanFn cpu, LowerFn hlo) {
  return {.name = name,
          .signature = kRandomSignature,
          .shape = RandomShape,
          .grad = NoGradient,
          .cpu = cpu,
          .hlo = hlo,
          .rows = RandomRows,
          .stateful = true};
}

const OpDef kRandomOps[] = {
    RandomDef("RandomUniform", PlanRandom<Distribution::kUniform>, LowerRandomUniform),
    RandomDef("RandomStandardNormal", PlanRandom<Distribution::kNormal>, LowerRandomNormal),
    RandomDef("TruncatedNormal", PlanRandom<Distribution::kTruncatedNormal>, LowerTruncatedNormal),
    {.name = "RandomUniformInt",
     .signature = "shape: T, minval: Tout, maxval: Tout -> output: Tout; seed: int = 0; "
                  "seed2: int = 0; Tout: int32|int64; T: int32|int64",
     .shape = RandomIntShape,
     .grad = NoGradient,
     .cpu = PlanIntegers,
     .hlo = LowerRandomIntegers,
     .rows = RandomRows,
     .stateful = true},
};

}  // namespace

OpFamily RandomOps() { return kRandomOps; }

}  // namespace tpuest::ops
