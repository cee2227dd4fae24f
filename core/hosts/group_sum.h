#pragma once
// Sums over the replicas of all processes of a group: a Collective over its data channel.
//
// The elements of all sums of a call are cut into buckets (BucketsOf) of 1 MB or so, and those of a
// bucket belong to the processes in equal parts (OwnedBy). Each process sends the partial sums of
// its replicas to the owners, in one message a bucket; an owner adds those of all processes by the
// tree over replicas (AdditionsOver) and sends its elements to all. A bucket is added and answered
// while others are on their way, and is still in the processor's cache when it is. A bucket whose
// partial sums were offered left before the call. The additions are those of one process, whatever
// the number of processes.
//
//   message to owner p    for each run of p's elements of a sum: for each part: them    padded to
//   answer of owner p     for each run: its elements                                    8 bytes
//
// Sums that are small, or of two processes with one part each, go to all, who add them all: no more
// bytes, or few, and nobody waits for answers.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backend/collective.h"
#include "core/hosts/group.h"
#include "core/hosts/shares.h"

namespace tpuest::hosts {

// Elements of one sum that a process adds.
struct SumRun {
  const SharedSum* sum = nullptr;
  size_t offset = 0;  // bytes into the sum, and into each of its parts
  size_t bytes = 0;
  int64_t elements = 0;
};

class GroupSum final : public Collective {
 public:
  // Error kUsage where the replicas do not divide among the processes. The group outlives it.
  GroupSum(Group& group, int replicas);

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
  // The next message of each of the others, by rank; of this one nothing.
  [[nodiscard]] std::vector<std::string> FromOthers(Channel channel);
  // Whether every process adds all of them.
  [[nodiscard]] bool AllAddAll(std::span<const SharedSum> sums) const;
  // What a process adds of a bucket.
  [[nodiscard]] std::vector<SumRun> RunsOf(const Bucket& bucket, std::span<const SharedSum> sums,
                                           int owner) const;
  // Sends the parts of this process that the owner adds.
  void SendParts(int owner, const Bucket& bucket, std::span<const SharedSum> sums);
  // Adds the parts of all processes, by rank and with none in this one's place, into the elements
  // of the sums that this one owns.
  void AddAll(std::span<std::string> messages, const Bucket& bucket,
              std::span<const SharedSum> sums) const;
  // Sends the elements that this process owns to all.
  void SendAnswer(const Bucket& bucket, std::span<const SharedSum> sums);
  void TakeAnswer(int owner, std::string_view answer, const Bucket& bucket,
                  std::span<const SharedSum> sums) const;

  Group& group_;
  const ReplicaRange share_;
  const std::vector<ReplicaRange> parts_;
  const std::vector<int> others_;
  std::vector<size_t> parts_of_;            // how many each process has, by rank
  std::vector<PartialAddition> additions_;  // the last one makes the sum
  std::vector<Bucket> buckets_;             // of the next Sum, once some of it was offered
  bool all_add_all_ = false;                // of these buckets
  size_t sent_ = 0;                         // those whose parts have left
};

}  // namespace tpuest::hosts
