#include "core/backend/stages.h"

#include <algorithm>

namespace tpuest {
namespace {

constexpr int64_t kPartElements = 1 << 15;  // of a large tensor, that one thread computes at a time
// Elements that the other threads must be able to take over before waking them pays.
constexpr int64_t kSharedCost = 1 << 14;

// An upper bound of the memory that a phase needs if none of its results shares memory.
int64_t ResultBytes(const Phase& phase) {
  int64_t bytes = 0;
  for (const Node* const node : phase.nodes) {
    for (int i = 0; i < node->outputs(); ++i) {
      const bool sized = node->output_shape(i).fully_known();
      if (node->output_dtype(i) == DType::kResource || !sized) continue;
      bytes += node->output_shape(i).elements() *
               static_cast<int64_t>(std::max<size_t>(SizeOf(node->output_dtype(i)), 1));
    }
  }
  return bytes;
}

// The stages of one phase, asked for in graph order of its nodes: a node's stage is one more than
// the highest among what it waits for in this phase. next_update_ keeps the updates of one variable
// apart, in the order of the graph.
class PhaseStages {
 public:
  PhaseStages(Schedule& schedule, int phase) : schedule_(schedule), phase_(phase) {}

  int StageOf(const Node& node) {
    int stage = 0;
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
    const bool is_large = ResultBytes(phase) > kLargePhaseBytes;
    PhaseStages stages(schedule, static_cast<int>(p));
    int count = 0;
    for (const Node* const node : phase.nodes) {
      NodeSchedule& plan = schedule.nodes[static_cast<size_t>(node->id())];
      plan.stage = is_large ? count++ : stages.StageOf(*node);
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
