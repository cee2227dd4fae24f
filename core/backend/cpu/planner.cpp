// Makes a kernel for every node and a buffer for every value before the first step runs.
//
// Input: the bound graph, its schedule, the variables. Output: for each phase its kernels, by size
// of block or by stage, and the sums that run around them; and the locations of all buffers.
//   1. Sources get buffers: feeds and constants stay where they are; a read uses the variable's own
//      memory, or a copy made at the start of its phase (the prologue, unless the read waits for
//      a node) if an update may precede the last use of the read.
//   2. In the order of the phases, each op's PlanFn is asked for its kernel through a NodeContext,
//      in a kBlock phase once for each number of rows that a run may have. It sees shapes as the
//      kernel will (a run's rows), requests buffers, and sets a kernel, or a view, or a value
//      derived from an input once per step (a weight in the layout of a convolution).
//   3. Sums over rows and replicas become jobs between the phases (PlanParts,
//      PlanCrossReplicaSum); if no node reads a replica's own sum, both are one job.
//   4. Buffers::Place lays out the arenas.
//
//   y = Identity(w), w += 1, y is fetched:
//
//     variable w ──▶ copy = read = y ──▶ fetch    y shares the memory of the read, which could be
//          ▲                                      w's own; but the update writes w before the
//          └─── += 1 (kUpdate)                    fetch, so the read gets a copy. If only kernels
//                                                 before the update read y, w's memory serves all.
//
// Guarantees:
//   - A running kernel allocates nothing and touches only the buffers that it was given.
//   - A read has the value at the start of the step (or after the update that it waits for), for
//     every reader and through any number of views. OpDef::alias names the ops that make views; a
//     PlanFn that makes a view without it fails a check.
//   - Every sum follows the same binary tree over blocks and replicas, for any number of threads.

#include "core/backend/cpu/planner.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string>

#include "core/backend/cpu/buffers.h"
#include "core/backend/cpu/copied_reads.h"
#include "core/backend/cpu/planned_updates.h"
#include "core/backend/cpu/program_variables.h"
#include "core/backend/cpu/shared_sums.h"
#include "core/backend/cpu/sum.h"

namespace tpuest {
namespace {

class Planner {
 public:
  Planner(const BoundGraph& bound, const Schedule& schedule, const CompileOptions& options,
          VariableStore& variables)
      : bound_(bound),
        schedule_(schedule),
        options_(options),
        variables_(variables),
        buffers_(bound, schedule) {}

  CpuPlan Run() {
    for (const auto& node : bound_.graph->nodes()) {
      for (const Value& input : node->inputs()) readers_[input].push_back(node.get());
    }
    plan_.phases.resize(schedule_.phases.size());
    for (size_t p = 0; p < plan_.phases.size(); ++p) {
      PhasePlan& phase = plan_.phases[p];
      phase.level = schedule_.phases[p].level;
      phase.variant_rows = schedule_.RunSizesOf(schedule_.phases[p]);
      if (phase.level == Level::kBlock) phase.kernels.resize(phase.variant_rows.size());
    }
    PlaceSources();
    for (size_t p = 0; p < schedule_.phases.size(); ++p) {
      for (Node* const node : schedule_.phases[p].nodes) PlanNode(*node, static_cast<int>(p));
    }
    for (const Value& fetch : bound_.fetches) plan_.fetches.push_back(buffers_.Use(fetch, false));
    if (bound_.guard.valid()) {
      plan_.guard = buffers_.Use(bound_.guard, false);
      PlanUpdates({bound_, schedule_, variables_, buffers_, plan_});
    }
    PlanQuestions();
    buffers_.Place(plan_);
    for (PhasePlan& phase : plan_.phases) OrderByWhole(phase.sums);
    return std::move(plan_);
  }

 private:
  friend class NodeContext;

  const NodeSchedule& At(const Node& node) const {
    return schedule_.nodes[static_cast<size_t>(node.id())];
  }

