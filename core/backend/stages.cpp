#include "core/backend/stages.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace tpuest {
namespace {

constexpr int64_t kPartElements = 1 << 15;  // of a large tensor, computed by one thread at a time
// Number of elements that the other threads must be able to take over so that waking them pays.
constexpr int64_t kSharedCost = 1 << 14;

int64_t ResultBytes(const Node& node) {
  int64_t bytes = 0;
  for (int i = 0; i < node.outputs(); ++i) {
    const bool sized = node.output_shape(i).fully_known();
    if (node.output_dtype(i) == DType::kResource || !sized) continue;
    bytes += node.output_shape(i).elements() *
             static_cast<int64_t>(std::max<size_t>(SizeOf(node.output_dtype(i)), 1));
  }
  return bytes;
}

// Nodes that may run in parallel, and the task of each.
struct NodeRun {
  std::vector<Node*> nodes;
  std::vector<const Node*> tasks;

  void Add(Node& node, const Node* task) {
    nodes.push_back(&node);
    tasks.push_back(task);
  }
};

int64_t ResultBytes(const NodeRun& run) {
  return std::accumulate(
      run.nodes.begin(), run.nodes.end(), int64_t{0},
      [](int64_t bytes, const Node* node) { return bytes + ResultBytes(*node); });
}

// Splits a phase into consecutive groups of tasks that do not read each other's results, such as
// the updates of tables. A group's results have at most kLargePhaseBytes.
class PhaseRuns {
 public:
  // `phase`: its nodes in graph order.
  PhaseRuns(const Schedule& schedule, int phase)
      : schedule_(schedule),
        phase_(phase),
        nodes_(schedule.phases[static_cast<size_t>(phase)].nodes) {
    for (const Node* const node : nodes_) {
      for (const Value& input : node->inputs()) {
        if (IsHere(*input.node)) Join(*node, *input.node);
        if (!IsUpdate(*node) || input.dtype() != DType::kResource) continue;
        const auto [before, is_first] = last_update_.try_emplace(input.node, node);
        if (!is_first) Join(*node, *before->second);
      }
    }
  }

  std::vector<NodeRun> Make() {
    std::map<const Node*, int64_t> bytes;  // by task
    for (const Node* const node : nodes_) bytes[TaskOf(*node)] += ResultBytes(*node);
    std::map<const Node*, size_t> run_of;  // by task
    size_t last = 0;
    int64_t held = 0;
    for (const Node* const node : nodes_) {
      const Node* const task = TaskOf(*node);
      if (run_of.contains(task)) continue;
      if (held > 0 && held + bytes[task] > kLargePhaseBytes) {
        ++last;
        held = 0;
      }
      held += bytes[task];
      run_of[task] = last;
    }
    std::vector<NodeRun> runs(last + 1);
    for (Node* const node : nodes_) {
      size_t run = std::max(run_of[TaskOf(*node)], AfterControls(*node));
      for (const Value& input : node->inputs()) {
        if (IsHere(*input.node)) run = std::max(run, run_.at(input.node));
      }
      run_[node] = run;
      runs[run].Add(*node, TaskOf(*node));
    }
    return runs;
  }

 private:
  [[nodiscard]] bool IsHere(const Node& node) const {
    return schedule_.nodes[static_cast<size_t>(node.id())].phase == phase_;
  }
  // Shortens the paths that it followed (union-find): they would grow with the number of nodes.
  const Node* TaskOf(const Node& node) {
    const Node* root = &node;
    for (auto up = joined_.find(root); up != joined_.end(); up = joined_.find(root)) {
      root = up->second;
    }
    const Node* at = &node;
    for (auto up = joined_.find(at); up != joined_.end(); up = joined_.find(at)) {
      at = std::exchange(up->second, root);
      if (at == root) break;
    }
    return root;
  }
  void Join(const Node& node, const Node& to) {
    const Node* const own = TaskOf(node);
    const Node* const other = TaskOf(to);
    if (own != other) joined_[own] = other;
  }
  // The group after the nodes that it waits for without reading them, directly or through NoOps.
  [[nodiscard]] size_t AfterControls(const Node& node) const {
    size_t run = 0;
    for (const Node* const control : node.control_inputs()) {
      const auto there = run_.find(control);
      if (there != run_.end()) run = std::max(run, there->second);
      if (control->only_orders()) run = std::max(run, AfterControls(*control));
    }
    return run;
  }

