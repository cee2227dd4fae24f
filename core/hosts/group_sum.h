#pragma once
// Sums over the replicas of all processes of a group: a Collective over its data channel.
//
// A sum's elements belong to the processes in equal parts (OwnedBy). Each process sends the partial
// sums of its replicas to the owners, in one message each for all sums of a call; an owner adds
// those of all processes by the tree over replicas (AdditionsOver) and sends its elements to all.
// The additions are those of one process, whatever the number of processes.
//
//   message to owner p    for each sum: for each part: elements of p       padded to 8 bytes a run
//   answer of owner p     for each sum: elements of p                      the same

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/backend/collective.h"
#include "core/hosts/group.h"
#include "core/hosts/shares.h"

namespace tpuest {

class GroupSum final : public Collective {
 public:
  // Error kUsage where the replicas do not divide among the processes. The group outlives it.
  GroupSum(Group& group, int replicas);

  [[nodiscard]] ReplicaRange share() const override { return share_; }
  [[nodiscard]] const std::vector<ReplicaRange>& parts() const override { return parts_; }
  void Sum(std::span<const SharedSum> sums) override;
  [[nodiscard]] bool HoldsInAll(bool here) override;
  [[nodiscard]] std::vector<std::string> GatherInAll(std::string_view given) override;
  [[nodiscard]] std::vector<std::string> Gather(std::string_view given) override;

 private:
  // The others, the next rank first: who is sent to first differs from process to process.
  [[nodiscard]] std::vector<int> Others() const;
  // The runs of this process's parts that owner p adds.
  [[nodiscard]] std::string PartsFor(int owner, std::span<const SharedSum> sums) const;
  // Adds the parts of all processes, by rank, and returns the elements that this one owns.
  [[nodiscard]] std::string AddAll(std::vector<std::string>& messages,
                                   std::span<const SharedSum> sums) const;
  void Take(int owner, std::string_view answer, std::span<const SharedSum> sums) const;

  Group& group_;
  const ReplicaRange share_;
  const std::vector<ReplicaRange> parts_;
  std::vector<size_t> parts_of_;  // how many each process has, by rank
  std::vector<PartialAddition> additions_;
};

}  // namespace tpuest