  // Feeds and constants are read in place; nothing is copied.
  void PlaceSources() {
    for (size_t i = 0; i < bound_.feeds.size(); ++i) {
      buffers_.SetFeed(bound_.feeds[i], static_cast<int>(i));
    }
    for (const auto& node : bound_.graph->nodes()) {
      if (!At(*node).needed) continue;
      if (node->op().source == ValueSource::kConstant) {
        const Tensor& value = node->Attr<Tensor>("value");
        buffers_.SetAddress(node->output(0), value.raw());
        plan_.constant_bytes += value.bytes();
      } else if (node->op().source == ValueSource::kRead) {
        PlaceRead(*node);
      }
    }
  }

  // A read is the variable's own memory, unless an update may overwrite it before it is used; then
  // it is a copy that the first kernel of its phase makes.
  void PlaceRead(Node& node) {
    const RowColumn* const rows = variables_.RowsOf(*node.input(0).node);
    void* const memory = rows == nullptr ? variables_.MemoryOf(*node.input(0).node) : nullptr;
    if (rows == nullptr && !IsOverwritten(node)) return buffers_.SetAddress(node.output(0), memory);
    const Buffer copy = buffers_.Use(node.output(0), false);
    const int phase = std::max(At(node).phase, 0);
    plan_.phases[static_cast<size_t>(phase)].work.AddFirst(
        rows == nullptr ? CopyOfRead(node, memory, copy) : CopyOfRows(node, *rows, copy));
    buffers_.TouchPhase(copy, phase);
  }

  // Whether a reader would find the updated variable in the memory of the read: an update itself, a
  // fetch, or a node of a later phase that uses the read or a view of it.
  bool IsOverwritten(Node& read) {
    const int first = FirstUpdateAfter(read);
    if (first == -1) return false;
    const std::set<Value> views = WithViews(read.output(0));
    const auto is_late = [&](const Node* node) {
      return At(*node).needed && (IsUpdate(*node) || At(*node).phase > first);
    };
    if (fetched_.empty()) fetched_.insert(bound_.fetches.begin(), bound_.fetches.end());
    return std::any_of(views.begin(), views.end(), [&](const Value& view) {
      const std::vector<Node*>& readers = ReadersOf(view);
      return fetched_.contains(view) || std::any_of(readers.begin(), readers.end(), is_late);
    });
  }

  // The first phase, not before the read's own, that updates its variable; -1 if none does.
  int FirstUpdateAfter(Node& read) {
    int first = -1;
    for (const Node* const node : ReadersOf(read.input(0))) {
      const bool updates = At(*node).needed && IsUpdate(*node);
      const int phase = At(*node).phase;
      if (updates && phase >= At(read).phase && (first == -1 || phase < first)) first = phase;
    }
    return first;
  }

  // The value, its views, and views of these: all values that may share its memory.
  std::set<Value> WithViews(const Value& value) {
    std::set<Value> views;
    std::vector<Value> found = {value};
    while (!found.empty()) {
      const Value view = found.back();
      found.pop_back();
      if (!views.insert(view).second) continue;
      for (Node* const node : ReadersOf(view)) {
        if (node->op().alias && node->input(0) == view) found.push_back(Value{node, 0});
      }
    }
    return views;
  }

  // The nodes that read a value, in graph order.
  const std::vector<Node*>& ReadersOf(const Value& value) const {
    static const std::vector<Node*> kNone;
    const auto found = readers_.find(value);
    return found == readers_.end() ? kNone : found->second;
  }

  void PlanNode(Node& node, int phase);

  // The kSum result that a Cast to float can read without rounding it to bfloat16 first.
  bool ReadsUnroundedPart(const Node& node) const {
    if (!node.op().converts || node.output_dtype(0) != DType::kFloat) return false;
    const Value& input = node.input(0);
    return At(*input.node).rows == Rows::kSum && input.dtype() == DType::kBfloat16;
  }

  // False if all that read this kSum result take it unrounded.
  bool IsReadRounded(const Value& value) const {
    int unrounded = 0;
    for (const Node* const node : ReadersOf(value)) {
      if (At(*node).needed && ReadsUnroundedPart(*node)) {
        unrounded += node->input(0) == value ? 1 : 0;
      }
    }
    return buffers_.Readers(value) > unrounded;
  }