  const Schedule& schedule_;
  int phase_;
  const std::vector<Node*>& nodes_;
  std::map<const Node*, const Node*> joined_;
  std::map<const Node*, const Node*> last_update_;  // by variable
  std::map<const Node*, size_t> run_;
};

// The lane of each node of a group, by id. Lanes are small tasks of several nodes that wait for no
// other task by a control input, if there are at least two.
std::map<int, int> LanesOf(const NodeRun& run) {
  struct TaskSize {
    int nodes = 0;
    int64_t bytes = 0;
    bool waits = false;
  };
  std::map<const Node*, const Node*> task_of;
  std::map<const Node*, TaskSize> tasks;
  for (size_t i = 0; i < run.nodes.size(); ++i) task_of[run.nodes[i]] = run.tasks[i];
  const std::function<bool(const Node&, const Node*)> waits = [&](const Node& node,
                                                                  const Node* task) {
    const auto& controls = node.control_inputs();
    return std::any_of(controls.begin(), controls.end(), [&](const Node* control) {
      if (control->only_orders()) return waits(*control, task);
      const auto there = task_of.find(control);
      return there != task_of.end() && there->second != task;
    });
  };
  for (size_t i = 0; i < run.nodes.size(); ++i) {
    const Node& node = *run.nodes[i];
    TaskSize& task = tasks[run.tasks[i]];
    ++task.nodes;
    task.bytes += ResultBytes(node);
    task.waits = task.waits || node.op().host || waits(node, run.tasks[i]);
  }
  std::map<const Node*, int> numbers;
  for (const Node* const task : run.tasks) {
    const TaskSize& of = tasks.at(task);
    if (of.nodes < 2 || of.bytes > kLaneBytes || of.waits) continue;
    numbers.try_emplace(task, static_cast<int>(numbers.size()));
  }
  std::map<int, int> lanes;
  if (numbers.size() < 2) return lanes;
  for (size_t i = 0; i < run.nodes.size(); ++i) {
    const auto found = numbers.find(run.tasks[i]);
    if (found != numbers.end()) lanes[run.nodes[i]->id()] = found->second;
  }
  return lanes;
}

// Marks the nodes of a lane that compute the rows filled by one of its nodes row by row, unless a
// node computes them otherwise. `nodes` are in graph order.
void MarkFilled(const std::vector<const Node*>& nodes, Schedule& schedule) {
  const Node* source = nullptr;
  std::map<const Node*, std::vector<bool>> marked;
  for (const Node* const node : nodes) {
    if (node->op().fills_rows) {
      if (source != nullptr || !node->output_shape(0).fully_known()) return;
      source = node;
      continue;
    }
    std::vector<bool> filled;
    for (const Value& input : node->inputs()) {
      filled.push_back(source != nullptr && (input.node == source || marked.contains(input.node)));
    }
    if (std::find(filled.begin(), filled.end(), true) == filled.end()) continue;
    if (node->op().writes_rows) {
      if (!filled[1] || !filled[2]) return;
      marked[node] = filled;
      continue;
    }
    RowContext context(*node, filled, source->output_shape(0).dim(0));
    if (node->op().rows == nullptr || node->op().rows(context) != Rows::kEach) return;
    marked[node] = context.cut();
  }
  for (const auto& [node, filled] : marked) {
    NodeSchedule& plan = schedule.nodes[static_cast<size_t>(node->id())];
    plan.filled_by = source;
    plan.filled_inputs = filled;
  }
}

// The same for all lanes of a group. No node outside of a lane reads its values of a table's rows.
void FindFilled(const NodeRun& run, const std::map<int, int>& lanes, Schedule& schedule) {
  std::map<int, std::vector<const Node*>> by_lane;
  for (const Node* const node : run.nodes) {
    const auto lane = lanes.find(node->id());
    if (lane != lanes.end()) by_lane[lane->second].push_back(node);
  }
  for (const auto& [lane, nodes] : by_lane) MarkFilled(nodes, schedule);
}

// Assigns the stages of one phase. Nodes arrive after the nodes that they wait for; a node's stage
// is one more than the highest of these in the phase, and at least `least`. next_update_ keeps the
// updates of one variable in separate stages, in graph order.
class PhaseStages {
 public:
  PhaseStages(Schedule& schedule, int phase) : schedule_(schedule), phase_(phase) {}

  int StageOf(const Node& node, int least) {
    int stage = least;
    for (const Value& input : node.inputs()) {
      stage = std::max({stage, After(*input.node), next_update_[input.node]});
    }
    for (const Node* const control : node.control_inputs()) {
      stage = std::max(stage, AfterControl(*control));
    }
    if (!IsUpdate(node)) return stage;
    for (const Value& input : node.inputs()) {
      if (input.dtype() == DType::kResource) next_update_[input.node] = stage + 1;
    }
    return stage;
  }

