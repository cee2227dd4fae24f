// A result that may use a variable's own memory has the value at the start of the step, whatever
// the step writes.

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "core/backend/cpu/program.h"
#include "core/backend/hlo/lower.h"
#include "core/graph/cut.h"
#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/state.h"
#include "tests/core/ops/op_checks.h"

namespace tpuest {
namespace {

// An op whose result may use its input's memory, as a node of float [2], the input's type.
struct View {
  std::string_view op;
  Value (*make)(Value x);
};

const View kViews[] = {
    {"Identity", [](Value x) { return ops::Identity(x); }},
    {"StopGradient", [](Value x) { return ops::StopGradient(x); }},
    {"PreventGradient", [](Value x) { return ops::PreventGradient(x, "none"); }},
    {"Reshape", [](Value x) { return ops::Reshape(x, Shape({2})); }},
    {"ExpandDims", [](Value x) { return ops::Reshape(ops::ExpandDims(x, 0), Shape({2})); }},
    {"Squeeze", [](Value x) { return ops::Squeeze(x); }},
    {"AddN", [](Value x) { return x.graph().Add("AddN", {x}); }},
    {"Cast",
     [](Value x) {
       return x.graph().Add("Cast", {x}, {{"DstT", DType::kFloat}});
     }},
};

Tensor Pair(float a, float b) { return Tensor::Of<float>({2}, {a, b}); }

// v starts as (1, 2) and grows by 10 in each step.
struct Model {
  Graph graph{TestRegistry()};
  Variable* v = graph.AddVariable("v", DType::kFloat, {2}, graph.Constant(Pair(1, 2)));
  Node* update = ops::AssignAddVariableOp(v->handle, graph.Constant(Pair(10, 10)));
  VariableStore variables;

  Model() { variables.Set("v", Pair(1, 2)); }

  // The fetches of this number of steps, one after the other.
  std::vector<StepResult> Run(const std::vector<Value>& fetches, const std::vector<Node*>& targets,
                              size_t steps = 1) {
    const ProgramSpec spec{&graph, {}, fetches, targets, {}};
    return MakeCpuBackend()->Compile(spec, {}, variables)->Run(std::vector<StepFeeds>(steps));
  }
};

const Tensor& Fetched(const StepResult& step, size_t i) { return step.fetches[i][0]; }

}  // namespace

TEST_CASE("every op that may be a view of its input is among the views here") {
  std::set<std::string_view> views;
  for (const View& view : kViews) views.insert(view.op);
  for (const auto& entry : TestRegistry().ops()) {
    const OpDef& def = *entry.second.def;
    INFO(def.name);
    CHECK(def.alias == views.contains(def.name));
  }
}

TEST_CASE("a view of a variable, and a view of a view, is fetched as the step found it") {
  for (const View& outer : kViews) {
    INFO(outer.op);
    Model model;
    std::vector<Value> fetches = {outer.make(model.v->value)};
    for (const View& inner : kViews) fetches.push_back(outer.make(inner.make(model.v->value)));
    const auto steps = model.Run(fetches, {model.update}, 2);
    for (size_t i = 0; i < fetches.size(); ++i) {
      INFO(i);
      CHECK(SameBits(Fetched(steps[0], i), Pair(1, 2)));
      CHECK(SameBits(Fetched(steps[1], i), Pair(11, 12)));
    }
    CHECK(SameBits(model.variables.Get("v"), Pair(21, 22)));
  }
}

TEST_CASE("two variables swap their values through views") {
  for (const View& view : kViews) {
    INFO(view.op);
    Model model;
    const Variable* const w =
        model.graph.AddVariable("w", DType::kFloat, {2}, model.graph.Constant(Pair(3, 4)));
    model.variables.Set("w", Pair(3, 4));
    const Value was_v = view.make(view.make(model.v->value));
    const Value was_w = view.make(w->value);
    (void)model.Run({}, {ops::AssignVariableOp(model.v->handle, was_w),
                         ops::AssignVariableOp(w->handle, was_v)});
    CHECK(SameBits(model.variables.Get("v"), Pair(3, 4)));
    CHECK(SameBits(model.variables.Get("w"), Pair(1, 2)));
  }
}

TEST_CASE("a view of what was read before an update keeps its value beside what is read after it") {
  for (const View& view : kViews) {
    INFO(view.op);
    Model model;
    const Value after = ops::ReadVariableOp(model.v->handle);
    after.node->AddControlInput(model.update);
    const Value product = ops::Mul(view.make(view.make(model.v->value)), view.make(after));
    CHECK(SameBits(Fetched(model.Run({product}, {})[0], 0), Pair(1 * 11, 2 * 12)));
  }
}

TEST_CASE("a device's step returns a view of a variable as the argument that it was given") {
  for (const View& view : kViews) {
    if (view.op == "ExpandDims") continue;  // there and back again
    INFO(view.op);
    Model model;
    const ProgramSpec spec{
        &model.graph, {}, {view.make(view.make(model.v->value))}, {model.update}, {}};
    const LoweredModule module = LowerToHlo(spec, {});
    INFO(module.text);
    CHECK(module.text.find("return %arg0, ") != std::string::npos);
    CHECK(module.text.find("return %arg0, %arg0") == std::string::npos);
  }
}

TEST_CASE("ops after the device get a view of a variable as the step found it") {
  for (const View& view : kViews) {
    INFO(view.op);
    Model model;
    const Value crossing = view.make(view.make(model.v->value));
    Value doubled;
    {
      const AfterScope after(model.graph);
      doubled = ops::Mul(crossing, model.graph.Scalar(2.0F));
    }
    const GraphCut cut = CutGraph(model.graph, {doubled}, {model.update});
    REQUIRE(cut.device_to_after == std::vector<Value>{crossing});
    const Tensor crossed = Fetched(model.Run(cut.device_to_after, {model.update})[0], 0);
    const ProgramSpec after{&model.graph, {{crossing, {2}}}, {doubled}, {}, {}};
    const StepFeeds feeds = {{crossed}};
    const auto program = MakeCpuBackend()->Compile(after, {}, model.variables);
    CHECK(SameBits(Fetched(program->Run({&feeds, 1})[0], 0), Pair(2, 4)));
  }
}

}  // namespace tpuest
