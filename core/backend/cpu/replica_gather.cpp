#include "core/backend/cpu/replica_gather.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "core/backend/message.h"
#include "core/backend/row_table.h"
#include "core/base/error.h"

namespace tpuest {
namespace {

// Numbers of rows of a table that processes share, and what belongs to them.
struct RowJobs {
  const GatherJob* numbers = nullptr;
  const GatherJob* values = nullptr;

  [[nodiscard]] const RowTable& table() const { return *numbers->rows->table; }
  [[nodiscard]] size_t count() const { return numbers->bytes / SizeOf(numbers->dtype); }
  [[nodiscard]] size_t row_bytes() const { return values->bytes / count(); }
};

// The jobs that go to all, and those of which each process gets its own rows.
struct Dealt {
  std::vector<GatherJob> whole;
  std::vector<RowJobs> by_row;
};

bool IsNumbers(const GatherJob& job) {
  return job.dtype == DType::kInt32 || job.dtype == DType::kInt64;
}

// What has no counterpart in this phase goes to all.
Dealt DealtOut(const std::vector<GatherJob>& jobs) {
  Dealt dealt;
  for (const GatherJob& job : jobs) {
    const auto belongs = [&](const GatherJob& other) {
      return other.rows == job.rows && IsNumbers(other) != IsNumbers(job);
    };
    const bool is_shared = job.rows != nullptr && job.rows->table->is_dealt() && job.bytes > 0;
    const auto pairs = is_shared ? std::count_if(jobs.begin(), jobs.end(), belongs) : 0;
    if (pairs != 1) {
      dealt.whole.push_back(job);
    } else if (IsNumbers(job)) {
      const auto values = std::find_if(jobs.begin(), jobs.end(), belongs);
      dealt.by_row.push_back({&job, &*values});
    }
  }
  return dealt;
}

// Gathers between processes.
class Exchange {
 public:
  using AtFn = std::function<char*(Buffer, int)>;

  Exchange(const ReplicaRange& here, const AtFn& at) : here_(here), at_(at) {}

  // Sends the jobs that go to all to all.
  void Whole(const std::vector<GatherJob>& jobs, Collective& collective) const {
    MessageWriter own;
    PutWhole(jobs, own);
    // Every process has as many replicas.
    const std::vector<std::string> all = collective.GatherInAll(own.bytes());
    for (size_t rank = 0; rank < all.size(); ++rank) {
      if (IsHere(rank)) continue;
      MessageReader from(all[rank]);
      TakeWhole(jobs, rank, from);
    }
  }

  // Sends each process what goes to all, and of each table the rows that it owns.
  void ByOwner(const Dealt& dealt, Collective& collective) const {
    const int processes = dealt.by_row.front().table().owners()->processes();
    std::vector<RowPlaces> places;
    for (const RowJobs& jobs : dealt.by_row) places.push_back(PlacesOf(jobs, processes));
    std::vector<std::string> for_each;
    for (int owner = 0; owner < processes; ++owner) {
      MessageWriter message;
      if (!IsHere(static_cast<size_t>(owner))) {
        PutWhole(dealt.whole, message);
        for (size_t i = 0; i < places.size(); ++i) {
          PutRowsOf(owner, dealt.by_row[i], places[i], message);
        }
      }
      for_each.push_back(message.Take());
    }
    std::vector<std::string> all = collective.Exchange(for_each);
    for (size_t rank = 0; rank < all.size(); ++rank) {
      if (IsHere(rank)) continue;
      MessageReader from(all[rank]);
      TakeWhole(dealt.whole, rank, from);
      for (const RowJobs& jobs : dealt.by_row) TakeRowsOf(jobs, rank, from);
      collective.Reuse(std::move(all[rank]));
    }
  }

 private:
  [[nodiscard]] bool IsHere(size_t rank) const {
    return static_cast<int>(rank) * here_.count == here_.first;
  }
  // What a job's `out` has of the first replica of a process.
  [[nodiscard]] char* FirstOf(size_t rank, const GatherJob& job) const {
    return at_(job.out, 0) + rank * static_cast<size_t>(here_.count) * job.bytes;
  }
  [[nodiscard]] char* Own(const GatherJob& job) const {
    return at_(job.out, 0) + static_cast<size_t>(here_.first) * job.bytes;
  }
  [[nodiscard]] size_t BytesHere(const GatherJob& job) const {
    return static_cast<size_t>(here_.count) * job.bytes;
  }

