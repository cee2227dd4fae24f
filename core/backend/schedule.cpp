// When each node runs, and on what: a block of rows, a replica, or once.
//
// In: a bound graph, and which feeds are cut into rows. Out: a level, a phase and a stage for each
// node, and the phases in their order. Every node gets
//   - a level from its inputs: a block's if one of them is cut into rows and its op's row rule can
//     do with rows, else a replica's if one differs by replica, else it runs once for all;
//   - a wave: that of the latest input; one more than that of an update that it waits for by a
//     control input;
//   - a time within the wave: that of the latest input, or one more if that input is there only at
//     a higher level than the node's own. Where lookups ask other processes for rows, what they
//     look at begins at 0, all else at 1, and they are two behind what they look at: what does
//     without them is between.
// A phase is all nodes of one (wave, time, level), in that order. The updates of a wave are moved
// behind everything else in it, those of rows first, and with them what no other node reads.
//
//   loss = Sum(x * w), dw = CrossReplicaSum(Sum(x)), w += dw; x is [130, 3] and cut, w a variable
//
//   phase  wave time level
//     0                          the prologue: copies of reads, layouts derived from sources
//     1      0    0  kBlock      Mul, Sum, Sum: three blocks of 44, 44 and 42 rows a replica; then
//                                the parts of the sums are added
//     2      0    0  kGlobal     CrossReplicaSum
//     3      0    0  kUpdate     AssignAddVariableOp
//
// Had x been divided by Sum(x), that product would be at time 1: a second kBlock phase, when every
// block's part of the sum is there.
//
// Where rows are heavy a phase takes a block in runs of some of its rows, one after the other: an
// image of 2 MB goes through normalisation, convolution and sums before the next one does, and does
// not leave the cache between them. Phases of small images take the whole block at once.
//
// What holds then:
//   - What a node reads is computed in an earlier phase, or earlier in its own by the same block,
//     replica or stage.
//   - The phases of a wave before its updates see the variables as the wave found them.
//   - Blocks, levels and phases follow from the graph and the batch alone, never from the number of
//     threads: the same bits on every machine.

#include "core/backend/schedule.h"

#include <algorithm>
#include <map>

#include "core/backend/plan.h"
#include "core/backend/stages.h"
#include "core/graph/cut.h"
#include "core/graph/flops.h"
#include "core/graph/recompute.h"

namespace tpuest {

namespace {

// True if the node's value is there before the program starts.
bool IsSource(const Node& node) { return node.op().source != ValueSource::kNone; }

// Position of a phase in time; compared lexicographically.
struct When {
  int wave = 0;  // how many rounds of updates come before
  int time = 0;
  Level level = Level::kBlock;
  auto operator<=>(const When&) const = default;
};

bool IsAmong(const std::vector<bool>& ids, const Node& node) {
  const auto id = static_cast<size_t>(node.id());
  return id < ids.size() && ids[id];
}

// Finds what runs on blocks of rows, on replicas or once.
class LevelFinder {
 public:
  // Fills the blocks of the schedule, and level and rows of each node.
  LevelFinder(const BoundGraph& bound, const ScheduleOptions& options, Schedule& schedule)
      : bound_(bound), options_(options), graph_(*bound.graph), schedule_(schedule) {
    schedule_.nodes.resize(graph_.nodes().size());
    FindRows();
    // Nodes that are not needed are also placed: a constant shape may have been folded from their
    // rows.
    for (const auto& node : graph_.nodes()) PlaceNode(*node);
  }

  [[nodiscard]] bool has_heavy_rows() const { return heavy_; }

 private:
  NodeSchedule& At(const Node& node) { return schedule_.nodes[static_cast<size_t>(node.id())]; }