  // The kSum result whose parts a sum over replicas may add itself because it is the only reader;
  // otherwise an invalid Value.
  Value OnlySummed(Value value) const {
    if (buffers_.Readers(value) != 1) return {};
    if (ReadsUnroundedPart(*value.node)) return OnlySummed(value.node->input(0));
    return At(*value.node).rows == Rows::kSum ? value : Value();
  }

  void PlanFetch(const Node& node, int phase);
  void PlanQuestions();
  void PlanCrossReplicaSum(Node& node, int phase);
  void PlanGatherRows(Node& node, int phase);
  void PlanParts(Node& node, int phase);
  Buffer PartOfRun(const Value& value, int phase);
  void PlanRuns(const Value& value, int phase);

  const BoundGraph& bound_;
  const Schedule& schedule_;
  const CompileOptions& options_;
  const ProgramVariables variables_;
  Buffers buffers_;
  CpuPlan plan_;
  std::map<Value, std::vector<Node*>> readers_;
  std::set<Value> fetched_;
  std::map<std::pair<int, std::string>, Buffer> derived_;   // by input buffer and key
  std::map<Value, Buffer> run_parts_;                       // of sums over rows
  std::map<const Node*, Buffer> row_counts_;                // of row-filling nodes
  std::map<const Node*, std::vector<size_t>> whole_after_;  // SumJob::whole_after
};

// A variant of a kernel for filled rows (NodeSchedule::filled_by): it computes `most` rows, and
// runs if more than `least` and at most `most` rows are filled.
struct FilledRows {
  int64_t least = 0;
  int64_t most = 0;
};

// The variants for all possible numbers of rows, in eighths of the maximum.
std::vector<FilledRows> FilledParts(int64_t rows) {
  constexpr int64_t kParts = 8;
  std::vector<FilledRows> parts;
  for (int64_t part = kParts; part > 0; --part) {
    const int64_t most = (rows * part + kParts - 1) / kParts;
    const int64_t least = part == 1 ? -1 : (rows * (part - 1) + kParts - 1) / kParts;
    if (least < most) parts.push_back({least, most});
  }
  return parts;
}

// The PlanContext of one node, in one variant of a block or for one variant of filled rows.
class NodeContext final : public PlanContext {
 public:
  NodeContext(Planner& planner, Node& node, int phase, size_t variant,
              const std::optional<FilledRows>& filled = {})
      : planner_(planner),
        node_(node),
        plan_(planner.At(node)),
        phase_(phase),
        variant_(variant),
        filled_(filled),
        rows_(filled ? filled->most : Phase().variant_rows[variant]) {
    for (int i = 0; i < inputs(); ++i) input_shapes_.push_back(CutShape(WholeInputShape(i), i));
    for (int i = 0; i < node.outputs(); ++i) {
      Shape shape = node.output_shape(i);
      if (OutputIsCut() || filled_) shape.set_dim(0, rows_);
      output_shapes_.push_back(shape);
    }
  }

  [[nodiscard]] const Node& node() const override { return node_; }
  [[nodiscard]] const Shape& InputShape(int i) const override {
    return input_shapes_[static_cast<size_t>(i)];
  }
  [[nodiscard]] const Shape& OutputShape(int i) const override {
    return output_shapes_[static_cast<size_t>(i)];
  }
  [[nodiscard]] DType OutputDType(int i) const override {
    const DType dtype = node_.output_dtype(i);
    return plan_.rows == Rows::kSum && dtype == DType::kBfloat16 ? DType::kFloat : dtype;
  }
  [[nodiscard]] bool OutputIsCut() const override { return plan_.rows == Rows::kEach; }
  [[nodiscard]] bool OutputIsUsed(int i) const override {
    return planner_.buffers_.IsRead(Value{&node_, i});
  }
  [[nodiscard]] int threads() const override { return planner_.options_.threads; }
  [[nodiscard]] Tensor Constant(int i) const override {
    const Node& source = *node_.input(i).node;
    return source.op().source == ValueSource::kConstant ? source.Attr<Tensor>("value") : Tensor();
  }

