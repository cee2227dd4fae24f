#include "core/ops/collective.h"

#include <cstring>

#include "core/graph/flops.h"
#include "core/kernels/strided_copy.h"
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

Value OfReplica(Value x, int replica, std::string_view name) {
  return x.graph().Add("_OfReplica", {x}, {{"replica", int64_t{replica}}}, name);
}

namespace {

// Each replica's x is part of every replica's sum.
void CrossReplicaSumGrad(GradContext& c) {
  c.SetDx(0, c.graph().Add("CrossReplicaSum", {c.Dy(), c.input(1)}));
}

void LowerReplicaSum(LowerContext& c) {
  const int replicas = c.replicas();
  c.Output(0, replicas == 1 ? c.Input(0) : c.hlo().AllReduceSum(c.Input(0), replicas));
}

void OfReplicaGrad(GradContext& c) {
  c.SetDx(0, c.graph().Add("_OfReplica", {c.Dy()}, c.node().attrs()));
}

void PlanOfReplica(PlanContext& context) {
  const Buffer from = context.Input(0);
  const Buffer to = context.Output(0);
  const size_t bytes =
      static_cast<size_t>(context.OutputShape(0).elements()) * ElementBytes(context.OutputDType(0));
  const int64_t replica = context.node().Attr<int64_t>("replica");
  context.Run([=](const Task& task) {
    if (task.replica == replica) {
      std::memcpy(task.At(to), task.At(from), bytes);
    } else {
      std::memset(task.At(to), 0, bytes);
    }
  });
}

void LowerOfReplica(LowerContext& c) {
  HloBuilder& hlo = c.hlo();
  const HloValue own = hlo.Op("replica_id", {}, "", "", DType::kUint32, Shape());
  const HloValue other =
      hlo.Full(DType::kUint32, Shape(), static_cast<double>(c.node().Attr<int64_t>("replica")));
  const HloValue is_own = hlo.Broadcast(hlo.Compare("EQ", own, other), c.OutputShape(0));
  c.Output(0, hlo.Select(is_own, c.Input(0), hlo.FullLike(c.Input(0), 0)));
}

const OpDef kCollectiveOps[] = {
    {.name = "CrossReplicaSum",
     .signature = "input: T, group_assignment: int32 -> output: T; "
                  "T: bfloat16|float|double|int32",
     .shape = FirstInputShape,
     .grad = CrossReplicaSumGrad,
     // With one replica the sum is x; the program itself adds several.
     .cpu = PlanAlias,
     .hlo = LowerReplicaSum,
     .flops = OutputFlops,
     .stateful = true,
     .sums_replicas = true},
    {.name = "_OfReplica",
     .signature = "input: T -> output: T; replica: int >= 0; T: bfloat16|float|double|int32",
     .shape = FirstInputShape,
     .grad = OfReplicaGrad,
     .cpu = PlanOfReplica,
     .hlo = LowerOfReplica,
     .stateful = true},
};

}  // namespace

OpFamily CollectiveOps() { return kCollectiveOps; }

}  // namespace tpuest::ops