  // Finds the batch that is cut, of which there is one a program, and divides it evenly: 130 rows
  // are blocks of 44, 44 and 42 and not of 64, 64 and 2, so that no thread waits for a block much
  // larger than its own.
  void FindRows() {
    for (size_t i = 0; i < bound_.feeds.size(); ++i) {
      if (!options_.cut_feeds[i]) continue;
      const Shape& shape = bound_.feeds[i].shape();
      Check(shape.rank() > 0, "'{}' has no axis to cut", bound_.feeds[i].name());
      if (shape.dim(0) == 0) {
        throw Error(Code::kUsage, fmt::format("'{}' has no rows", bound_.feeds[i].name()));
      }
      if (schedule_.batch_rows != 0 && schedule_.batch_rows != shape.dim(0)) {
        throw Error(Code::kUsage,
                    fmt::format("'{}' has {} rows, the batch has {}", bound_.feeds[i].name(),
                                shape.dim(0), schedule_.batch_rows));
      }
      schedule_.batch_rows = shape.dim(0);
    }
    const int64_t rows = schedule_.batch_rows;
    if (rows == 0) return;
    heavy_ = options_.cut_rows && AreHeavyRows();
    const int64_t most = !options_.cut_rows ? rows : heavy_ ? kMaxHeavyRows : kMaxBlockRows;
    const int64_t blocks = (rows + most - 1) / most;
    schedule_.block_rows = (rows + blocks - 1) / blocks;
    schedule_.blocks = (rows + schedule_.block_rows - 1) / schedule_.block_rows;
  }

  // Few heavy rows are many operations, which more threads than one should share. What is computed
  // again does not count: with and without it blocks are the same, and so are the bits.
  bool AreHeavyRows() const {
    int64_t flops = 0;
    for (const auto& node : graph_.nodes()) {
      if (!node->HasAttr(kRecomputed)) flops += FlopsOf(*node);
    }
    return flops / schedule_.batch_rows >= kHeavyRowFlops;
  }

  // True for a constant that was folded from the shape of something cut and still counts its rows.
  // Fill(Shape(x), 0) then makes a block's rows, where a plain constant would make the batch's in
  // every block.
  bool IsShapeOfCut(const Value& value) {
    const auto found = bound_.shape_sources.find(value.node);
    if (found == bound_.shape_sources.end() || value.shape().rank() != 1 ||
        value.shape().dim(0) == 0) {
      return false;
    }
    const Tensor shape = value.node->Attr<Tensor>("value");
    return IsInteger(shape.dtype()) &&
           static_cast<int64_t>(shape.AsDouble(0)) == schedule_.batch_rows &&
           std::any_of(found->second.begin(), found->second.end(), [&](const Value& source) {
             return At(*source.node).result_level == Level::kBlock;
           });
  }

  // Finds level and rows of a node whose inputs are placed. Without a row rule a node that reads
  // rows runs once a replica, on whole tensors: that is always right, only slower.
  void PlaceNode(Node& node) {
    NodeSchedule& plan = At(node);
    plan.cut_inputs.assign(node.inputs().size(), false);
    if (node.op().source == ValueSource::kFeed) {
      plan.level = plan.result_level = LevelOfFeed(node);
      return;
    }
    std::vector<bool> cut;
    bool any_cut = false;
    bool any_replica = false;
    for (const Value& input : node.inputs()) {
      const Level level = At(*input.node).result_level;
      cut.push_back(level == Level::kBlock || IsShapeOfCut(input));
      any_cut |= cut.back();
      any_replica |= level != Level::kGlobal;
    }
    plan.level = any_replica || any_cut ? Level::kReplica : Level::kGlobal;
    if (node.op().crosses_replicas() || IsUpdate(node)) {
      plan.level = Level::kGlobal;
    } else if (any_cut && node.op().rows != nullptr) {
      ApplyRowRule(node, cut, any_replica);
    }
    // There is one copy of a variable, so no replica's value may be preferred.
    if (IsUpdate(node) && any_replica && options_.replicas > 1) {
      throw Error(Code::kUsage,
                  fmt::format("{} '{}' writes a value that differs between the {} replicas",
                              node.type(), node.name(), options_.replicas),
                  "average it over the replicas with CrossReplicaSum first")
          .At(node.origin());
    }
    if (plan.rows == Rows::kWhole) plan.result_level = plan.level;
  }

  Level LevelOfFeed(const Node& node) {
    for (size_t i = 0; i < bound_.feeds.size(); ++i) {
      if (bound_.feeds[i].node != &node) continue;
      return options_.cut_feeds[i] ? Level::kBlock : Level::kReplica;
    }
    return Level::kReplica;
  }

