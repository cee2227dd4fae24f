#include "core/nn/optimizers/table_training.h"

#include <algorithm>

#include "core/base/text.h"
#include "core/nn/global_step.h"
#include "core/nn/job_place.h"
#include "core/nn/optimizers/slots.h"
#include "core/nn/optimizers/table_updates.h"
#include "core/nn/optimizers/trained_gradients.h"
#include "core/nn/optimizers/unique_rows.h"
#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/replica_rows.h"
#include "core/ops/state.h"

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

// What replica r gave of a gathered x [replicas * n, ...].
Value OfReplica(Value x, int replicas, int r) {
  const Shape& shape = x.shape();
  std::vector<int64_t> dims = {replicas, kUnknownDim};
  dims.insert(dims.end(), shape.dims().begin() + 1, shape.dims().end());
  return ops::StridedSlice(ops::Reshape(x, Shape(dims)),
                           {.begin = {r}, .end = {r + 1}, .shrink_axis_mask = 1});
}

// The gradients of the replicas, each summed within its replica, one behind the other.
RowGradients InTurn(const std::string& table, const IndexedSlices& slices, int replicas,
                    Value multiplier) {
  const UniqueRows own = SumDuplicates(slices);
  const auto [indices, gathered] = ops::GatherRows(own.indices, own.sums, replicas, table);
  const Value sums = multiplier.valid() ? ops::Mul(gathered, multiplier) : gathered;
  const ops::UniqueResult rows = ops::Unique(indices);
  const Value count = ops::Size(rows.y);
  std::vector<Value> gradients;
  std::vector<Value> there;
  for (int r = 0; r < replicas; ++r) {
    const Value places = OfReplica(rows.idx, replicas, r);
    const Value gradient = OfReplica(sums, replicas, r);
    gradients.push_back(ops::UnsortedSegmentSum(gradient, places, count));
    const Value ones = ops::OnesLike(ops::Cast(places, DType::kFloat));
    there.push_back(IsSome(ops::UnsortedSegmentSum(ones, places, count)));
  }
  const Value every = ops::Cast(rows.y, DType::kInt64);
  const Value owner = ops::FloorMod(every, slices.values.graph().Scalar<int64_t>(replicas));
  RowGradients in_turn{.indices = rows.y, .gradients = {}};
  for (int turn = 0; turn < replicas; ++turn) {
    in_turn.gradients.push_back(AtTurn(gradients, owner, turn));
    in_turn.there.push_back(AtTurn(there, owner, turn));
  }
  return in_turn;
}

// A gradient that is of a whole table has all of its rows.
IndexedSlices SlicesOf(const Trained& trained) {
  if (const auto* const slices = std::get_if<IndexedSlices>(&trained.gradient)) return *slices;
  const auto& whole = std::get<Value>(trained.gradient);
  const int64_t rows = trained.variable->shape.dim(0);
  return {.values = whole, .indices = Rows(whole, rows), .rows = rows, .once = true};
}

// A gradient that is whole, and the rows that it is of, bool [rows].
struct WholeGradient {
  Value gradient;
  Value there;
};

class TableStep {
 public:
  TableStep(const TrainedTable& table, const Trained& trained, Value multiplier,
            const MinimizeOptions& options)
      : optimizer_(table.optimizer),
        variable_(*trained.variable),
        graph_(variable_.handle.graph()),
        slices_(SlicesOf(trained)),
        replicas_(trained.replicas),
        multiplier_(multiplier),
        pipelined_(options.tables.pipelined) {
    // What waited for a step has the rate of the step that made it.
    Value step = GetOrCreateGlobalStep(graph_)->value;
    if (pipelined_) step = ops::Sub(step, graph_.Scalar<int64_t>(1));
    rate_ = LearningRateAt(graph_, table.learning_rate.value_or(LearningRateOf(optimizer_)),
                           options.steps_per_epoch, step);
  }

  Node* Update() {
    if (pipelined_) return Pipelined();
    const auto* const adam = std::get_if<AdamParameters>(&optimizer_);
    if (adam != nullptr && !adam->lazy_adam) {
      const WholeGradient whole = Whole();
      return ApplyToAll(*adam, variable_, rate_, whole.gradient, whole.there);
    }
    MarkByRows();
    if (replicas_ > 1 && !RowOptionsOf(optimizer_).use_gradient_accumulation) {
      return ApplyToRows(optimizer_, variable_, rate_,
                         InTurn(variable_.name, slices_, replicas_, multiplier_));
    }
    const UniqueRows rows = SumOverReplicas(slices_, replicas_, variable_.name);
    return ApplyToRows(optimizer_, variable_, rate_,
                       {.indices = rows.indices, .gradients = {Scaled(rows.sums)}});
  }

 private:
  // Nothing reads or writes the whole of the table.
  void MarkByRows() const {
    Variable* const table = graph_.FindVariable(variable_.name);
    table->by_rows = true;
    table->table = table->name;
  }
  [[nodiscard]] Value Scaled(Value gradient) const {
    return multiplier_.valid() ? ops::Mul(gradient, multiplier_) : gradient;
  }
  [[nodiscard]] WholeGradient Whole() const {
    return {Scaled(ops::CrossReplicaSum(ToDense(slices_), replicas_)),
            IsSome(ops::CrossReplicaSum(TimesOf(slices_), replicas_))};
  }

  // Moves the table by what waits, and lets this step's gradient wait.
  Node* Pipelined() {
    const Shape rows({slices_.rows});
    const Variable& gradient = Pending("gradient", variable_.shape);
    const Variable& there = Pending("rows", rows);
    const Value was_there = IsSome(there.value);
    const auto* const adam = std::get_if<AdamParameters>(&optimizer_);
    Node* moved = nullptr;
    if (adam != nullptr && !adam->lazy_adam) {
      moved = ApplyToAll(*adam, variable_, rate_, gradient.value, was_there);
    } else {
      const Value every = Rows(was_there, slices_.rows);
      moved = ApplyToRows(optimizer_, variable_, rate_,
                          {.indices = ops::SelectV2(was_there, every, graph_.Scalar<int64_t>(-1)),
                           .gradients = {gradient.value}});
    }
    const WholeGradient whole = Whole();
    return ops::NoOp(graph_,
                     {moved, ops::AssignVariableOp(gradient.handle, whole.gradient),
                      ops::AssignVariableOp(there.handle, ops::Cast(whole.there, DType::kFloat))});
  }
  [[nodiscard]] const Variable& Pending(std::string_view what, const Shape& shape) const {
    return GetOrCreateSlot(graph_, fmt::format("{}/pending_{}", variable_.name, what),
                           DType::kFloat, shape, 0.0);
  }

  const TableOptimizer& optimizer_;
  const Variable& variable_;
  Graph& graph_;
  const IndexedSlices slices_;
  const int replicas_;
  const Value multiplier_;
  const bool pipelined_;
  Value rate_;
};

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
      return TableStep(table, trained, multiplier, options).Update();
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
