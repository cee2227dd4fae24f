#pragma once
// The exchange between the processes of a run whose replicas are spread over several. Every process
// runs the same programs in the same order, so the calls of all processes match one by one.

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
  // The rank of the process that has them, if all processes have equally many replicas.
  [[nodiscard]] size_t rank() const {
    return static_cast<size_t>(first) / static_cast<size_t>(count);
  }
  bool operator==(const ReplicaRange&) const = default;
};

// A sum over all replicas, with the partial sums of this process.
struct SharedSum {
  DType dtype = DType::kFloat;  // float, double, int32 or int64
  int64_t elements = 0;
  char* parts = nullptr;  // [Collective::parts().size(), elements]; overwritten
  char* sum = nullptr;    // [elements]; gets the sum over all replicas
};

// Bytes of a message with rows, approximately. Rows travel in pieces so that a process stores the
// rows of one message while the next one arrives.
inline constexpr size_t kExchangedBytes = size_t{1} << 18;

class Collective {
 public:
  virtual ~Collective() = default;

  // The replicas of this process, and the largest subtrees of the sum over all replicas that lie
  // within them: the process adds up each of these by itself.
  [[nodiscard]] virtual ReplicaRange share() const = 0;
  [[nodiscard]] virtual const std::vector<ReplicaRange>& parts() const = 0;
  // Whether this process has replica 0. Only the chief gets the result of Gather.
  [[nodiscard]] bool is_chief() const { return share().first == 0; }

  // The functions below block until the other processes have sent what they need. Error kLost if a
  // process is lost.
  // Fills every `sum` with the bits that one process with all replicas would compute.
  virtual void Sum(std::span<const SharedSum> sums) = 0;
  // Announces, before a Sum of these sums, that the partial sums of the first `ready` of them are
  // complete and may be sent while the rest is computed. `ready` grows from call to call. Any
  // thread, one at a time.
  virtual void Offer(std::span<const SharedSum> /*sums*/, size_t /*ready*/) {}
  // The ranks of the other processes, beginning with the next rank, so that processes do not all
  // send to the same one first.
  [[nodiscard]] virtual const std::vector<int>& others() const = 0;
  // GiveTo sends a message, the concatenation of the pieces, and does not wait for its arrival.
  // TakeFrom waits for the next message of a process. Messages between two processes keep their
  // order, and each one that is given is taken; other calls may come between the two.
  virtual void GiveTo(int rank, std::span<const std::string_view> pieces) = 0;
  void GiveTo(int rank, std::string_view message) { GiveTo(rank, std::span(&message, 1)); }
  [[nodiscard]] virtual std::string TakeFrom(int rank) = 0;
  // Whether a message of every other process has arrived that TakeFrom has not returned. Any
  // thread.
  [[nodiscard]] virtual bool IsThereOfAll() = 0;
  // Sends a message to all other processes; and takes one of each, by rank, with an empty one in
  // this process's place.
  void GiveAll(std::span<const std::string_view> pieces) {
    for (const int other : others()) GiveTo(other, pieces);
  }
  [[nodiscard]] virtual std::vector<std::string> TakeAll() = 0;
  // All processes' messages in order of replicas, in every process.
  [[nodiscard]] std::vector<std::string> GatherInAll(std::string_view given) {
    GiveAll(std::span(&given, 1));
    std::vector<std::string> all = TakeAll();
    all[share().rank()] = given;
    return all;
  }
  // Whether a condition holds in every process; the two functions after it are its two halves.
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
  // Returns the memory of a message that was read, for later messages.
  virtual void Reuse(std::string&& /*message*/) {}
  // All processes' messages in order of replicas, in the chief; every other process gets an empty
  // list without waiting.
  [[nodiscard]] virtual std::vector<std::string> Gather(std::string_view given) = 0;

  // Between the two calls, the devices of this process run `steps` steps together with those of
  // other processes and may wait for each other forever. If they take too long, this process
  // reports it and exits.
  virtual void DeviceBegins(int64_t /*steps*/) {}
  virtual void DeviceEnds() {}
};

}  // namespace tpuest