  // The rule may also ask for an input by rows that is there whole (RowContext::Cut).
  void ApplyRowRule(Node& node, const std::vector<bool>& cut, bool any_replica) {
    NodeSchedule& plan = At(node);
    RowContext context(node, cut, schedule_.batch_rows);
    plan.rows = node.op().rows(context);
    if (plan.rows == Rows::kWhole) {
      if (!any_replica) plan.level = Level::kGlobal;
      return;
    }
    plan.level = Level::kBlock;
    plan.result_level = plan.rows == Rows::kEach ? Level::kBlock : Level::kReplica;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      plan.cut_inputs[i] = context.cut()[i] && !IsShapeOfCut(node.inputs()[i]);
    }
  }

  const BoundGraph& bound_;
  const ScheduleOptions& options_;
  const Graph& graph_;
  Schedule& schedule_;
  bool heavy_ = false;  // rows
};

int64_t RowBytes(const Value& value, int64_t batch_rows) {
  if (value.dtype() == DType::kString || value.dtype() == DType::kResource) return 0;
  return value.shape().elements() / batch_rows * static_cast<int64_t>(SizeOf(value.dtype()));
}

// The number of a block's heavy rows that these nodes compute at a time. Recomputed nodes do not
// count, as above.
int64_t RowsOfRun(const std::vector<Node*>& nodes, const Schedule& schedule) {
  int64_t largest = 1;
  for (const Node* const node : nodes) {
    if (node->HasAttr(kRecomputed)) continue;
    const NodeSchedule& plan = schedule.nodes[static_cast<size_t>(node->id())];
    const auto add = [&](const Value& value) {
      largest = std::max(largest, RowBytes(value, schedule.batch_rows));
    };
    for (size_t i = 0; i < node->inputs().size(); ++i) {
      if (plan.cut_inputs[i]) add(node->inputs()[i]);
    }
    for (int i = 0; i < node->outputs() && plan.rows == Rows::kEach; ++i) {
      add({const_cast<Node*>(node), i});
    }
  }
  const int64_t most = std::clamp<int64_t>(kRunBytes / largest, 1, schedule.block_rows);
  const int64_t runs = (schedule.block_rows + most - 1) / most;
  return (schedule.block_rows + runs - 1) / runs;
}

// Finds each node's wave and time, and collects the phases.
class PhaseFinder {
 public:
  // The levels of the schedule are found.
  PhaseFinder(const BoundGraph& bound, const ScheduleOptions& options, bool has_heavy_rows,
              Schedule& schedule)
      : bound_(bound),
        options_(options),
        graph_(*bound.graph),
        asks_(has_heavy_rows ? options.may_ask : options.asks),
        has_heavy_rows_(has_heavy_rows),
        schedule_(schedule),
        when_(graph_.nodes().size()) {}

  void Run() {
    std::vector<Value> fetches = bound_.fetches;
    if (bound_.guard.valid()) fetches.push_back(bound_.guard);
    const std::vector<char> needed = NeededNodes(graph_, fetches, bound_.targets, {});
    FindAsked();
    for (const auto& node : graph_.nodes()) {
      At(*node).needed = needed[static_cast<size_t>(node->id())] != 0;
      PlaceInTime(*node);
    }
    PlaceUpdates();
    CollectPhases();
  }

 private:
  NodeSchedule& At(const Node& node) { return schedule_.nodes[static_cast<size_t>(node.id())]; }
  When& WhenOf(const Node& node) { return when_[static_cast<size_t>(node.id())]; }

  // Finds the nodes whose values are looked up by lookups that ask other processes.
  void FindAsked() {
    std::vector<Value> asked;
    for (const auto& node : graph_.nodes()) {
      if (IsAmong(asks_, *node)) asked.push_back(node->input(1));
    }
    if (!asked.empty()) is_asked_ = NeededNodes(graph_, asked, {}, {});
  }
  // The time at which a node's wave begins for it.
  [[nodiscard]] int FirstTime(const Node& node) const {
    return is_asked_.empty() || is_asked_[static_cast<size_t>(node.id())] != 0 ? 0 : 1;
  }

