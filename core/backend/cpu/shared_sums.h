#pragma once
// The sums over replicas of a program whose replicas are spread over several processes. This one
// adds the terms of its own; a Collective adds the rest. Where a kBlock phase makes them, the
// partial sums leave as soon as they are whole, while its later kernels run:
//
//   kernels of a block   [ conv2 grad ][ conv1 grad ][ ... ]
//   whole after              dense         conv2        conv1     in all blocks of all replicas
//   offered                  dense ------> conv2 -----> conv1 --> Collective::Sum
//
// Blocks pass their kernels in one order, so the sums become whole in one order: everywhere the
// same, that of PhasePlan::sums.

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

// Brings sums into the order in which their terms are whole: those of later layers' weights come
// before those of earlier ones, and behind all those that no kBlock phase makes.
void OrderByWhole(std::vector<SumJob>& sums);

// Whether a phase needs what other processes have summed or gathered.
[[nodiscard]] bool AsksOthers(const PhasePlan& phase);

// Where the terms of a program's sums are. Replicas are counted from this process's first one.
struct SumTerms {
  ReplicaRange here;
  int blocks = 1;  // of a replica
  std::function<const void*(Buffer buffer, int replica, int block)> at;
};

// Adds elements begin to end - 1 of the blocks of replicas first to first + count - 1, in place in
// each one's first block.
void AddBlocks(const SumTerms& terms, const SumJob& sum, int first, int count, int64_t begin,
               int64_t end);

class SharedSums {
 public:
  // All but the terms outlive it.
  SharedSums(const CpuPlan& plan, Collective& collective, SumTerms terms);

  // ---- while a kBlock phase runs
  [[nodiscard]] bool OffersIn(size_t phase) const {
    return offers_ && offers_->block_phase == phase;
  }
  void BeginOffers();
  // Runs the kernels of a block's last rows, on any thread.
  void RunAndOffer(size_t variant, const Task& task);

  // ---- the sums of a phase
  // How many of the first ones need no AddPart: they were offered.
  [[nodiscard]] size_t Offered(size_t phase) const {
    return offers_ && offers_->sum_phase == phase ? offered_ : 0;
  }
  // The partial sums of each, which are added one by one.
  [[nodiscard]] int parts() const { return static_cast<int>(collective_.parts().size()); }
  void AddPart(size_t phase, const SumJob& sum, int part, int64_t begin, int64_t end) const;
  // All parts are added, and leave for the others.
  void Give(size_t phase) const;
  // Gives every sum its value.
  void Finish(size_t phase);

 private:
  // Whose partial sums leave early: the first ones of sum_phase, the next that asks anything of the
  // other processes.
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
  std::mutex mutex_;                   // of what follows
  std::vector<int64_t> whole_blocks_;  // by sum
  size_t offered_ = 0;
  bool is_offering_ = false;
};

}  // namespace tpuest
