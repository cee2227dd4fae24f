#include "core/hosts/group_sum.h"

#include <cstring>
#include <numeric>

#include "core/base/error.h"

namespace tpuest {
namespace {

constexpr size_t kAlign = 8;

size_t Padded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

struct Run {
  size_t offset = 0;  // bytes into the sum
  size_t bytes = 0;
  int64_t elements = 0;
};

Run RunOf(const SharedSum& sum, int processes, int owner) {
  const ElementRange owned = OwnedBy(sum.elements, processes, owner);
  const size_t width = SizeOf(sum.dtype);
  return {.offset = static_cast<size_t>(owned.begin) * width,
          .bytes = static_cast<size_t>(owned.end - owned.begin) * width,
          .elements = owned.end - owned.begin};
}

template <class T>
void AddTo(char* into, const char* from, int64_t elements) {
  auto* const to = reinterpret_cast<T*>(into);
  const auto* const more = reinterpret_cast<const T*>(from);
  for (int64_t i = 0; i < elements; ++i) to[i] += more[i];
}

void Add(DType dtype, char* into, const char* from, int64_t elements) {
  switch (dtype) {
    case DType::kFloat:
      return AddTo<float>(into, from, elements);
    case DType::kDouble:
      return AddTo<double>(into, from, elements);
    case DType::kInt32:
      return AddTo<uint32_t>(into, from, elements);
    case DType::kInt64:
      return AddTo<uint64_t>(into, from, elements);
    default:
      Check(false, "no sum of {}", NameOf(dtype));
  }
}

}  // namespace

GroupSum::GroupSum(Group& group, int replicas)
    : group_(group),
      share_(ShareOf(replicas, group.size(), group.rank())),
      parts_(PartialSumsOf(replicas, share_)) {
  std::vector<ReplicaRange> all;
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto parts = PartialSumsOf(replicas, ShareOf(replicas, group.size(), rank));
    parts_of_.push_back(parts.size());
    all.insert(all.end(), parts.begin(), parts.end());
  }
  additions_ = AdditionsOver(replicas, all);
}

std::vector<int> GroupSum::Others() const {
  std::vector<int> others;
  for (int i = 1; i < group_.size(); ++i) others.push_back((group_.rank() + i) % group_.size());
  return others;
}

std::string GroupSum::PartsFor(int owner, std::span<const SharedSum> sums) const {
  size_t bytes = 0;
  for (const SharedSum& sum : sums) {
    bytes += parts_.size() * Padded(RunOf(sum, group_.size(), owner).bytes);
  }
  std::string message(bytes, '\0');
  char* to = message.data();
  for (const SharedSum& sum : sums) {
    const Run run = RunOf(sum, group_.size(), owner);
    const size_t whole = static_cast<size_t>(sum.elements) * SizeOf(sum.dtype);
    for (size_t part = 0; part < parts_.size(); ++part) {
      std::memcpy(to, sum.parts + part * whole + run.offset, run.bytes);
      to += Padded(run.bytes);
    }
  }
  return message;
}

std::string GroupSum::AddAll(std::vector<std::string>& messages,
                             std::span<const SharedSum> sums) const {
  std::string answer;
  std::vector<size_t> at(messages.size(), 0);
  for (const SharedSum& sum : sums) {
    const Run run = RunOf(sum, group_.size(), group_.rank());
    std::vector<char*> slots;
    for (size_t rank = 0; rank < messages.size(); ++rank) {
      for (size_t part = 0; part < parts_of_[rank]; ++part) {
        Check(at[rank] + Padded(run.bytes) <= messages[rank].size(),
              "process {} sent {} bytes of another sum", rank, messages[rank].size());
        slots.push_back(messages[rank].data() + at[rank]);
        at[rank] += Padded(run.bytes);
      }
    }
    for (const PartialAddition& addition : additions_) {
      Add(sum.dtype, slots[addition.into], slots[addition.from], run.elements);
    }
    answer.append(slots.front(), Padded(run.bytes));
  }
  return answer;
}

void GroupSum::Take(int owner, std::string_view answer, std::span<const SharedSum> sums) const {
  for (const SharedSum& sum : sums) {
    const Run run = RunOf(sum, group_.size(), owner);
    Check(Padded(run.bytes) <= answer.size(), "process {} answered with another sum", owner);
    std::memcpy(sum.sum + run.offset, answer.data(), run.bytes);
    answer.remove_prefix(Padded(run.bytes));
  }
}

void GroupSum::Sum(std::span<const SharedSum> sums) {
  const std::vector<int> others = Others();
  const Phase before = group_.At(Phase::kSum);
  for (const int other : others) group_.Send(other, Channel::kData, PartsFor(other, sums));
  std::vector<std::string> messages(static_cast<size_t>(group_.size()));
  messages[static_cast<size_t>(group_.rank())] = PartsFor(group_.rank(), sums);
  std::vector<std::string> parts = group_.ReceiveEach(others);
  for (size_t i = 0; i < others.size(); ++i) {
    messages[static_cast<size_t>(others[i])] = std::move(parts[i]);
  }
  const std::string mine = AddAll(messages, sums);
  for (const int other : others) group_.Send(other, Channel::kData, {}, mine);
  Take(group_.rank(), mine, sums);
  const std::vector<std::string> answers = group_.ReceiveEach(others);
  for (size_t i = 0; i < others.size(); ++i) Take(others[i], answers[i], sums);
  group_.At(before);
}

bool GroupSum::HoldsInAll(bool here) {
  const Phase before = group_.At(Phase::kSum);
  const std::vector<int> others = Others();
  for (const int other : others) group_.Send(other, Channel::kData, here ? "1" : "0");
  bool holds = here;
  for (const std::string& there : group_.ReceiveEach(others)) holds = holds && there == "1";
  group_.At(before);
  return holds;
}

std::vector<std::string> GroupSum::GatherInAll(std::string_view given) {
  const Phase before = group_.At(Phase::kSum);
  const std::vector<int> others = Others();
  for (const int other : others) group_.Send(other, Channel::kData, {}, given);
  std::vector<std::string> all(static_cast<size_t>(group_.size()));
  all[static_cast<size_t>(group_.rank())] = given;
  std::vector<std::string> theirs = group_.ReceiveEach(others);
  for (size_t i = 0; i < others.size(); ++i) {
    all[static_cast<size_t>(others[i])] = std::move(theirs[i]);
  }
  group_.At(before);
  return all;
}

std::vector<std::string> GroupSum::Gather(std::string_view given) {
  if (!is_chief()) {
    group_.Send(0, Channel::kData, {}, given);
    return {};
  }
  std::vector<std::string> all;
  all.emplace_back(given);
  std::vector<int> workers(static_cast<size_t>(group_.size() - 1));
  std::iota(workers.begin(), workers.end(), 1);
  for (std::string& of_worker : group_.ReceiveEach(workers)) all.push_back(std::move(of_worker));
  return all;
}

}  // namespace tpuest
