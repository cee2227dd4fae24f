// The properties that every registered op must have.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "core/base/process/files.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

// Ops without a lowering to StableHLO, and the reason. Checked as soon as any op has a lowering.
struct Exception {
  std::string_view op;
  std::string_view reason;
};
constexpr Exception kNeverLowered[] = {
    {"Placeholder", "is an argument of the program"},
    {"NoOp", "computes nothing"},
    {"VarHandleOp", "is an argument of the program"},
    {"Unique", "_UniquePadded runs instead"},
    {"LowerBound", "exports alone have it, which look rows up in what a list of millions names"},
    {"Unique", "how much it gives depends on the data; gradients are dense on a device"},
};

// Sources of core/backend, by the end of their path, that may name ops, and the reason.
struct Namer {
  std::string_view file;
  std::string_view reason;
};
constexpr Namer kNamesOps[] = {
    {"cpu/fusion.cpp",
     "looks for patterns of certain ops; a program runs without it (fuse = false)"},
    {"norm_fusion.cpp", "so does this one"},
    {"cpu/late_inputs.cpp",
     "knows the range of some ops' results; without it more steps are copied and checked"},
};

bool MayNameOps(std::string_view file) {
  return std::any_of(std::begin(kNamesOps), std::end(kNamesOps),
                     [&](const Namer& namer) { return file.ends_with(namer.file); });
}

// "core/backend/bind.cpp: \"Const\"" for each op that the file names.
std::vector<std::string> OpsNamedIn(const std::string& file, std::string_view text) {
  std::vector<std::string> names;
  for (const auto& [name, op] : TestRegistry().ops()) {
    const std::string quoted = fmt::format("\"{}\"", name);
    if (text.find(quoted) != std::string_view::npos) names.push_back(file + ": " + quoted);
  }
  return names;
}

bool MayLackHlo(const OpDef& op) {
  if (op.host || op.expand != nullptr || op.name.starts_with('_')) return true;
  return std::any_of(std::begin(kNeverLowered), std::end(kNeverLowered),
                     [&](const Exception& exception) { return exception.op == op.name; });
}

std::vector<const OpDef*> AllDefs() {
  std::vector<const OpDef*> defs;
  for (const auto& [name, op] : TestRegistry().ops()) defs.push_back(op.def);
  return defs;
}

TEST_CASE("every op has a shape rule, a gradient or NoGradient, and a CPU plan or simpler ops") {
  for (const OpDef* const op : AllDefs()) {
    INFO(op->name);
    CHECK((op->shape != nullptr));
    CHECK((op->cpu != nullptr || op->expand != nullptr));
    CHECK((op->grad != nullptr || op->name.starts_with("_")));
  }
}

TEST_CASE("every op is lowered to StableHLO, once any is") {
  const std::vector<const OpDef*> defs = AllDefs();
  const bool any =
      std::any_of(defs.begin(), defs.end(), [](const OpDef* op) { return op->hlo != nullptr; });
  for (const OpDef* const op : defs) {
    INFO(op->name);
    CHECK((!any || op->hlo != nullptr || MayLackHlo(*op)));
  }
}

TEST_CASE("an op that is given a resource and gives nothing writes it; no other does") {
  for (const auto& entry : TestRegistry().ops()) {
    const auto& op = entry.second;
    INFO(op.def->name);
    const auto& inputs = op.signature.inputs;
    const bool on_resource = !inputs.empty() && inputs[0].dtype == DType::kResource;
    CHECK(op.def->writes == (on_resource && op.signature.outputs.empty()));
  }
}

TEST_CASE("the backends ask an op's record, never its name") {
  std::vector<std::string> found;
  int sources = 0;
  int namers = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(TESTDATA "/../../core/backend")) {
    const std::string path = entry.path().string();
    if (!path.ends_with(".cpp") && !path.ends_with(".h")) continue;
    ++sources;
    const std::vector<std::string> names = OpsNamedIn(path, ReadFile(path));
    if (MayNameOps(path)) {
      namers += names.empty() ? 0 : 1;
    } else {
      found.insert(found.end(), names.begin(), names.end());
    }
  }
  CHECK(found == std::vector<std::string>());
  CHECK(sources > 40);
  CHECK(namers == std::size(kNamesOps));
  CHECK(OpsNamedIn("a.cpp", "node.type() == \"Const\"") ==
        std::vector<std::string>{"a.cpp: \"Const\""});
}

TEST_CASE("every op has a case, and every case an op") {
  std::set<std::string> covered;
  for (const OpCase& op_case : AllOpCases()) {
    INFO(NameOf(op_case));
    CHECK(TestRegistry().Find(op_case.op) != nullptr);
    covered.insert(op_case.op);
  }
  for (const OpDef* const op : AllDefs()) {
    INFO(op->name);
    CHECK((covered.contains(std::string(op->name)) || op->name.starts_with("_")));
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
