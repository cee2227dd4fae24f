#include "core/backend/stages.h"

#include <algorithm>
#include <numeric>

namespace tpuest {
namespace {

constexpr int64_t kPartElements = 1 << 15;  // of a large tensor, that one thread computes at a time
// Elements that the other threads must be able to take over before waking them pays.
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

using NodeRun = std::vector<Node*>;

int64_t ResultBytes(const NodeRun& nodes) {
  return std::accumulate(
      nodes.begin(), nodes.end(), int64_t{0},
      [](int64_t bytes, const Node* node) { return bytes + ResultBytes(*node); });
}

// A phase in runs, one behind the other, of strands that do not read each other's results, such as
// the updates of tables: as many a run as have results of at most kLargePhaseBytes.
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
    std::map<const Node*, int64_t> bytes;  // by strand
    for (const Node* const node : nodes_) bytes[StrandOf(*node)] += ResultBytes(*node);
    std::map<const Node*, size_t> run_of;  // by strand
    size_t last = 0;
    int64_t held = 0;
    for (const Node* const node : nodes_) {
      const Node* const strand = StrandOf(*node);
      if (run_of.contains(strand)) continue;
      if (held > 0 && held + bytes[strand] > kLargePhaseBytes) {
        ++last;
        held = 0;
      }
      held += bytes[strand];
      run_of[strand] = last;
    }
    std::vector<NodeRun> runs(last + 1);
    for (Node* const node : nodes_) {
      size_t run = std::max(run_of[StrandOf(*node)], AfterControls(*node));
      for (const Value& input : node->inputs()) {
        if (IsHere(*input.node)) run = std::max(run, run_.at(input.node));
      }
      run_[node] = run;
      runs[run].push_back(node);
    }
    return runs;
  }

 private:
  [[nodiscard]] bool IsHere(const Node& node) const {
    return schedule_.nodes[static_cast<size_t>(node.id())].phase == phase_;
  }
  const Node* StrandOf(const Node& node) {
    const Node* at = &node;
    for (auto up = joined_.find(at); up != joined_.end(); up = joined_.find(at)) at = up->second;
    return at;
  }
  void Join(const Node& node, const Node& to) {
    const Node* const own = StrandOf(node);
    const Node* const other = StrandOf(to);
    if (own != other) joined_[own] = other;
  }
  // What it waits for without reading it, through nodes that only order.
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
  const NodeRun& nodes_;
  std::map<const Node*, const Node*> joined_;
  std::map<const Node*, const Node*> last_update_;  // by variable
  std::map<const Node*, size_t> run_;
};

// The stages of one phase, asked for in an order in which a node is behind what it waits for: its
// stage is one more than the highest among those of this phase, and `least` or more. next_update_
// keeps the updates of one variable apart, in the order of the graph.
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

  // A node that only orders (NoOp) stands in no phase: what it waits for counts.
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

// Adds a kernel as one part, or in ranges that do not depend on the number of threads.
void Split(const Work& work, std::vector<WorkPart>& parts) {
  const int64_t most = IsLarge(work) ? kPartElements : std::max<int64_t>(work.elements, 1);
  for (int64_t at = 0; at == 0 || at < work.elements; at += most) {
    parts.push_back({&work, at, std::min(at + most, work.elements)});
  }
}

// Sharing a stage costs a wake-up of all threads (some microseconds). It pays if what the others
// could take from the busiest thread is worth that; a work that must run alone keeps its stage on
// one thread.
bool PaysShared(const std::vector<Work>& works) {
  int64_t all = 0;
  int64_t largest = 0;
  for (const Work& work : works) {
    if (work.alone) return false;
    all += work.cost;
    largest = std::max(largest, IsLarge(work) ? kPartElements : work.cost);
  }
  return all - largest >= kSharedCost;
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
      const int least = next;
      for (const Node* const node : run) {
        NodeSchedule& plan = schedule.nodes[static_cast<size_t>(node->id())];
        plan.stage = is_large ? next : stages.StageOf(*node, least);
        next = std::max(next, plan.stage + 1);
      }
    }
    std::stable_sort(phase.nodes.begin(), phase.nodes.end(), [&](const Node* a, const Node* b) {
      return schedule.nodes[static_cast<size_t>(a->id())].stage <
             schedule.nodes[static_cast<size_t>(b->id())].stage;
    });
  }
}

// Neighbouring stages that are not shared become one: nothing has to wait between them.
std::vector<Stage> StagedWork::Stages(int threads) const {
  std::vector<Stage> stages;
  for (const auto& [key, works] : work_) {
    const bool shared = threads > 1 && PaysShared(works);
    if (shared || stages.empty() || stages.back().shared) stages.push_back({{}, shared});
    for (const Work& work : works) {
      if (shared) {
        Split(work, stages.back().parts);
      } else {
        stages.back().parts.push_back({&work, 0, work.elements});
      }
    }
  }
  return stages;
}

}  // namespace tpuest