  void PutWhole(const std::vector<GatherJob>& jobs, MessageWriter& message) const {
    for (const GatherJob& job : jobs) message.Numbers(Own(job), BytesHere(job));
  }
  void TakeWhole(const std::vector<GatherJob>& jobs, size_t rank, MessageReader& from) const {
    for (const GatherJob& job : jobs) from.Numbers(FirstOf(rank, job), BytesHere(job));
  }

  // Calls fn(the numbers of a replica's rows), as what they are.
  template <class Fn>
  static void WithNumbers(const RowJobs& jobs, char* numbers, Fn&& fn) {
    if (jobs.numbers->dtype == DType::kInt64) {
      fn(reinterpret_cast<int64_t*>(numbers));
    } else {
      fn(reinterpret_cast<int32_t*>(numbers));
    }
  }

  // Where the rows of each owner are, of each replica here: by replica, then by owner.
  using RowPlaces = std::vector<std::vector<std::vector<uint32_t>>>;
  [[nodiscard]] RowPlaces PlacesOf(const RowJobs& jobs, int processes) const {
    const RowTable& table = jobs.table();
    RowPlaces places(static_cast<size_t>(here_.count),
                     std::vector<std::vector<uint32_t>>(static_cast<size_t>(processes)));
    for (int r = 0; r < here_.count; ++r) {
      const auto replica = static_cast<size_t>(r);
      WithNumbers(jobs, Own(*jobs.numbers) + replica * jobs.numbers->bytes, [&](auto* numbers) {
        for (size_t i = 0; i < jobs.count(); ++i) {
          if (numbers[i] < 0 || table.IsOwn(numbers[i])) continue;
          const int owner = table.owners()->OwnerOf(numbers[i], table.rows());
          places[replica][static_cast<size_t>(owner)].push_back(static_cast<uint32_t>(i));
        }
      });
    }
    return places;
  }

  // For each replica here: how many rows, their numbers, their values. They are no longer here
  // then.
  void PutRowsOf(int owner, const RowJobs& jobs, const RowPlaces& of,
                 MessageWriter& message) const {
    for (int r = 0; r < here_.count; ++r) {
      const auto replica = static_cast<size_t>(r);
      const std::vector<uint32_t>& places = of[replica][static_cast<size_t>(owner)];
      const char* const values = Own(*jobs.values) + replica * jobs.values->bytes;
      WithNumbers(jobs, Own(*jobs.numbers) + replica * jobs.numbers->bytes, [&](auto* numbers) {
        message.Reserve(sizeof(uint64_t) + places.size() * (sizeof *numbers + jobs.row_bytes()));
        message.Number(static_cast<uint64_t>(places.size()));
        for (const uint32_t i : places) message.Number(std::exchange(numbers[i], -1));
        for (const uint32_t i : places) {
          message.Numbers(values + i * jobs.row_bytes(), jobs.row_bytes());
        }
      });
    }
  }

  void TakeRowsOf(const RowJobs& jobs, size_t rank, MessageReader& from) const {
    for (int r = 0; r < here_.count; ++r) {
      const auto replica = static_cast<size_t>(r);
      char* const values = FirstOf(rank, *jobs.values) + replica * jobs.values->bytes;
      char* const of_replica = FirstOf(rank, *jobs.numbers) + replica * jobs.numbers->bytes;
      WithNumbers(jobs, of_replica, [&](auto* numbers) {
        const auto n = from.Number<uint64_t>();
        Check(n <= jobs.count(), "process {} has more rows than it may", rank);
        from.Numbers(numbers, n);
        std::fill(numbers + n, numbers + jobs.count(), -1);
        const size_t bytes = n * jobs.row_bytes();
        from.Numbers(values, bytes);
        std::memset(values + bytes, 0, jobs.values->bytes - bytes);
      });
    }
  }

  const ReplicaRange here_;
  const AtFn& at_;
};

}  // namespace

void GatherReplicas(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
                    const std::function<char*(Buffer, int)>& at, ThreadTeam& team,
                    Collective* collective) {
  if (jobs.empty()) return;
  team.ForEach(static_cast<int>(jobs.size()), [&](int i, int /*thread*/) {
    const GatherJob& job = jobs[static_cast<size_t>(i)];
    char* to = at(job.out, 0) + static_cast<size_t>(here.first) * job.bytes;
    for (int r = 0; r < here.count; ++r, to += job.bytes) {
      std::memcpy(to, at(job.in, r), job.bytes);
    }
  });
  if (collective == nullptr) return;
  const Dealt dealt = DealtOut(jobs);
  const Exchange exchange(here, at);
  if (dealt.by_row.empty()) {
    exchange.Whole(jobs, *collective);
  } else {
    exchange.ByOwner(dealt, *collective);
  }
}

}  // namespace tpuest