  [[nodiscard]] Buffer Input(int i) override {
    return planner_.buffers_.Use(node_.input(i), plan_.cut_inputs[static_cast<size_t>(i)]);
  }
  // A sum over rows is written as one part per block; RunSums adds them.
  [[nodiscard]] Buffer Output(int i) override {
    const Value value{&node_, i};
    if (plan_.rows == Rows::kSum) return planner_.PartOfRun(value, phase_);
    return planner_.buffers_.Use(value, OutputIsCut());
  }
  [[nodiscard]] Buffer Scratch(size_t bytes) override {
    return planner_.buffers_.Scratch(bytes, plan_.level, phase_, node_);
  }
  [[nodiscard]] Buffer RowCount() override {
    return planner_.row_counts_[&node_] = Scratch(sizeof(int64_t));
  }
  // A part belongs to its block, and the rows of a whole tensor are not where a block's rows are:
  // neither can share its input's memory.
  void AllowInPlace(int output, int input) override {
    if (plan_.rows == Rows::kSum) return;
    if (OutputIsCut() && !plan_.cut_inputs[static_cast<size_t>(input)]) return;
    planner_.buffers_.ShareIfLastUse(Value{&node_, output}, node_, input);
  }
  void Alias(int output, int input) override {
    Check(plan_.rows != Rows::kSum, "a sum over rows cannot be a view");
    Check(node_.op().alias && output == 0 && input == 0,
          "{} '{}' makes a view, but its OpDef has no alias", node_.type(), node_.name());
    planner_.buffers_.Merge(Value{&node_, output}, node_.input(input));
  }
  // Computes the value as early as possible: in the input's phase if that precedes the node's, so
  // that all blocks and all nodes with the same key share one result; otherwise before the node's
  // own kernel, only for this phase and variant.
  Buffer Derived(int input, const std::string& key, size_t bytes,
                 const std::function<Kernel(Buffer, Buffer)>& make) override {
    const Node& source = *node_.input(input).node;
    const NodeSchedule& there = planner_.At(source);
    const Buffer in = planner_.buffers_.Use(node_.input(input), false);
    // A feed differs by replica, so values derived from it are computed in the phase that uses
    // them.
    const bool here = there.phase == phase_ || source.op().source == ValueSource::kFeed;
    const bool by_block = there.result_level == Level::kBlock;
    const std::string full_key =
        here || by_block ? fmt::format("{}/{}/{}", key, phase_, variant_) : key;
    const auto found = planner_.derived_.find({in.id, full_key});
    if (found != planner_.derived_.end()) {
      planner_.buffers_.Touch(found->second, node_);
      return found->second;
    }
    const int phase = here || by_block ? phase_ : std::max(there.phase, 0);
    const Level level = here || by_block ? plan_.level : there.result_level;
    const Buffer out = planner_.buffers_.Scratch(bytes, level, phase, node_);
    if (!here && !by_block) planner_.buffers_.TouchPhase(out, phase);
    planner_.derived_[{in.id, full_key}] = out;
    PhasePlan& target = planner_.plan_.phases[static_cast<size_t>(phase)];
    const bool by_rows = by_block && plan_.cut_inputs[static_cast<size_t>(input)];
    Kernel kernel = make(planner_.buffers_.Use(node_.input(input), by_rows), out);
    if (target.level == Level::kBlock) {
      target.kernels[phase == phase_ ? variant_ : 0].push_back(std::move(kernel));
    } else if (there.phase == phase_ && plan_.lane >= 0) {
      target.work.AddNode(plan_.stage, plan_.lane, {.kernel = std::move(kernel)});
    } else if (phase == phase_) {
      target.work.AddBefore(plan_.stage, std::move(kernel));
    } else {
      target.work.AddLast(std::move(kernel));
    }
    return out;
  }
  [[nodiscard]] Buffer VariableInput(int i) override {
    return planner_.buffers_.Address(planner_.variables_.MemoryOf(*node_.input(i).node));
  }
  [[nodiscard]] const RowColumn* RowsInput(int i) override {
    return planner_.variables_.RowsOf(*node_.input(i).node);
  }
  [[nodiscard]] const RowWatch* WatchInput(int i) override {
    const RowWatch* const watch = planner_.variables_.WatchOf(*node_.input(i).node);
    if (watch != nullptr) planner_.plan_.counts_rows = true;
    return watch;
  }
  void Run(Kernel kernel) override {
    if (planner_.options_.trace != nullptr) kernel = Traced(std::move(kernel));
    if (Phase().level == Level::kBlock) {
      Phase().kernels[variant_].push_back(std::move(kernel));
    } else {
      Phase().work.AddNode(plan_.stage, plan_.lane, WorkOf(std::move(kernel)));
    }
  }
  void RunRanges(int64_t n, RangeKernel kernel) override {
    if (Phase().level == Level::kBlock) return PlanContext::RunRanges(n, std::move(kernel));
    Work work = WorkOf({});
    if (planner_.options_.trace != nullptr) kernel = Traced(std::move(kernel));
    work.ranges = std::move(kernel);
    work.elements = n;
    Phase().work.AddNode(plan_.stage, plan_.lane, std::move(work));
  }

