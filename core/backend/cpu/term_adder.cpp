#include "core/backend/cpu/term_adder.h"

#include <algorithm>
#include <span>
#include <vector>

#include "core/backend/cpu/sum.h"

namespace tpuest {
namespace {

constexpr int64_t kTaskElements = 1 << 15;  // of a large tensor, that one task computes

// Elements that one task adds of one result: a replica's, or one partial sum over replicas.
struct AddedRange {
  const SumJob* sum;
  int result;
  int64_t begin;
  int64_t end;
};

}  // namespace

TermAdder::TermAdder(const CompiledProgram& program, const StepMemory& memory, ThreadTeam& team)
    : program_(program),
      memory_(memory),
      team_(team),
      terms_{.here = program.here,
             .blocks = static_cast<int>(program.schedule.blocks),
             .at = [&memory](Buffer buffer, int replica, int block) {
               return memory.At(buffer, replica, block);
             }} {
  if (program.options.collective != nullptr) {
    shared_.emplace(program.plan, *program.options.collective, terms_);
  }
}

// The ranges of all sums are one list of tasks, so that small sums do not wait for each other.
void TermAdder::Add(size_t phase) {
  const std::vector<SumJob>& sums = program_.plan.phases[phase].sums;
  const size_t added = shared_ ? shared_->Offered(phase) : 0;
  const int shared = shared_ ? shared_->parts() : 1;
  std::vector<AddedRange> ranges;
  for (const SumJob& sum : std::span(sums).subspan(added)) {
    const int results = sum.over_replicas ? shared : program_.here.count;
    for (int result = 0; result < results; ++result) {
      for (int64_t at = 0; at < sum.elements; at += kTaskElements) {
        ranges.push_back({&sum, result, at, std::min(at + kTaskElements, sum.elements)});
      }
    }
  }
  team_.ForEach(static_cast<int>(ranges.size()), [&](int i, int /*thread*/) {
    const auto& [sum, result, begin, end] = ranges[static_cast<size_t>(i)];
    if (sum->over_replicas && shared_) {
      shared_->AddPart(phase, *sum, result, begin, end);
    } else {
      AddRange(*sum, result, begin, end);
    }
  });
  if (shared_) shared_->Give(phase);
}

void TermAdder::AddRange(const SumJob& sum, int replica, int64_t begin, int64_t end) const {
  auto* const out = const_cast<void*>(memory_.At(sum.out, replica));
  if (!sum.over_replicas) {
    TreeSum(
        sum.dtype, terms_.blocks, [&](int b) { return memory_.At(sum.in, replica, b); }, out, begin,
        end);
    return;
  }
  // Blocks first: each replica's own tree is complete.
  if (sum.over_blocks) AddBlocks(terms_, sum, 0, terms_.here.count, begin, end);
  TreeSum(
      sum.dtype, terms_.here.count, [&](int r) { return memory_.At(sum.in, r); }, out, begin, end);
}

}  // namespace tpuest
