// Programs are compiled once for the shapes of their inputs, and the last used ones are kept.

#include <doctest/doctest.h>

#include "core/backend/cpu/program.h"
#include "core/estimator/step/step_program.h"
#include "core/ops/all_ops.h"
#include "core/ops/reduction.h"

namespace tpuest {
namespace {

TEST_CASE("sixteen programs are kept, the one that was not used for longest is made again") {
  const OpRegistry registry(ops::AllOps());
  const auto backend = MakeCpuBackend();
  VariableStore variables;
  Graph graph(registry);
  const Value lists = graph.Placeholder(DType::kFloat, {2, kUnknownDim}, "lists");
  const Value sums = ops::Sum(lists, {1});
  std::vector<int64_t> made;
  StepPrograms programs([&](const std::vector<Shape>& shapes) {
    made.push_back(shapes.front().dim(1));
    return std::make_shared<StepProgram>(
        Backends{*backend, *backend}, variables,
        StepProgramArgs{
            .graph = graph, .inputs = {lists}, .shapes = shapes, .fetches = {sums}, .options = {}});
  });
  const auto sum = [&](int64_t length) {
    const Tensor ones =
        Tensor::Of<float>({2, length}, std::vector<float>(static_cast<size_t>(2 * length), 1.0F));
    return programs.For(ShapesOf({ones}))->RunWhole({ones})[0].AsDouble(1);
  };
  CHECK(programs.Find({Shape({2, 1})}) == nullptr);
  for (int64_t length = 1; length <= 16; ++length) CHECK(sum(length) == length);
  CHECK(sum(1) == 1);
  CHECK(made.size() == 16);
  CHECK(sum(17) == 17);
  CHECK(programs.Find({Shape({2, 1})}) != nullptr);
  CHECK(programs.Find({Shape({2, 2})}) == nullptr);
  CHECK(sum(2) == 2);
  CHECK(made.size() == 18);
}

}  // namespace
}  // namespace tpuest