 private:
  [[nodiscard]] Shape CutShape(Shape shape, int i) const {
    const auto input = static_cast<size_t>(i);
    if (filled_ ? plan_.filled_inputs[input] : plan_.cut_inputs[input]) shape.set_dim(0, rows_);
    return shape;
  }

  // A kernel that runs `kernel` and records the times.
  template <class Fn>
  [[nodiscard]] Fn Traced(Fn kernel) const {
    return [kernel = std::move(kernel), trace = planner_.options_.trace, name = node_.name(),
            op = std::string(node_.type())](const Task& task, auto... range) {
      const double begin = trace->Now();
      kernel(task, range...);
      trace->Add({name, op, task.thread, begin, trace->Now()});
    };
  }

  // A host op's kernel does not run beside others, because its strings go into one list. The cost
  // counts elements that are read and written.
  [[nodiscard]] Work WorkOf(Kernel kernel) const {
    Work work{.kernel = std::move(kernel), .alone = node_.op().host};
    if (filled_) {
      work.count = planner_.row_counts_.at(plan_.filled_by);
      work.least = filled_->least;
      work.most = filled_->most;
      planner_.buffers_.Touch(work.count, node_);
    }
    for (const Value& input : node_.inputs()) {
      if (input.dtype() != DType::kResource) work.cost += input.shape().elements();
    }
    for (const Shape& shape : output_shapes_) work.cost += shape.elements();
    return work;
  }

  PhasePlan& Phase() { return planner_.plan_.phases[static_cast<size_t>(phase_)]; }

