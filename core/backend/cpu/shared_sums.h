#pragma once
// The sums over replicas of a program whose replicas are spread over several processes. This
// process adds its own terms; a Collective adds the rest. If a kBlock phase computes the terms,
// partial sums are sent as soon as they are complete, while later kernels still run:
//
//   kernels of a block   [ conv2 grad ][ conv1 grad ][ ... ]
//   complete after           dense         conv2        conv1     in all blocks of all replicas
//   offered                  dense ------> conv2 -----> conv1 --> Collective::Sum
//
// All blocks run their kernels in one order, so the sums are completed in one order, the same in
// every process: that of PhasePlan::sums.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "core/backend/collective.h"
#include "core/backend/cpu/arena.h"
#include "core/backend/cpu/planner.h"

namespace tpuest {

// Sorts sums by the order in which their terms are complete: later layers' weights before those of
// earlier layers, then the sums that no kBlock phase computes.
void OrderByWhole(std::vector<SumJob>& sums);

// Whether a phase needs sums or rows of other processes.
[[nodiscard]] bool AsksOthers(const PhasePlan& phase);

// The addresses of the terms of a program's sums. Replicas are counted from this process's first
// one.
struct SumTerms {
  ReplicaRange here;
  int blocks = 1;  // per replica
  std::function<const void*(Buffer buffer, int replica, int block)> at;
};

// Adds elements [begin, end) over the blocks of replicas first to first + count - 1, into each
// replica's first block.
void AddBlocks(const SumTerms& terms, const SumJob& sum, int first, int count, int64_t begin,
               int64_t end);

class SharedSums {
 public:
  // `plan` and `collective` outlive this object.
  SharedSums(const CpuPlan& plan, Collective& collective, SumTerms terms);

  // ---- while a kBlock phase runs
  [[nodiscard]] bool OffersIn(size_t phase) const {
    return offers_ && offers_->block_phase == phase;
  }
  void BeginOffers();
  // Runs the kernels of a block's last rows, on any thread.
  void RunAndOffer(size_t variant, const Task& task);

  // ---- the sums of a phase The number of first sums that need no AddPart because they were
  // offered.
  [[nodiscard]] size_t Offered(size_t phase) const {
    return offers_ && offers_->sum_phase == phase ? offered_ : 0;
  }
  // The number of partial sums per sum.
  [[nodiscard]] int parts() const { return static_cast<int>(collective_.parts().size()); }
  void AddPart(size_t phase, const SumJob& sum, int part, int64_t begin, int64_t end) const;
  // Sends the partial sums to the peers; all parts are added.
  void Give(size_t phase) const;
  // Stores the value of every sum.
  void Finish(size_t phase);

 private:
  // The sums whose partial sums are sent early: the first ones of sum_phase, which is the next
  // phase that exchanges data with other processes.
  struct Offers {
    size_t block_phase = 0;
    size_t sum_phase = 0;
    std::vector<std::vector<size_t>> whole_after;  // by sum, then by variant
  };
  // The sums over replicas of a phase.
  struct PhaseSums {
    std::vector<const SumJob*> jobs;
    std::vector<SharedSum> sums;  // of the same
  };
  [[nodiscard]] std::optional<Offers> FindOffers() const;
  [[nodiscard]] PhaseSums SumsOf(const PhasePlan& phase) const;
  [[nodiscard]] size_t BytesOf(const SumJob& sum) const;
  void CountBlock(size_t first, size_t end);
  void AddWhole(const SumJob& sum) const;

  const CpuPlan& plan_;
  Collective& collective_;
  const SumTerms terms_;
  std::unique_ptr<Arena> memory_;  // of the partial sums of one phase
  std::vector<PhaseSums> phases_;
  const std::optional<Offers> offers_;
  std::mutex mutex_;                   // guards whole_blocks_ and the members after it
  std::vector<int64_t> whole_blocks_;  // by sum
  size_t offered_ = 0;
  bool is_offering_ = false;
};

}  // namespace tpuest