  // A source without control inputs stands in no phase; a read that waits for something does.
  void PlaceInTime(Node& node) {
    if (node.op().source == ValueSource::kFeed) return;
    if (IsSource(node) && node.control_inputs().empty()) return;
    NodeSchedule& plan = At(node);
    When when{0, FirstTime(node), plan.level};
    for (const Value& input : node.inputs()) {
      NotBefore(when, *input.node, node.op().crosses_replicas());
    }
    for (const Node* const control : node.control_inputs()) {
      if (IsUpdate(*control)) {
        // Sees what the update wrote: a round later, but for updates in order among themselves.
        if (!IsUpdate(node)) when.wave = std::max(when.wave, WhenOf(*control).wave + 1);
      } else if (At(*control).phase != -1 || !IsSource(*control)) {
        NotBefore(when, *control, false);
      }
    }
    if (IsAmong(asks_, node)) PlaceAsking(node, when);
    WhenOf(node) = when;
    plan.phase = 0;  // not a source; the index follows in CollectPhases
  }

  // Two phases behind what it looks at, and so behind what begins with the wave.
  void PlaceAsking(const Node& node, When& when) {
    const Node& asked = *node.input(1).node;
    const bool is_there = At(asked).phase == -1 || WhenOf(asked).wave < when.wave;
    when.time = std::max(when.time, is_there ? 2 : WhenOf(asked).time + 2);
  }

  // `strictly`: not in the same kGlobal phase either, since sums run at its start.
  void NotBefore(When& when, const Node& input, bool strictly) {
    const NodeSchedule& plan = At(input);
    if (plan.phase == -1) return;  // a source
    const When there = WhenOf(input);
    if (there.wave > when.wave) {
      when.wave = there.wave;
      when.time = 0;
    }
    if (there.wave < when.wave) return;
    const bool later =
        plan.result_level > when.level || (strictly && plan.result_level == Level::kGlobal);
    when.time = std::max(when.time, there.time + (later ? 1 : 0));
  }

  // The updates of a wave run last in it. They take the time of its last phase and the highest
  // levels, so everything that read the old values is over.
  void PlaceUpdates() {
    std::map<int, int> last_time;
    for (const auto& node : graph_.nodes()) {
      if (!At(*node).needed || At(*node).phase == -1) continue;
      const When when = WhenOf(*node);
      last_time[when.wave] = std::max(last_time[when.wave], when.time);
    }
    bool any_of_rows = false;
    for (const auto& node : graph_.nodes()) {
      if (!At(*node).needed || !IsUpdate(*node)) continue;
      const bool of_rows = IsAmong(options_.row_updates, *node);
      const Level level = of_rows ? Level::kRowUpdate : Level::kUpdate;
      When& when = WhenOf(*node);
      when = {when.wave, last_time[when.wave], level};
      At(*node).level = level;
      any_of_rows = any_of_rows || of_rows;
    }
    if (any_of_rows) MoveToRowUpdates();
  }

  // What runs once, and is computed for updates of rows alone, goes to their phase.
  void MoveToRowUpdates() {
    std::map<const Node*, std::vector<const Node*>> readers;
    std::map<const Node*, int> first_update;  // by variable: the least id
    for (const auto& node : graph_.nodes()) {
      if (!At(*node).needed) continue;
      for (const Value& input : node->inputs()) {
        readers[input.node].push_back(node.get());
        if (IsUpdate(*node)) first_update.try_emplace(input.node, node->id());
      }
      for (const Node* const control : node->control_inputs()) {
        readers[control].push_back(node.get());
      }
    }
    for (const Value& fetch : bound_.fetches) readers[fetch.node].push_back(nullptr);
    if (bound_.guard.valid()) readers[bound_.guard.node].push_back(nullptr);
    const auto& nodes = graph_.nodes();
    for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
      const auto found = readers.find(node->get());
      if (found == readers.end() || !MayMove(**node, first_update)) continue;
      const auto when_of = [&](const Node* reader) {
        return reader == nullptr || At(*reader).phase == -1 ? When() : WhenOf(*reader);
      };
      const When when = when_of(found->second.front());
      const auto is_there = [&](const Node* reader) { return when_of(reader) == when; };
      if (when.level != Level::kRowUpdate || when.wave != WhenOf(**node).wave) continue;
      if (std::all_of(found->second.begin(), found->second.end(), is_there)) WhenOf(**node) = when;
    }
  }

