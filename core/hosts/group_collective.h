#pragma once
// A Collective that sums over the replicas of all processes, through the group's data channel.
//
// The elements of all sums of a call are cut into buckets of about 1 MB (BucketsOf). Each process
// owns an equal part of a bucket (OwnedBy). Each process sends its replicas' partial sums to the
// owners, one message per bucket; an owner adds them along the tree over replicas (AdditionsOver)
// and sends the result to all. A bucket is added and answered while later ones are in transit, so
// it is still in the processor's cache. Partial sums passed to Offer are sent before the call. The
// additions are those of a single process, for any number of processes.
//
//   message to owner p    per range of p's elements: the elements of each partial sum   padded to
//   answer of owner p     per range of p's elements: their sums                         8 bytes
//
// Small sums, and sums of two processes with one partial sum each, are sent to all processes, which
// all add them: the bytes are as many or few, and no process waits for an answer.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backend/collective.h"
#include "core/hosts/group.h"
#include "core/hosts/shares.h"

namespace tpuest::hosts {

// A range of elements of one sum that one process adds.
struct SumRun {
  const SharedSum* sum = nullptr;
  size_t offset = 0;  // bytes into the sum, and into each of its parts
  size_t bytes = 0;
  int64_t elements = 0;
};

class GroupCollective final : public Collective {
 public:
  // Throws kUsage if `replicas` is not a multiple of the number of processes. `group` outlives this
  // object.
  GroupCollective(Group& group, int replicas);

  [[nodiscard]] ReplicaRange share() const override { return share_; }
  [[nodiscard]] const std::vector<ReplicaRange>& parts() const override { return parts_; }
  void Sum(std::span<const SharedSum> sums) override;
  void Offer(std::span<const SharedSum> sums, size_t ready) override;
  [[nodiscard]] const std::vector<int>& others() const override { return others_; }
  using Collective::GiveTo;
  void GiveTo(int rank, std::span<const std::string_view> pieces) override;
  [[nodiscard]] std::string TakeFrom(int rank) override;
  [[nodiscard]] bool IsThereOfAll() override;
  [[nodiscard]] std::vector<std::string> TakeAll() override;
  void Reuse(std::string&& message) override { group_.Reuse(std::move(message)); }
  [[nodiscard]] std::vector<std::string> Gather(std::string_view given) override;
  void DeviceBegins(int64_t steps) override { group_.DeviceBegins(steps); }
  void DeviceEnds() override { group_.DeviceEnds(); }

 private:
  // Receives the next message of each other process, by rank; this process's entry is empty.
  [[nodiscard]] std::vector<std::string> FromOthers(Channel channel);
  // Whether every process adds all elements of these sums.
  [[nodiscard]] bool AllAddAll(std::span<const SharedSum> sums) const;
  // The ranges of a bucket that process `owner` adds.
  [[nodiscard]] std::vector<SumRun> RunsOf(const Bucket& bucket, std::span<const SharedSum> sums,
                                           int owner) const;
  // Sends this process's partial sums of the elements that `owner` adds.
  void SendParts(int owner, const Bucket& bucket, std::span<const SharedSum> sums);
  // Adds the partial sums of all processes into the elements that this process owns. `messages` are
  // by rank; this process's entry is empty.
  void AddAll(std::span<std::string> messages, const Bucket& bucket,
              std::span<const SharedSum> sums) const;
  // Sends the summed elements that this process owns to all processes.
  void SendAnswer(const Bucket& bucket, std::span<const SharedSum> sums);
  void TakeAnswer(int owner, std::string_view answer, const Bucket& bucket,
                  std::span<const SharedSum> sums) const;

  Group& group_;
  const ReplicaRange share_;
  const std::vector<ReplicaRange> parts_;
  const std::vector<int> others_;
  std::vector<size_t> parts_of_;            // number of partial sums of each process, by rank
  std::vector<PartialAddition> additions_;  // the last addition yields the sum
  std::vector<Bucket> buckets_;             // of the next Sum, after its first Offer
  bool all_add_all_ = false;                // whether every process adds all of `buckets_`
  size_t sent_ = 0;                         // number of buckets whose partial sums were sent
};

}  // namespace tpuest::hosts