  Planner& planner_;
  Node& node_;
  const NodeSchedule& plan_;
  int phase_;
  size_t variant_;
  const std::optional<FilledRows> filled_;
  int64_t rows_;
  std::vector<Shape> input_shapes_;
  std::vector<Shape> output_shapes_;
};

// A Cast to float of a sum over rows needs no kernel: it reads the sum before it was rounded.
void Planner::PlanNode(Node& node, int phase) {
  if (node.op().source != ValueSource::kNone) return;
  if (node.op().sums_replicas) return PlanCrossReplicaSum(node, phase);
  if (node.op().gathers_replicas) return PlanGatherRows(node, phase);
  if (ReadsUnroundedPart(node)) {
    buffers_.ShareWithSum(node.output(0), node.input(0));
    return;
  }
  if (node.op().cpu == nullptr) {
    throw Error(Code::kUsage, fmt::format("{} '{}' has no CPU kernel", node.type(), node.name()))
        .At(node.origin());
  }
  if (GivesNoElements(node) && At(node).rows != Rows::kSum) return;
  if (const Node* const filled_by = At(node).filled_by) {
    for (const FilledRows& filled : FilledParts(filled_by->output_shape(0).dim(0))) {
      NodeContext context(*this, node, phase, 0, filled);
      node.op().cpu(context);
    }
    return;
  }
  if (variables_.AsksForRows(node)) PlanFetch(node, phase);
  for (size_t v = 0; v < plan_.phases[static_cast<size_t>(phase)].variant_rows.size(); ++v) {
    NodeContext context(*this, node, phase, v);
    node.op().cpu(context);
  }
  if (At(node).rows == Rows::kSum) PlanParts(node, phase);
}

// The indices are known when the phase begins: the node waits for them (ScheduleOptions::asks).
void Planner::PlanFetch(const Node& node, int phase) {
  const Value indices = node.input(1);
  plan_.phases[static_cast<size_t>(phase)].fetches.jobs.push_back(
      {.rows = variables_.RowsOf(*BehindIdentities(node.input(0)).node),
       .ids = buffers_.Use(indices, false),
       .dtype = indices.dtype(),
       .elements = indices.shape().elements(),
       .is_shared = At(node).level == Level::kGlobal});
}

// The questions of a phase are sent once all its row numbers are known and all earlier writes are
// done.
void Planner::PlanQuestions() {
  std::vector<size_t> asked(plan_.phases.size(), 0);
  for (size_t p = 0; p < plan_.phases.size(); ++p) {
    for (const Node* const node : schedule_.phases[p].nodes) {
      if (!variables_.AsksForRows(*node)) continue;
      const Node& indices = *node->input(1).node;
      // The prologue copies a read that is overwritten.
      const int known =
          std::max(At(indices).phase, indices.op().source == ValueSource::kRead ? 0 : -1);
      asked[p] = std::max(asked[p], static_cast<size_t>(known + 1));
    }
    for (size_t before = asked[p]; before < p; ++before) {
      if (IsOfUpdates(plan_.phases[before])) asked[p] = before + 1;
    }
    if (!plan_.phases[p].fetches.jobs.empty()) {
      plan_.phases[asked[p]].fetches.asks.push_back(p);
    }
  }
}

// The buffer for a run's contribution to its block's part; the part itself if a block is one run.
Buffer Planner::PartOfRun(const Value& value, int phase) {
  if (schedule_.phases[static_cast<size_t>(phase)].run_rows == schedule_.block_rows) {
    return buffers_.Part(value);
  }
  const auto found = run_parts_.find(value);
  if (found != run_parts_.end()) return found->second;
  const size_t bytes =
      static_cast<size_t>(value.shape().elements()) * SizeOf(AddedIn(value.dtype()));
  return run_parts_[value] = buffers_.Scratch(bytes, Level::kBlock, phase, *value.node);
}

// The runs of a block are added to its part in order.
void Planner::PlanRuns(const Value& value, int phase) {
  const Buffer run = PartOfRun(value, phase);
  const Buffer part = buffers_.Part(value);
  if (run.id == part.id) return;
  const DType dtype = AddedIn(value.dtype());
  const int64_t n = value.shape().elements();
  const auto block_rows = static_cast<size_t>(schedule_.block_rows);
  const Kernel add = [=](const Task& task) {
    if (task.row_begin % block_rows == 0) {
      std::memcpy(task.At(part), task.At(run), static_cast<size_t>(n) * SizeOf(dtype));
    } else {
      AddArray(dtype, task.At(run), task.At(part), n);
    }
  };
  for (auto& kernels : plan_.phases[static_cast<size_t>(phase)].kernels) kernels.push_back(add);
}

// Adds the jobs after a kBlock phase: they add the parts over the blocks, and round the float sum
// once at the end if a node reads the value as bfloat16. With a single block the part is the sum.
void Planner::PlanParts(Node& node, int phase) {
  PhasePlan& target = plan_.phases[static_cast<size_t>(phase)];
  for (int i = 0; i < node.outputs(); ++i) {
    const Value value = node.output(i);
    PlanRuns(value, phase);
    const Buffer part = buffers_.Part(value);
    const bool rounded = value.dtype() == DType::kBfloat16;
    const int64_t elements = value.shape().elements();
    if (schedule_.blocks > 1) {
      target.sums.push_back({part, buffers_.SumOfParts(value), elements,
                             rounded ? DType::kFloat : value.dtype(),
                             /*over_blocks=*/true, /*over_replicas=*/false});
    }
    if (!rounded || !IsReadRounded(value)) continue;
    const Buffer out = buffers_.Use(value, false);
    buffers_.TouchPhase(out, phase);
    const Buffer sum = buffers_.SumOfParts(value);
    target.after_sums.push_back([sum, out, elements](const Task& task) {
      const auto* const from = task.At<const float>(sum);
      auto* const to = task.At<bfloat16>(out);
      for (int64_t e = 0; e < elements; ++e) to[e] = bfloat16(from[e]);
    });
  }
  std::vector<size_t>& whole_after = whole_after_[&node];
  for (const std::vector<Kernel>& kernels : target.kernels) whole_after.push_back(kernels.size());
}

// Sums run before the kernels of a kGlobal phase, so the input must be ready when the phase begins.
void Planner::PlanCrossReplicaSum(Node& node, int phase) {
  const Value input = node.input(0);
  SumJob job{buffers_.Use(input, false), buffers_.Use(node.output(0), false),
             input.shape().elements(),   input.dtype(),
             /*over_blocks=*/false,      /*over_replicas=*/true};
  const NodeSchedule& source = At(*input.node);
  // Blocks and replicas in one pass.
  const Value parts = OnlySummed(input);
  if (parts.valid() && input.dtype() != DType::kBfloat16 && schedule_.blocks > 1) {
    std::vector<SumJob>& sums = plan_.phases[static_cast<size_t>(At(*parts.node).phase)].sums;
    job.in = buffers_.Part(parts);
    job.over_blocks = true;
    std::erase_if(sums, [&](const SumJob& sum) { return sum.in.id == job.in.id; });
  }
  const Node& maker = parts.valid() ? *parts.node : *input.node;
  const auto whole = whole_after_.find(&maker);
  const bool is_part =
      job.over_blocks || (schedule_.blocks == 1 && input.dtype() != DType::kBfloat16);
  if (is_part && whole != whole_after_.end()) {
    job.block_phase = At(maker).phase;
    job.whole_after = whole->second;
  }
  PhasePlan& target = plan_.phases[static_cast<size_t>(phase)];
  Check(source.result_level == Level::kReplica || source.phase < phase,
        "'{}' sums a value that its own phase computes", node.name());
  buffers_.TouchPhase(job.out, phase);
  target.sums.push_back(job);
}

// Like sums, gathers run before the kernels of their phase.
void Planner::PlanGatherRows(Node& node, int phase) {
  const auto gathered = [&](int i) {
    const Value input = node.input(i);
    const NodeSchedule& source = At(*input.node);
    Check(source.result_level == Level::kReplica || source.phase < phase,
          "'{}' gathers rows that its own phase computes", node.name());
    const Buffer out = buffers_.Use(node.output(i), false);
    buffers_.TouchPhase(out, phase);
    const size_t bytes = static_cast<size_t>(input.shape().elements()) * SizeOf(input.dtype());
    return GatherPart{.in = buffers_.Use(input, false), .out = out, .bytes = bytes};
  };
  GatherJob job{.numbers = gathered(0), .values = gathered(1), .dtype = node.input(0).dtype()};
  if (node.HasAttr(kRowsOf)) job.rows = variables_.RowsOf(node.Attr<std::string>(kRowsOf));
  plan_.phases[static_cast<size_t>(phase)].gathers.push_back(job);
}

}  // namespace

CpuPlan PlanProgram(const BoundGraph& bound, const Schedule& schedule,
                    const CompileOptions& options, VariableStore& variables) {
  return Planner(bound, schedule, options, variables).Run();
}

}  // namespace tpuest
