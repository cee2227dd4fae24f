// Programs are compiled once per input shapes, and the most recently used ones are kept.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "core/backend/cpu/program.h"
#include "core/estimator/step/programs/step_program.h"
#include "core/ops/all_ops.h"
#include "core/ops/reduction.h"

namespace tpuest {
namespace {

TEST_CASE("sixteen programs are kept, and the least recently used one is compiled again") {
  const OpRegistry registry(ops::AllOps());
  const auto backend = MakeCpuBackend();
  VariableStore variables;
  Graph graph(registry);
  const Value lists = graph.Placeholder(DType::kFloat, {2, kUnknownDim}, "lists");
  const Value sums = ops::Sum(lists, {1});
  StepPrograms programs({*backend, *backend}, variables,
                        {.graph = graph, .inputs = {lists}, .fetches = {sums}, .options = {}});
  const auto made = [&](int64_t length) { return programs.Find({Shape({2, length})}) != nullptr; };
  const auto sum = [&](int64_t length) {
    const Tensor ones =
        Tensor::Of<float>({2, length}, std::vector<float>(static_cast<size_t>(2 * length), 1.0F));
    return programs.For(ShapesOf({ones}))->RunWhole({ones})[0].AsDouble(1);
  };
  CHECK(!made(1));
  for (int64_t length = 1; length <= 16; ++length) CHECK(sum(length) == length);
  const auto first = programs.For({Shape({2, 1})});
  CHECK(sum(1) == 1);
  CHECK(programs.For({Shape({2, 1})}) == first);
  CHECK(sum(17) == 17);
  CHECK(made(1));
  CHECK(!made(2));
  CHECK(sum(2) == 2);
  CHECK(made(2));
  CHECK(!made(3));
}

TEST_CASE("the mean over replicas is finite if all values are") {
  const auto mean = [](float a, float b) {
    return ReplicaMean({Tensor::Scalar<float>(a), Tensor::Scalar<float>(b)});
  };
  CHECK(mean(1, 2) == 1.5F);
  CHECK(mean(3e38F, 3e38F) == 3e38F);
  CHECK(mean(3e38F, -3e38F) == 0);
  CHECK(std::isinf(mean(std::numeric_limits<float>::infinity(), 1)));
  CHECK(std::isnan(mean(std::numeric_limits<float>::quiet_NaN(), 3e38F)));
}

}  // namespace
}  // namespace tpuest
