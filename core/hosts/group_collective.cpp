#include "core/hosts/group_collective.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/base/error.h"

namespace tpuest::hosts {
namespace {

constexpr size_t kAlign = 8;

size_t Padded(size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// 1 MB of float32.
constexpr int64_t kBucketElements = int64_t{1} << 18;

std::vector<Bucket> BucketsOfSums(std::span<const SharedSum> sums) {
  std::vector<int64_t> elements;
  for (const SharedSum& sum : sums) elements.push_back(sum.elements);
  return BucketsOf(elements, kBucketElements);
}

// Up to this many bytes every process adds every sum, for any number of processes.
constexpr size_t kSmallBytes = size_t{1} << 15;
// The same limit for two processes; above it, adding one half each is faster.
constexpr size_t kMostBytesOfTwo = size_t{1} << 20;

std::vector<SumRun> RunsOwned(const Bucket& bucket, std::span<const SharedSum> sums, int processes,
                              int owner) {
  int64_t elements = 0;
  for (const BucketPiece& piece : bucket) elements += piece.end - piece.begin;
  const ElementRange owned = OwnedBy(elements, processes, owner);
  std::vector<SumRun> runs;
  int64_t before = 0;  // elements of the preceding pieces
  for (const BucketPiece& piece : bucket) {
    const int64_t first = std::max(owned.begin - before, int64_t{0}) + piece.begin;
    const int64_t end = std::min(owned.end - before + piece.begin, piece.end);
    before += piece.end - piece.begin;
    if (first >= end) continue;
    const SharedSum& sum = sums[piece.sum];
    const size_t width = SizeOf(sum.dtype);
    runs.push_back({.sum = &sum,
                    .offset = static_cast<size_t>(first) * width,
                    .bytes = static_cast<size_t>(end - first) * width,
                    .elements = end - first});
  }
  return runs;
}

// The address of partial sum `part` of a run.
char* PartOf(const SumRun& run, size_t part) {
  return run.sum->parts + part * static_cast<size_t>(run.sum->elements) * SizeOf(run.sum->dtype) +
         run.offset;
}

// Appends the bytes and their padding to a multiple of 8.
void AppendPadded(std::vector<std::string_view>& pieces, const char* bytes, size_t size) {
  static constexpr char kZeros[kAlign] = {};
  pieces.emplace_back(bytes, size);
  if (size % kAlign != 0) pieces.emplace_back(kZeros, Padded(size) - size);
}

// The other ranks in cyclic order, beginning with the next one.
std::vector<int> OthersOf(const Group& group) {
  std::vector<int> others;
  for (int i = 1; i < group.size(); ++i) others.push_back((group.rank() + i) % group.size());
  return others;
}

template <class T>
void AddTo(char* sum, const char* left, const char* right, int64_t elements) {
  auto* const to = reinterpret_cast<T*>(sum);
  const auto* const a = reinterpret_cast<const T*>(left);
  const auto* const b = reinterpret_cast<const T*>(right);
  for (int64_t i = 0; i < elements; ++i) to[i] = a[i] + b[i];
}

// `sum` may be `left`.
void Add(DType dtype, char* sum, const char* left, const char* right, int64_t elements) {
  switch (dtype) {
    case DType::kFloat:
      return AddTo<float>(sum, left, right, elements);
    case DType::kDouble:
      return AddTo<double>(sum, left, right, elements);
    case DType::kInt32:
      return AddTo<uint32_t>(sum, left, right, elements);
    case DType::kInt64:
      return AddTo<uint64_t>(sum, left, right, elements);
    default:
      Check(false, "no sum of {}", NameOf(dtype));
  }
}

}  // namespace

GroupCollective::GroupCollective(Group& group, int replicas)
    : group_(group),
      share_(ShareOf(replicas, group.size(), group.rank())),
      parts_(PartialSumsOf(replicas, share_)),
      others_(OthersOf(group)) {
  std::vector<ReplicaRange> all;
  for (int rank = 0; rank < group.size(); ++rank) {
    const auto parts = PartialSumsOf(replicas, ShareOf(replicas, group.size(), rank));
    parts_of_.push_back(parts.size());
    all.insert(all.end(), parts.begin(), parts.end());
  }
  additions_ = AdditionsOver(replicas, all);
}

std::vector<std::string> GroupCollective::FromOthers(Channel channel) {
  std::vector<std::string> received = group_.ReceiveEach(others_, channel);
  std::vector<std::string> by_rank(static_cast<size_t>(group_.size()));
  for (size_t i = 0; i < others_.size(); ++i) {
    by_rank[static_cast<size_t>(others_[i])] = std::move(received[i]);
  }
  return by_rank;
}

bool GroupCollective::AllAddAll(std::span<const SharedSum> sums) const {
  size_t bytes = 0;
  for (const SharedSum& sum : sums) {
    bytes += static_cast<size_t>(sum.elements) * SizeOf(sum.dtype);
  }
  const size_t most_parts = *std::max_element(parts_of_.begin(), parts_of_.end());
  return bytes * most_parts <= kSmallBytes ||
         (group_.size() == 2 && most_parts == 1 && bytes <= kMostBytesOfTwo);
}

std::vector<SumRun> GroupCollective::RunsOf(const Bucket& bucket, std::span<const SharedSum> sums,
                                            int owner) const {
  if (all_add_all_) return RunsOwned(bucket, sums, 1, 0);
  return RunsOwned(bucket, sums, group_.size(), owner);
}

void GroupCollective::SendParts(int owner, const Bucket& bucket, std::span<const SharedSum> sums) {
  std::vector<std::string_view> pieces;
  for (const SumRun& run : RunsOf(bucket, sums, owner)) {
    for (size_t part = 0; part < parts_.size(); ++part) {
      AppendPadded(pieces, PartOf(run, part), run.bytes);
    }
  }
  group_.Send(owner, Channel::kData, pieces);
}

void GroupCollective::AddAll(std::span<std::string> messages, const Bucket& bucket,
                             std::span<const SharedSum> sums) const {
  std::vector<size_t> at(messages.size(), 0);
  for (const SumRun& run : RunsOf(bucket, sums, group_.rank())) {
    std::vector<char*> slots;
    for (size_t rank = 0; rank < messages.size(); ++rank) {
      const bool is_own = rank == static_cast<size_t>(group_.rank());
      for (size_t part = 0; part < parts_of_[rank]; ++part) {
        if (is_own) {
          slots.push_back(PartOf(run, part));
          continue;
        }
        Check(at[rank] + Padded(run.bytes) <= messages[rank].size(),
              "process {} sent {} bytes, which is not the size of this sum", rank,
              messages[rank].size());
        slots.push_back(messages[rank].data() + at[rank]);
        at[rank] += Padded(run.bytes);
      }
    }
    for (const PartialAddition& addition : additions_) {
      const bool is_last = &addition == &additions_.back();
      char* const into = slots[addition.into];
      Add(run.sum->dtype, is_last ? run.sum->sum + run.offset : into, into, slots[addition.from],
          run.elements);
    }
  }
}

void GroupCollective::SendAnswer(const Bucket& bucket, std::span<const SharedSum> sums) {
  std::vector<std::string_view> pieces;
  for (const SumRun& run : RunsOf(bucket, sums, group_.rank())) {
    AppendPadded(pieces, run.sum->sum + run.offset, run.bytes);
  }
  for (const int other : others_) group_.Send(other, Channel::kData, pieces);
}

void GroupCollective::TakeAnswer(int owner, std::string_view answer, const Bucket& bucket,
                                 std::span<const SharedSum> sums) const {
  for (const SumRun& run : RunsOf(bucket, sums, owner)) {
    Check(Padded(run.bytes) <= answer.size(),
          "process {} answered with fewer bytes than this sum has", owner);
    std::memcpy(run.sum->sum + run.offset, answer.data(), run.bytes);
    answer.remove_prefix(Padded(run.bytes));
  }
}

void GroupCollective::Offer(std::span<const SharedSum> sums, size_t ready) {
  if (buckets_.empty()) {
    buckets_ = BucketsOfSums(sums);
    all_add_all_ = AllAddAll(sums);
  }
  for (; sent_ < buckets_.size() && buckets_[sent_].back().sum < ready; ++sent_) {
    for (const int other : others_) SendParts(other, buckets_[sent_], sums);
  }
}

void GroupCollective::Sum(std::span<const SharedSum> sums) {
  const Activity before = group_.SetActivity(Activity::kSum);
  Offer(sums, sums.size());
  const std::vector<Bucket> buckets = std::exchange(buckets_, {});
  sent_ = 0;
  for (const Bucket& bucket : buckets) {
    std::vector<std::string> messages = FromOthers(Channel::kData);
    AddAll(messages, bucket, sums);
    if (!all_add_all_) SendAnswer(bucket, sums);
    for (std::string& message : messages) group_.Reuse(std::move(message));
  }
  // If every process adds every sum, no answers are sent.
  for (const Bucket& bucket : all_add_all_ ? std::span<const Bucket>() : std::span(buckets)) {
    std::vector<std::string> answers = group_.ReceiveEach(others_, Channel::kData);
    for (size_t i = 0; i < others_.size(); ++i) {
      TakeAnswer(others_[i], answers[i], bucket, sums);
      group_.Reuse(std::move(answers[i]));
    }
  }
  group_.SetActivity(before);
}

void GroupCollective::GiveTo(int rank, std::span<const std::string_view> pieces) {
  group_.Send(rank, Channel::kExchanges, pieces);
}

std::string GroupCollective::TakeFrom(int rank) {
  const Activity before = group_.SetActivity(Activity::kSum);
  std::string message = std::move(group_.ReceiveEach({&rank, 1}, Channel::kExchanges).front());
  group_.SetActivity(before);
  return message;
}

bool GroupCollective::IsThereOfAll() {
  return std::all_of(others_.begin(), others_.end(),
                     [this](int other) { return group_.HasMessage(other, Channel::kExchanges); });
}

std::vector<std::string> GroupCollective::TakeAll() {
  const Activity before = group_.SetActivity(Activity::kSum);
  std::vector<std::string> all = FromOthers(Channel::kExchanges);
  group_.SetActivity(before);
  return all;
}

std::vector<std::string> GroupCollective::Gather(std::string_view given) {
  if (!is_chief()) {
    group_.Send(0, Channel::kData, given);
    return {};
  }
  std::vector<std::string> all;
  all.emplace_back(given);
  std::vector<int> workers(static_cast<size_t>(group_.size() - 1));
  std::iota(workers.begin(), workers.end(), 1);
  for (std::string& of_worker : group_.ReceiveEach(workers, Channel::kData))
    all.push_back(std::move(of_worker));
  return all;
}

}  // namespace tpuest::hosts
