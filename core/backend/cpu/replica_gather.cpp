#include "core/backend/cpu/replica_gather.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backend/message.h"
#include "core/backend/row_table.h"
#include "core/base/error.h"

namespace tpuest {
namespace {

size_t CountOf(const GatherJob& job) { return job.numbers.bytes / SizeOf(job.dtype); }
size_t RowBytes(const GatherJob& job) { return job.values.bytes / CountOf(job); }
bool IsDealt(const GatherJob& job) {
  return job.rows != nullptr && job.rows->table->is_dealt() && job.numbers.bytes > 0;
}

// A message that is put together of memory that stays where it is until it is sent.
class MessagePieces {
 public:
  void Number(uint64_t value) {
    numbers_.push_back(value);
    Numbers(&numbers_.back(), 1);
  }
  template <class T>
  void Numbers(const T* from, size_t n) {
    pieces_.emplace_back(reinterpret_cast<const char*>(from), n * sizeof(T));
  }
  [[nodiscard]] const std::vector<std::string_view>& pieces() const { return pieces_; }

 private:
  std::deque<uint64_t> numbers_;
  std::vector<std::string_view> pieces_;
};

// Gathers between processes.
class Exchange {
 public:
  using AtFn = std::function<char*(Buffer, int)>;

  // Every process has as many replicas.
  Exchange(const ReplicaRange& here, const AtFn& at) : here_(here), at_(at) {}

  // All jobs go to all.
  void GiveWhole(const std::vector<GatherJob>& jobs, Collective& collective) const {
    MessagePieces own;
    for (const GatherJob& job : jobs) PutWhole(job, own);
    collective.GiveAll(own.pieces());
  }

  // Where the rows of each owner are among those of a replica: by replica, then by owner.
  using RowPlaces = std::vector<std::vector<std::vector<uint32_t>>>;

  // Of a table that is shared: the rows of this process go to the front of each replica's, with -1
  // behind them, so that who reads them meets no other between them. Says where the others' are.
  [[nodiscard]] RowPlaces KeepOwn(const GatherJob& job) const {
    const RowTable& table = *job.rows->table;
    const RowOwners& owners = *table.owners();
    RowPlaces places(static_cast<size_t>(here_.count),
                     std::vector<std::vector<uint32_t>>(static_cast<size_t>(owners.processes())));
    for (int r = 0; r < here_.count; ++r) {
      const auto replica = static_cast<size_t>(r);
      const char* const values = at_(job.values.in, r);
      char* own_values = Own(job.values) + replica * job.values.bytes;
      WithNumbers(job, at_(job.numbers.in, r), [&]<class Index>(const Index* numbers) {
        auto* own = reinterpret_cast<Index*>(Own(job.numbers) + replica * job.numbers.bytes);
        Index* const end = own + CountOf(job);
        for (size_t i = 0; i < CountOf(job); ++i) {
          if (numbers[i] < 0) continue;
          if (table.IsOwn(numbers[i])) {
            *own++ = numbers[i];
            std::memcpy(own_values, values + i * RowBytes(job), RowBytes(job));
            own_values += RowBytes(job);
          } else {
            const int owner = owners.OwnerOf(numbers[i], table.rows());
            places[replica][static_cast<size_t>(owner)].push_back(static_cast<uint32_t>(i));
          }
        }
        std::fill(own, end, -1);
      });
    }
    return places;
  }

  // Each process gets the rows that it owns of tables that are shared, and all of the others.
  void GiveByOwner(const std::vector<GatherJob>& jobs, const std::vector<RowPlaces>& places,
                   int processes, Collective& collective) const {
    std::vector<std::string> for_each;
    for (int owner = 0; owner < processes; ++owner) {
      MessageWriter message;
      for (size_t i = 0; i < jobs.size() && static_cast<size_t>(owner) != here_.rank(); ++i) {
        if (IsDealt(jobs[i])) {
          PutRowsOf(owner, jobs[i], places[i], message);
        } else {
          PutWhole(jobs[i], message);
        }
      }
      for_each.push_back(message.Take());
    }
    collective.Give(for_each);
  }

  // What the others have given, in either way.
  void Take(const std::vector<GatherJob>& jobs, Collective& collective) const {
    std::vector<std::string> all = collective.Take();
    for (size_t rank = 0; rank < all.size(); ++rank) {
      if (rank == here_.rank()) continue;
      MessageReader from(all[rank]);
      for (const GatherJob& job : jobs) {
        if (IsDealt(job)) {
          TakeRowsOf(job, rank, from);
        } else {
          TakeWhole(job, rank, from);
        }
      }
      collective.Reuse(std::move(all[rank]));
    }
  }

 private:
  // What a part's `out` has of the first replica of a process.
  [[nodiscard]] char* FirstOf(size_t rank, const GatherPart& part) const {
    return at_(part.out, 0) + rank * static_cast<size_t>(here_.count) * part.bytes;
  }
  [[nodiscard]] char* Own(const GatherPart& part) const {
    return at_(part.out, 0) + static_cast<size_t>(here_.first) * part.bytes;
  }

