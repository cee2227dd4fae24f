// What every registered op must have.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

// Ops that are lowered to StableHLO by nobody, and why. Looked at once any op is lowered.
struct Exception {
  std::string_view op;
  std::string_view reason;
};
constexpr Exception kNeverLowered[] = {
    {"Placeholder", "is an argument of the program"},
    {"NoOp", "computes nothing"},
    {"VarHandleOp", "is an argument of the program"},
    {"VarIsInitializedOp", "a program starts with all variables"},
};

bool MayLackHlo(const OpDef& op) {
  if (op.host || op.name.starts_with('_')) return true;
  return std::any_of(std::begin(kNeverLowered), std::end(kNeverLowered),
                     [&](const Exception& exception) { return exception.op == op.name; });
}

TEST_CASE("every op has a shape rule, a gradient or NoGradient, and a CPU plan or simpler ops") {
  for (const auto& [name, op] : TestRegistry().ops()) {
    INFO(name);
    CHECK((op.def->shape != nullptr));
    CHECK((op.def->cpu != nullptr || op.def->expand != nullptr));
    CHECK((op.def->grad != nullptr || name.starts_with("_")));
  }
}

TEST_CASE("every op is lowered to StableHLO, once any is") {
  const auto& ops = TestRegistry().ops();
  const bool any = std::any_of(ops.begin(), ops.end(),
                               [](const auto& op) { return op.second.def->hlo != nullptr; });
  for (const auto& [name, op] : ops) {
    INFO(name);
    CHECK((!any || op.def->hlo != nullptr || MayLackHlo(*op.def)));
  }
}

TEST_CASE("every op has a case, and every case an op") {
  std::set<std::string> covered;
  for (const OpCase& op_case : AllOpCases()) {
    INFO(NameOf(op_case));
    CHECK(TestRegistry().Find(op_case.op) != nullptr);
    covered.insert(op_case.op);
  }
  for (const auto& [name, op] : TestRegistry().ops()) {
    INFO(name);
    CHECK((covered.contains(name) || name.starts_with("_")));
  }
}

TEST_CASE("a row's graph holds the op that it is about") {
  for (const OpCase& op_case : AllOpCases()) {
    INFO(NameOf(op_case));
    Graph graph(TestRegistry());
    std::vector<Value> inputs;
    for (const Tensor& input : op_case.inputs) {
      inputs.push_back(graph.Placeholder(input.dtype(), input.shape(), "input"));
    }
    (void)op_case.build(graph, inputs);
    const bool found = std::any_of(graph.nodes().begin(), graph.nodes().end(),
                                   [&](const auto& node) { return node->type() == op_case.op; });
    CHECK(found);
  }
}

}  // namespace
}  // namespace tpuest
