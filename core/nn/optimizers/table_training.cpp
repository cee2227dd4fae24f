#include "core/nn/optimizers/table_training.h"

#include <algorithm>

#include "core/nn/job_place.h"
#include "core/nn/optimizers/table_updates.h"
#include "core/nn/optimizers/trained_gradients.h"
#include "core/nn/optimizers/unique_rows.h"
#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"

namespace tpuest::nn {
namespace {

// How often a replica looked up each row, float32 [rows].
Value TimesOf(const IndexedSlices& slices) {
  const Value ones = ops::OnesLike(ops::Cast(slices.indices, DType::kFloat));
  return ops::UnsortedSegmentSum(ones, slices.indices, slices.rows);
}

Value IsSome(Value times) { return ops::Greater(times, times.graph().ScalarOf(DType::kFloat, 0)); }

Value Rows(Value like, int64_t rows) {
  Graph& graph = like.graph();
  return ops::Range(graph.Scalar<int64_t>(0), graph.Scalar<int64_t>(rows),
                    graph.Scalar<int64_t>(1));
}

// x of the replica that comes `turn`-th at each row: the row's owner, which is its number modulo
// the replicas, before all others in their order.
Value AtTurn(const std::vector<Value>& x, Value owner, int turn) {
  Graph& graph = owner.graph();
  const auto select = [&](Value condition, Value a, Value b) {
    return ops::SelectV2(a.shape().rank() == 1 ? condition : ops::ExpandDims(condition, -1), a, b);
  };
  const auto at = [&](int replica) { return x[static_cast<size_t>(replica)]; };
  if (turn > 0) {
    const Value is_behind = ops::GreaterEqual(owner, graph.Scalar<int64_t>(turn));
    return select(is_behind, at(turn - 1), at(turn));
  }
  Value own = at(0);
  for (int replica = 1; replica < static_cast<int>(x.size()); ++replica) {
    own = select(ops::Equal(owner, graph.Scalar<int64_t>(replica)), at(replica), own);
  }
  return own;
}

// The gradients of the replicas, each summed within its replica, one behind the other.
RowGradients InTurn(const IndexedSlices& slices, int replicas, Value multiplier) {
  std::vector<Value> gradients;
  std::vector<Value> there;
  const Value own = ToDense(slices);
  const Value own_times = TimesOf(slices);
  for (int replica = 0; replica < replicas; ++replica) {
    const auto of_replica = [&](Value x) {
      return ops::CrossReplicaSum(ops::OfReplica(x, replica), replicas);
    };
    const Value gradient = of_replica(own);
    gradients.push_back(multiplier.valid() ? ops::Mul(gradient, multiplier) : gradient);
    there.push_back(IsSome(of_replica(own_times)));
  }
  const Value every = Rows(own, slices.rows);
  const Value owner = ops::FloorMod(every, own.graph().Scalar<int64_t>(replicas));
  Value any = there[0];
  for (size_t i = 1; i < there.size(); ++i) any = ops::LogicalOr(any, there[i]);
  RowGradients rows{.indices = ops::SelectV2(any, every, own.graph().Scalar<int64_t>(-1)),
                    .gradients = {}};
  for (int turn = 0; turn < replicas; ++turn) {
    rows.gradients.push_back(AtTurn(gradients, owner, turn));
    rows.there.push_back(AtTurn(there, owner, turn));
  }
  return rows;
}

// A gradient that is of a whole table has all of its rows.
IndexedSlices SlicesOf(const Trained& trained) {
  if (const auto* const slices = std::get_if<IndexedSlices>(&trained.gradient)) return *slices;
  const auto& whole = std::get<Value>(trained.gradient);
  const int64_t rows = trained.variable->shape.dim(0);
  return {.values = whole, .indices = Rows(whole, rows), .rows = rows, .once = true};
}

Node* TableUpdate(const TrainedTable& table, const Trained& trained, Value multiplier,
                  std::optional<double> steps_per_epoch) {
  Graph& graph = trained.variable->handle.graph();
  const Value rate = LearningRateAt(
      graph, table.learning_rate.value_or(LearningRateOf(table.optimizer)), steps_per_epoch);
  const auto scaled = [&](Value gradient) {
    return multiplier.valid() ? ops::Mul(gradient, multiplier) : gradient;
  };
  const Trained own{trained.variable, SlicesOf(trained), trained.replicas};
  const auto& slices = std::get<IndexedSlices>(own.gradient);
  const int replicas = trained.replicas;
  const auto* const adam = std::get_if<AdamParameters>(&table.optimizer);
  if (adam != nullptr && !adam->lazy_adam) {
    const Value gradient = ops::CrossReplicaSum(ToDense(slices), replicas);
    const Value there = IsSome(ops::CrossReplicaSum(TimesOf(slices), replicas));
    return ApplyToAll(*adam, *trained.variable, rate, scaled(gradient), there);
  }
  if (replicas > 1 && !RowOptionsOf(table.optimizer).use_gradient_accumulation) {
    return ApplyToRows(table.optimizer, *trained.variable, rate,
                       InTurn(slices, replicas, multiplier));
  }
  const UniqueRows rows = SumDuplicates(std::get<IndexedSlices>(OverReplicas(own)));
  return ApplyToRows(table.optimizer, *trained.variable, rate,
                     {.indices = rows.indices, .gradients = {scaled(rows.sums)}});
}

}  // namespace

const TrainedTable* TableTraining::Find(const std::string& variable) const {
  const auto found = std::find_if(tables.begin(), tables.end(), [&](const TrainedTable& table) {
    return table.variable == variable;
  });
  return found == tables.end() ? nullptr : &*found;
}

std::vector<Node*> UpdateTables(Graph& graph, const std::vector<Trained>& tables,
                                const MinimizeOptions& options) {
  if (tables.empty()) return {};
  const NameScope scope(graph, "tables");
  Value multiplier;
  if (options.tables.gradient_multiplier) {
    multiplier =
        LearningRateAt(graph, *options.tables.gradient_multiplier, options.steps_per_epoch);
  }
  std::vector<Node*> updates;
  for (const Trained& trained : tables) {
    const TrainedTable& table = *options.tables.Find(trained.variable->name);
    updates.push_back(AtPlace(graph, PlaceOf(table.optimizer), [&] {
      return TableUpdate(table, trained, multiplier, options.steps_per_epoch);
    }));
  }
  return updates;
}

std::vector<KeptAverage> WithoutTables(std::vector<KeptAverage> averages,
                                       const TableTraining& tables) {
  for (KeptAverage& average : averages) {
    std::erase_if(average.variables,
                  [&](const Variable* variable) { return tables.Find(variable->name) != nullptr; });
  }
  return averages;
}

}  // namespace tpuest::nn