  // For each replica here: how many rows, their numbers, their values, without the last ones that
  // are as UniqueRows fills up: -1, and zeros.
  template <class Message>
  void PutWhole(const GatherJob& job, Message& message) const {
    for (int r = 0; r < here_.count; ++r) {
      const auto replica = static_cast<size_t>(r);
      const char* const values = Own(job.values) + replica * job.values.bytes;
      WithNumbers(job, Own(job.numbers) + replica * job.numbers.bytes, [&](auto* numbers) {
        const size_t rows = RowsOf(job, numbers, values);
        message.Number(static_cast<uint64_t>(rows));
        message.Numbers(numbers, rows);
        if (rows > 0) message.Numbers(values, rows * RowBytes(job));
      });
    }
  }
  template <class Index>
  static size_t RowsOf(const GatherJob& job, const Index* numbers, const char* values) {
    size_t rows = CountOf(job);
    const auto is_zero = [](char byte) { return byte == 0; };
    while (rows > 0 && numbers[rows - 1] == -1) {
      const char* const row = values + (rows - 1) * RowBytes(job);
      if (!std::all_of(row, row + RowBytes(job), is_zero)) break;
      --rows;
    }
    return rows;
  }
  void TakeWhole(const GatherJob& job, size_t rank, MessageReader& from) const {
    for (int r = 0; r < here_.count; ++r) {
      const auto replica = static_cast<size_t>(r);
      char* const values = FirstOf(rank, job.values) + replica * job.values.bytes;
      WithNumbers(job, FirstOf(rank, job.numbers) + replica * job.numbers.bytes,
                  [&](auto* numbers) {
                    const size_t rows = TakeNumbers(job, rank, numbers, from);
                    const size_t bytes = rows > 0 ? rows * RowBytes(job) : 0;
                    from.Numbers(values, bytes);
                    std::memset(values + bytes, 0, job.values.bytes - bytes);
                  });
    }
  }
  // The numbers of a replica elsewhere, and -1 behind them. Returns how many have come.
  template <class Index>
  static size_t TakeNumbers(const GatherJob& job, size_t rank, Index* numbers,
                            MessageReader& from) {
    const auto n = from.Number<uint64_t>();
    Check(n <= CountOf(job), "process {} has more rows than it may", rank);
    from.Numbers(numbers, n);
    std::fill(numbers + n, numbers + CountOf(job), -1);
    return n;
  }

  // Calls fn(the numbers of a replica's rows), as what they are.
  template <class Fn>
  static void WithNumbers(const GatherJob& job, char* numbers, Fn&& fn) {
    if (job.dtype == DType::kInt64) {
      fn(reinterpret_cast<int64_t*>(numbers));
    } else {
      fn(reinterpret_cast<int32_t*>(numbers));
    }
  }

  // For each replica here: how many rows of this owner, their numbers, their values.
  void PutRowsOf(int owner, const GatherJob& job, const RowPlaces& of,
                 MessageWriter& message) const {
    for (int r = 0; r < here_.count; ++r) {
      const std::vector<uint32_t>& places = of[static_cast<size_t>(r)][static_cast<size_t>(owner)];
      const char* const values = at_(job.values.in, r);
      WithNumbers(job, at_(job.numbers.in, r), [&](auto* numbers) {
        message.Reserve(sizeof(uint64_t) + places.size() * (sizeof *numbers + RowBytes(job)));
        message.Number(static_cast<uint64_t>(places.size()));
        for (const uint32_t i : places) message.Number(numbers[i]);
        for (const uint32_t i : places) {
          message.Numbers(values + i * RowBytes(job), RowBytes(job));
        }
      });
    }
  }

  void TakeRowsOf(const GatherJob& job, size_t rank, MessageReader& from) const {
    for (int r = 0; r < here_.count; ++r) {
      const auto replica = static_cast<size_t>(r);
      char* const values = FirstOf(rank, job.values) + replica * job.values.bytes;
      char* const of_replica = FirstOf(rank, job.numbers) + replica * job.numbers.bytes;
      WithNumbers(job, of_replica, [&](auto* numbers) {
        const size_t n = TakeNumbers(job, rank, numbers, from);
        from.Numbers(values, n * RowBytes(job));
      });
    }
  }

  const ReplicaRange here_;
  const AtFn& at_;
};

}  // namespace

void BeginGather(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
                 const std::function<char*(Buffer, int)>& at, ThreadTeam& team,
                 Collective* collective) {
  if (jobs.empty()) return;
  const auto copy = [&](const GatherPart& part) {
    char* to = at(part.out, 0) + static_cast<size_t>(here.first) * part.bytes;
    for (int r = 0; r < here.count; ++r, to += part.bytes) {
      std::memcpy(to, at(part.in, r), part.bytes);
    }
  };
  const Exchange exchange(here, at);
  std::vector<Exchange::RowPlaces> places(jobs.size());
  team.ForEach(static_cast<int>(jobs.size()), [&](int i, int /*thread*/) {
    const GatherJob& job = jobs[static_cast<size_t>(i)];
    if (collective != nullptr && IsDealt(job)) {
      places[static_cast<size_t>(i)] = exchange.KeepOwn(job);
      return;
    }
    copy(job.numbers);
    copy(job.values);
  });
  if (collective == nullptr) return;
  const auto dealt = std::find_if(jobs.begin(), jobs.end(), IsDealt);
  if (dealt == jobs.end()) return exchange.GiveWhole(jobs, *collective);
  exchange.GiveByOwner(jobs, places, dealt->rows->table->owners()->processes(), *collective);
}

void EndGather(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
               const std::function<char*(Buffer, int)>& at, Collective* collective) {
  if (!jobs.empty() && collective != nullptr) Exchange(here, at).Take(jobs, *collective);
}

}  // namespace tpuest