 private:
  [[nodiscard]] int After(const Node& input) const {
    const NodeSchedule& there = schedule_.nodes[static_cast<size_t>(input.id())];
    return there.phase == phase_ ? there.stage + 1 : 0;
  }

  // A NoOp is in no phase; the nodes that it waits for count instead.
  [[nodiscard]] int AfterControl(const Node& control) const {
    if (!control.only_orders()) return After(control);
    int stage = 0;
    for (const Node* const before : control.control_inputs()) {
      stage = std::max(stage, AfterControl(*before));
    }
    return stage;
  }

  Schedule& schedule_;
  int phase_;
  std::map<const Node*, int> next_update_;  // by variable
};

bool IsLarge(const Work& work) { return work.ranges != nullptr && work.elements > kPartElements; }

// Adds a kernel as one task, or in ranges that do not depend on the number of threads.
void Split(const Work& work, std::vector<WorkParts>& tasks) {
  const int64_t most = IsLarge(work) ? kPartElements : std::max<int64_t>(work.elements, 1);
  for (int64_t at = 0; at == 0 || at < work.elements; at += most) {
    tasks.push_back({{&work, at, std::min(at + most, work.elements)}});
  }
}

}  // namespace

void FindStages(Schedule& schedule) {
  for (size_t p = 0; p < schedule.phases.size(); ++p) {
    Phase& phase = schedule.phases[p];
    if (phase.level == Level::kBlock) continue;
    PhaseStages stages(schedule, static_cast<int>(p));
    int next = 0;
    for (const NodeRun& run : PhaseRuns(schedule, static_cast<int>(p)).Make()) {
      const bool is_large = ResultBytes(run) > kLargePhaseBytes;
      const std::map<int, int> lanes = LanesOf(run);
      if (phase.level == Level::kRowUpdate) FindFilled(run, lanes, schedule);
      const int least = next;
      for (const Node* const node : run.nodes) {
        NodeSchedule& plan = schedule.nodes[static_cast<size_t>(node->id())];
        const auto lane = lanes.find(node->id());
        if (lane != lanes.end()) {
          plan.stage = least;
          plan.lane = lane->second;
        } else {
          plan.stage = is_large ? next : stages.StageOf(*node, least);
        }
        next = std::max(next, plan.stage + 1);
      }
    }
    std::stable_sort(phase.nodes.begin(), phase.nodes.end(), [&](const Node* a, const Node* b) {
      return schedule.nodes[static_cast<size_t>(a->id())].stage <
             schedule.nodes[static_cast<size_t>(b->id())].stage;
    });
  }
}

void StagedWork::Add(int key, int lane, Work work) {
  std::vector<Lane>& lanes = lanes_[key];
  const bool is_new = lane < 0 || places_.try_emplace({key, lane}, lanes.size()).second;
  if (is_new) lanes.push_back({lane, {}});
  Lane& to = is_new ? lanes.back() : lanes[places_.at({key, lane})];
  to.works.push_back(std::move(work));
}

// Sharing a stage wakes all threads (a few microseconds). It pays if they can take over enough work
// from the busiest thread. A work that must not run beside others keeps its stage on one thread.
bool StagedWork::PaysShared(const std::vector<Lane>& lanes) {
  int64_t all = 0;
  int64_t largest = 0;
  for (const Lane& lane : lanes) {
    int64_t cost = 0;
    for (const Work& work : lane.works) {
      if (work.alone) return false;
      cost += work.cost;
    }
    all += cost;
    const bool is_split = lane.number < 0 && IsLarge(lane.works.front());
    largest = std::max(largest, is_split ? kPartElements : cost);
  }
  return all - largest >= kSharedCost;
}

// Merges neighbouring stages that are not shared: no thread has to wait between them.
std::vector<Stage> StagedWork::Stages(int threads) const {
  std::vector<Stage> stages;
  for (const auto& [key, lanes] : lanes_) {
    const bool shared = threads > 1 && PaysShared(lanes);
    if (shared || stages.empty() || stages.back().shared) stages.push_back({{}, shared});
    std::vector<WorkParts>& tasks = stages.back().tasks;
    for (const Lane& lane : lanes) {
      if (shared && lane.number < 0) {
        Split(lane.works.front(), tasks);
        continue;
      }
      tasks.emplace_back();
      for (const Work& work : lane.works) tasks.back().push_back({&work, 0, work.elements});
    }
  }
  return stages;
}

}  // namespace tpuest
