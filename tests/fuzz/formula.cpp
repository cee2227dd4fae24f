// Formulas over the tensors of a batch or, if the first byte is odd, of an example: built into
// nodes, planned and run once with zeros.

#include "core/nn/formula/formula.h"

#include "core/ops/all_ops.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/run_once.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

struct Fed {
  const char* name;
  DType dtype;
  Shape shape;
};

}  // namespace

void RunFormula(std::string_view input) {
  static const OpRegistry registry(ops::AllOps());
  static const Fed all[] = {{"x", DType::kFloat, {2, 3}},      {"y", DType::kFloat, {2}},
                            {"n", DType::kInt32, {2}},         {"k", DType::kInt64, {2, 2}},
                            {"s", DType::kString, {2}},        {"b", DType::kBool, {2, 3}},
                            {"i", DType::kFloat, {2, 4, 4, 3}}};
  const bool rows = (TakeChoice(input) & 1) != 0;
  Graph graph(registry);
  ProgramSpec spec{.graph = &graph};
  nn::FormulaNames names{.rows = rows};
  for (const Fed& fed : all) {
    names.values[fed.name] = graph.Placeholder(fed.dtype, fed.shape, fed.name);
    spec.feeds.push_back({names.values[fed.name], fed.shape});
  }
  spec.fetches.push_back(nn::BuildFormula(graph, {std::string(input)}, names));
  RunOnce(spec);
}

}  // namespace tpuest::fuzz
