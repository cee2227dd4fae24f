#pragma once
// What a program asks of the other processes of a run whose replicas are spread over several. Every
// process runs the same programs in the same order, so its calls meet the others' in order.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor/dtype.h"

namespace tpuest {

// Replicas first to first + count - 1.
struct ReplicaRange {
  int first = 0;
  int count = 0;

  [[nodiscard]] int end() const { return first + count; }
  // Which process has them, where all have as many.
  [[nodiscard]] size_t rank() const {
    return static_cast<size_t>(first) / static_cast<size_t>(count);
  }
  bool operator==(const ReplicaRange&) const = default;
};

// A sum over all replicas of which this process has made its partial sums.
struct SharedSum {
  DType dtype = DType::kFloat;  // float, double, int32 or int64
  int64_t elements = 0;
  char* parts = nullptr;  // [Collective::parts().size(), elements]; what it holds is used up
  char* sum = nullptr;    // [elements]; gets the sum over all replicas
};

// Rows go from process to process in messages of so many bytes, or little more: those that come are
// put where they belong while others are on their way.
inline constexpr size_t kExchangedBytes = size_t{1} << 18;

class Collective {
 public:
  virtual ~Collective() = default;

  // The replicas of this process, and the largest nodes of the tree over all replicas within them:
  // it adds each by itself.
  [[nodiscard]] virtual ReplicaRange share() const = 0;
  [[nodiscard]] virtual const std::vector<ReplicaRange>& parts() const = 0;
  // The process with replica 0, which alone gets what is gathered.
  [[nodiscard]] bool is_chief() const { return share().first == 0; }

  // Each of these blocks until it has what it needs of the others. Error kLost where one of them is
  // lost.
  // Fills every `sum`, with the bits that one process with all replicas gets.
  virtual void Sum(std::span<const SharedSum> sums) = 0;
  // Before a Sum of these sums: the partial sums of the first `ready` of them are made, and may be
  // on their way to the others while the rest is computed. Each call has more of them, on whichever
  // thread, one at a time.
  virtual void Offer(std::span<const SharedSum> /*sums*/, size_t /*ready*/) {}
  // The other processes, the next rank first: who is given to first differs from process to
  // process.
  [[nodiscard]] virtual const std::vector<int>& others() const = 0;
  // A message of pieces in a row is on its way to a process when GiveTo returns; TakeFrom waits for
  // the next that one has given this one. As many are taken as are given, in their order; between
  // them may be anything else.
  virtual void GiveTo(int rank, std::span<const std::string_view> pieces) = 0;
  void GiveTo(int rank, std::string_view message) { GiveTo(rank, std::span(&message, 1)); }
  [[nodiscard]] virtual std::string TakeFrom(int rank) = 0;
  // Whether each of the others has given something that is not taken. Any thread.
  [[nodiscard]] virtual bool IsThereOfAll() = 0;
  // The same message to all, and one of each, by rank, with nothing in this one's place.
  void GiveAll(std::span<const std::string_view> pieces) {
    for (const int other : others()) GiveTo(other, pieces);
  }
  [[nodiscard]] virtual std::vector<std::string> TakeAll() = 0;
  // What each process gives, in the order of their replicas, in all of them.
  [[nodiscard]] std::vector<std::string> GatherInAll(std::string_view given) {
    GiveAll(std::span(&given, 1));
    std::vector<std::string> all = TakeAll();
    all[share().rank()] = given;
    return all;
  }
  // Whether it holds in every process; in two halves, too.
  [[nodiscard]] bool HoldsInAll(bool here) {
    GiveWhetherHolds(here);
    return TakeWhetherHolds(here);
  }
  void GiveWhetherHolds(bool here) {
    const std::string_view given = here ? "1" : "0";
    GiveAll(std::span(&given, 1));
  }
  [[nodiscard]] bool TakeWhetherHolds(bool here) {
    for (const std::string& there : TakeAll()) here = here && there != "0";
    return here;
  }
  // A message of another process that was read: its memory is for those that come.
  virtual void Reuse(std::string&& /*message*/) {}
  // What each process gives, in the order of their replicas, in the chief; elsewhere nothing, at
  // once.
  [[nodiscard]] virtual std::vector<std::string> Gather(std::string_view given) = 0;

  // Between the two this process's devices make so many steps together with those of others, which
  // may wait for each other for ever: where they take too long, this process says so and ends.
  virtual void DeviceBegins(int64_t /*steps*/) {}
  virtual void DeviceEnds() {}
};

}  // namespace tpuest
