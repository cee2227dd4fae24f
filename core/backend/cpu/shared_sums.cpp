#include "core/backend/cpu/shared_sums.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/backend/cpu/sum.h"
#include "core/base/error.h"
#include "core/tensor/dtype.h"

namespace tpuest {
namespace {

constexpr size_t kSharedAlignment = 64;  // bytes, of a sum's partial sums
// Smaller sums fit into one bucket, which is complete only with the last of them.
constexpr int64_t kLeastOffered = int64_t{1} << 19;  // elements

}  // namespace

bool AsksOthers(const PhasePlan& phase) {
  return !phase.gathers.empty() || std::any_of(phase.sums.begin(), phase.sums.end(),
                                               [](const SumJob& sum) { return sum.over_replicas; });
}

void OrderByWhole(std::vector<SumJob>& sums) {
  std::stable_sort(sums.begin(), sums.end(), [](const SumJob& a, const SumJob& b) {
    if ((a.block_phase < 0) != (b.block_phase < 0)) return b.block_phase < 0;
    return std::pair(a.block_phase, a.whole_after) < std::pair(b.block_phase, b.whole_after);
  });
}

void AddBlocks(const SumTerms& terms, const SumJob& sum, int first, int count, int64_t begin,
               int64_t end) {
  for (int r = first; r < first + count; ++r) {
    const auto part = [&](int b) { return terms.at(sum.in, r, b); };
    TreeSum(sum.dtype, terms.blocks, part, const_cast<void*>(part(0)), begin, end);
  }
}

SharedSums::SharedSums(const CpuPlan& plan, Collective& collective, SumTerms terms)
    : plan_(plan), collective_(collective), terms_(std::move(terms)), offers_(FindOffers()) {
  size_t most = 0;
  for (const PhasePlan& phase : plan_.phases) {
    size_t bytes = 0;
    for (const SumJob& sum : phase.sums) bytes += BytesOf(sum);
    most = std::max(most, bytes);
  }
  memory_ = std::make_unique<Arena>(most);
  for (const PhasePlan& phase : plan_.phases) phases_.push_back(SumsOf(phase));
}

// Each partial sum begins at a multiple of kSharedAlignment. A sum that is rounded at the end
// follows them.
size_t SharedSums::BytesOf(const SumJob& sum) const {
  if (!sum.over_replicas) return 0;
  const bool is_rounded = AddedIn(sum.dtype) != sum.dtype;
  const size_t sums = collective_.parts().size() + (is_rounded ? 1 : 0);
  const size_t bytes = sums * static_cast<size_t>(sum.elements) * SizeOf(AddedIn(sum.dtype));
  return (bytes + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
}

std::optional<SharedSums::Offers> SharedSums::FindOffers() const {
  const auto asks = std::find_if(plan_.phases.begin(), plan_.phases.end(), AsksOthers);
  if (asks == plan_.phases.end() || asks->sums.empty()) return std::nullopt;
  const int block_phase = asks->sums.front().block_phase;
  if (block_phase < 0) return std::nullopt;
  Offers offers{.block_phase = static_cast<size_t>(block_phase),
                .sum_phase = static_cast<size_t>(asks - plan_.phases.begin())};
  int64_t elements = 0;
  for (const SumJob& sum : asks->sums) {
    if (sum.block_phase != block_phase) break;
    offers.whole_after.push_back(sum.whole_after);
    elements += sum.elements;
  }
  if (elements < kLeastOffered) return std::nullopt;
  return offers;
}

SharedSums::PhaseSums SharedSums::SumsOf(const PhasePlan& phase) const {
  PhaseSums listed;
  char* memory = memory_->data();
  for (const SumJob& sum : phase.sums) {
    if (!sum.over_replicas) continue;
    const DType dtype = AddedIn(sum.dtype);
    const size_t bytes = static_cast<size_t>(sum.elements) * SizeOf(dtype);
    auto* const out = const_cast<char*>(static_cast<const char*>(terms_.at(sum.out, 0, 0)));
    listed.jobs.push_back(&sum);
    listed.sums.push_back(
        {.dtype = dtype,
         .elements = sum.elements,
         .parts = memory,
         .sum = dtype == sum.dtype ? out : memory + collective_.parts().size() * bytes});
    memory += BytesOf(sum);
  }
  return listed;
}

void SharedSums::BeginOffers() {
  offered_ = 0;
  whole_blocks_.assign(offers_->whole_after.size(), 0);
}

// Counts the block for each sum after the kernel that completes its term.
void SharedSums::RunAndOffer(size_t variant, const Task& task) {
  const std::vector<Kernel>& kernels = plan_.phases[offers_->block_phase].kernels[variant];
  const auto& whole_after = offers_->whole_after;
  size_t done = 0;
  for (size_t sum = 0; sum < whole_after.size();) {
    for (; done < whole_after[sum][variant]; ++done) kernels[done](task);
    size_t next = sum + 1;
    while (next < whole_after.size() && whole_after[next][variant] <= done) ++next;
    CountBlock(sum, next);
    sum = next;
  }
  for (; done < kernels.size(); ++done) kernels[done](task);
}

// Notes that the terms of sums first to end - 1 are complete in one more block. One thread at a
// time adds and offers the sums that are complete in all blocks; it checks again before it returns.
void SharedSums::CountBlock(size_t first, size_t end) {
  const int64_t all = int64_t{terms_.here.count} * terms_.blocks;
  const auto is_next_whole = [&] {
    return offered_ < whole_blocks_.size() && whole_blocks_[offered_] == all;
  };
  const PhaseSums& listed = phases_[offers_->sum_phase];
  std::unique_lock lock(mutex_);
  for (size_t i = first; i < end; ++i) ++whole_blocks_[i];
  if (is_offering_) return;
  is_offering_ = true;
  while (is_next_whole()) {
    const size_t index = offered_++;
    lock.unlock();
    AddWhole(*listed.jobs[index]);
    collective_.Offer(listed.sums, index + 1);
    lock.lock();
  }
  is_offering_ = false;
}

void SharedSums::AddWhole(const SumJob& sum) const {
  for (int part = 0; part < parts(); ++part) {
    AddPart(offers_->sum_phase, sum, part, 0, sum.elements);
  }
}

// Adds the replicas of one of this process's parts of the tree.
void SharedSums::AddPart(size_t phase, const SumJob& sum, int part, int64_t begin,
                         int64_t end) const {
  const auto& [jobs, sums] = phases_[phase];
  const auto at = std::find(jobs.begin(), jobs.end(), &sum);
  const SharedSum& shared = sums[static_cast<size_t>(at - jobs.begin())];
  const ReplicaRange& range = collective_.parts()[static_cast<size_t>(part)];
  const int first = range.first - terms_.here.first;
  if (sum.over_blocks) AddBlocks(terms_, sum, first, range.count, begin, end);
  const size_t bytes = static_cast<size_t>(sum.elements) * SizeOf(shared.dtype);
  char* const to = shared.parts + static_cast<size_t>(part) * bytes;
  UnroundedTreeSum(
      sum.dtype, range.count, [&](int r) { return terms_.at(sum.in, first + r, 0); }, to, begin,
      end);
}

void SharedSums::Give(size_t phase) const {
  const std::vector<SharedSum>& sums = phases_[phase].sums;
  if (!sums.empty()) collective_.Offer(sums, sums.size());
}

void SharedSums::Finish(size_t phase) {
  const auto& [jobs, sums] = phases_[phase];
  if (sums.empty()) return;
  collective_.Sum(sums);
  for (size_t i = 0; i < sums.size(); ++i) {
    if (sums[i].dtype == jobs[i]->dtype) continue;
    const auto* const from = reinterpret_cast<const float*>(sums[i].sum);
    auto* const to = static_cast<bfloat16*>(const_cast<void*>(terms_.at(jobs[i]->out, 0, 0)));
    for (int64_t e = 0; e < jobs[i]->elements; ++e) to[e] = bfloat16(from[e]);
  }
}

}  // namespace tpuest
