#include "core/ops/collective.h"

#include "core/graph/flops.h"
#include "core/ops/hlo_rules.h"
#include "core/ops/shape_rules.h"

namespace tpuest::ops {

Value CrossReplicaSum(Value x, int num_shards, std::string_view name) {
  std::vector<int32_t> group;
  for (int i = 0; i < num_shards; ++i) group.push_back(i);
  const Value assignment = x.graph().Constant(Tensor::Of<int32_t>({1, num_shards}, group),
                                              "CrossReplicaSum/group_assignment");
  return x.graph().Add("CrossReplicaSum", {x, assignment}, {}, name);
}

namespace {

// Each replica's x is in every replica's sum.
void CrossReplicaSumGrad(GradContext& c) {
  c.SetDx(0, c.graph().Add("CrossReplicaSum", {c.Dy(), c.input(1)}));
}

void LowerReplicaSum(LowerContext& c) {
  const int replicas = c.replicas();
  c.Output(0, replicas == 1 ? c.Input(0) : c.hlo().AllReduceSum(c.Input(0), replicas));
}

const OpDef kCollectiveOps[] = {
    {.name = "CrossReplicaSum",
     .signature = "input: T, group_assignment: int32 -> output: T; "
                  "T: bfloat16|float|double|int32|uint32",
     .shape = FirstInputShape,
     .grad = CrossReplicaSumGrad,
     // The sum of one replica; where there are more the program adds them up itself.
     .cpu = PlanAlias,
     .hlo = LowerReplicaSum,
     .flops = OutputFlops,
     .stateful = true,
     .sums_replicas = true},
};

}  // namespace

OpFamily CollectiveOps() { return kCollectiveOps; }

}  // namespace tpuest::ops
