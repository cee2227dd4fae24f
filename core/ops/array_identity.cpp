// Ops that pass values on unchanged, or do nothing.

#include "core/ops/array.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value Identity(Value x, std::string_view name) { return x.graph().Add("Identity", {x}, {}, name); }

Value StopGradient(Value x, std::string_view name) {
  return x.graph().Add("StopGradient", {x}, {}, name);
}

Value PreventGradient(Value x, std::string_view message, std::string_view name) {
  return x.graph().Add("PreventGradient", {x}, {{"message", std::string(message)}}, name);
}

Node* NoOp(Graph& graph, const std::vector<Node*>& nodes, std::string_view name) {
  Node* const group = graph.AddNode("NoOp", {}, {}, name);
  for (Node* const node : nodes) group->AddControlInput(node);
  return group;
}

namespace {

void IdentityGrad(GradContext& c) { c.SetDx(0, c.Dy()); }

void RefuseGradient(GradContext& c) {
  const Node& node = c.node();
  throw Error(Code::kUsage, fmt::format("'{}' has no gradient: {}", node.name(),
                                        node.Attr<std::string>("message")))
      .At(node.origin());
}

void PlanNothing(PlanContext& /*context*/) {}

const OpDef kIdentityOps[] = {
    {.name = "Identity",
     .signature = "input: T -> output: T; T: type|resource",
     .shape = FirstInputShape,
     .grad = IdentityGrad,
     .cpu = PlanAlias,
     .hlo = LowerAlias,
     .rows = FirstInputRows,
     .alias = true},
    {.name = "StopGradient",
     .signature = "input: T -> output: T; T: type",
     .shape = FirstInputShape,
     .grad = NoGradient,
     .cpu = PlanAlias,
     .hlo = LowerAlias,
     .rows = FirstInputRows,
     .alias = true},
    {.name = "PreventGradient",
     .signature = "input: T -> output: T; T: type; message: string = \"\"",
     .shape = FirstInputShape,
     .grad = RefuseGradient,
     .cpu = PlanAlias,
     .hlo = LowerAlias,
     .rows = FirstInputRows,
     .alias = true},
    {.name = "NoOp", .signature = "->", .shape = NoShape, .grad = NoGradient, .cpu = PlanNothing},
};

}  // namespace

OpFamily IdentityOps() { return kIdentityOps; }

}  // namespace tpuest::ops