  // Not what reads a variable that was updated before, in the order of the graph.
  bool MayMove(const Node& node, const std::map<const Node*, int>& first_update) {
    const NodeSchedule& plan = At(node);
    if (!plan.needed || plan.phase == -1 || plan.level != Level::kGlobal) return false;
    if (IsUpdate(node) || node.only_orders() || node.op().host || node.op().writes) return false;
    if (node.op().crosses_replicas() || IsAmong(asks_, node)) return false;
    return std::all_of(node.inputs().begin(), node.inputs().end(), [&](const Value& input) {
      const auto updated = first_update.find(input.node);
      return input.dtype() != DType::kResource || updated == first_update.end() ||
             updated->second > node.id();
    });
  }

  // The map's order is the phases' order: wave, time, level. Phase 0 is the prologue, which no node
  // is in.
  void CollectPhases() {
    std::map<When, std::vector<Node*>> phases;
    for (const auto& node : graph_.nodes()) {
      if (!At(*node).needed || At(*node).phase == -1 || node->only_orders()) continue;
      phases[WhenOf(*node)].push_back(node.get());
    }
    schedule_.phases.push_back({});
    for (auto& [when, nodes] : phases) {
      for (const Node* const node : nodes) {
        At(*node).phase = static_cast<int>(schedule_.phases.size());
      }
      const int64_t run_rows = when.level == Level::kBlock ? RunRows(nodes) : 0;
      schedule_.phases.push_back({when.level, run_rows, std::move(nodes)});
    }
  }
  [[nodiscard]] int64_t RunRows(const std::vector<Node*>& nodes) const {
    return has_heavy_rows_ ? RowsOfRun(nodes, schedule_) : schedule_.block_rows;
  }

  const BoundGraph& bound_;
  const ScheduleOptions& options_;
  const Graph& graph_;
  const std::vector<bool>& asks_;  // lookups that ask other processes for rows
  const bool has_heavy_rows_;
  Schedule& schedule_;
  std::vector<char> is_asked_;  // what lookups that ask look at; empty: none asks
  std::vector<When> when_;
};

}  // namespace

Schedule ScheduleGraph(const BoundGraph& bound, const ScheduleOptions& options) {
  Schedule schedule;
  const LevelFinder levels(bound, options, schedule);
  PhaseFinder(bound, options, levels.has_heavy_rows(), schedule).Run();
  FindStages(schedule);
  return schedule;
}

Rows BroadcastRows(RowContext& context) {
  const int rank = context.Output(0).rank();
  if (rank == 0 || context.Output(0).dim(0) != context.batch_rows()) return Rows::kWhole;
  bool any = false;
  for (int i = 0; i < static_cast<int>(context.node().inputs().size()); ++i) {
    const Shape& shape = context.Input(i);
    if (context.IsCut(i)) {
      if (shape.rank() != rank) return Rows::kWhole;
      any = true;
    } else if (shape.rank() == rank && shape.dim(0) != 1) {
      context.Cut(i);
    }
  }
  return any ? Rows::kEach : Rows::kWhole;
}

Rows FirstInputRows(RowContext& context) {
  for (int i = 1; i < static_cast<int>(context.node().inputs().size()); ++i) {
    if (context.IsCut(i)) return Rows::kWhole;
  }
  return context.IsCut(0) ? Rows::kEach : Rows::kWhole;
}

std::vector<int64_t> Schedule::RunSizesOf(const Phase& phase) const {
  std::vector<int64_t> sizes = {phase.run_rows};
  if (phase.level != Level::kBlock) return sizes;
  for (const int64_t block : {int64_t{0}, blocks - 1}) {
    const int64_t rest = RowsOf(block) % phase.run_rows;
    const bool is_new = std::find(sizes.begin(), sizes.end(), rest) == sizes.end();
    if (rest != 0 && is_new) sizes.push_back(rest);
  }
  return sizes;
}

}  // namespace tpuest
