#include "core/backend/cpu/exchange/replica_gather.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/backend/rows/row_table.h"
#include "core/base/error.h"
#include "core/base/message.h"

namespace tpuest {
namespace {

size_t CountOf(const GatherJob& job) { return job.numbers.bytes / SizeOf(job.dtype); }
size_t RowBytes(const GatherJob& job) { return job.values.bytes / CountOf(job); }
bool IsDealt(const GatherJob& job) {
  return job.rows != nullptr && job.rows->table->is_dealt() && job.numbers.bytes > 0;
}

// Copies the bytes and returns the address after them.
char* Append(char* to, const void* from, size_t bytes) {
  std::memcpy(to, from, bytes);
  return to + bytes;
}

// Precedes the rows of a replica in a piece. The last one of all has no rows, and its job is one
// past the last job.
struct RowsHead {
  uint32_t job = 0;
  uint32_t replica = 0;  // counted from the sender's first replica
  uint64_t rows = 0;
};

// Gathers rows between processes.
class Exchange {
 public:
  using AtFn = std::function<char*(Buffer, int)>;

  // All processes have equally many replicas.
  Exchange(const ReplicaRange& here, const AtFn& at) : here_(here), at_(at) {}

  // Sends the rows of all jobs to all peers, without copying them.
  void GiveWhole(const std::vector<GatherJob>& jobs, Collective& collective) const {
    std::deque<RowsHead> heads;
    std::vector<std::string_view> piece;
    size_t bytes = 0;
    const auto put = [&](const void* from, size_t n) {
      piece.emplace_back(static_cast<const char*>(from), n);
      bytes += n;
    };
    ForWhole(jobs, [&](const RowsHead& head, const char* numbers, size_t number_bytes,
                       const char* values, size_t value_bytes) {
      put(&heads.emplace_back(head), sizeof head);
      put(numbers, number_bytes);
      put(values, value_bytes);
      if (bytes < kExchangedBytes) return;
      collective.GiveAll(piece);
      piece.clear();
      bytes = 0;
    });
    const RowsHead end = EndOf(jobs);
    put(&end, sizeof end);
    collective.GiveAll(piece);
  }

  // The positions of each owner's rows among a replica's rows, by replica and owner.
  using RowPlaces = std::vector<std::vector<std::vector<uint32_t>>>;

  // For a shared table: moves the rows that this process owns to the front of each replica's rows
  // and sets the rest to -1, so a reader meets no other rows in between. Returns the positions of
  // the other owners' rows.
  [[nodiscard]] RowPlaces KeepOwn(const GatherJob& job) const {
    const RowTable& table = *job.rows->table;
    const RowOwners& owners = *table.owners();
    RowPlaces places(static_cast<size_t>(here_.count),
                     std::vector<std::vector<uint32_t>>(static_cast<size_t>(owners.processes())));
    for (int r = 0; r < here_.count; ++r) {
      const auto replica = static_cast<size_t>(r);
      const char* const values = at_(job.values.in, r);
      const size_t row_bytes = RowBytes(job);
      char* own_values = Own(job.values) + replica * job.values.bytes;
      WithNumbers(job, at_(job.numbers.in, r), [&]<class Index>(const Index* numbers) {
        auto* own = reinterpret_cast<Index*>(Own(job.numbers) + replica * job.numbers.bytes);
        const size_t count = CountOf(job);
        Index* const end = own + count;
        for (size_t i = 0; i < count; ++i) {
          if (numbers[i] < 0) continue;
          if (table.IsOwn(numbers[i])) {
            *own++ = numbers[i];
            own_values = Append(own_values, values + i * row_bytes, row_bytes);
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

  // Sends each process the rows that it owns of shared tables, and all rows of other tables.
  void GiveByOwner(const std::vector<GatherJob>& jobs, const std::vector<RowPlaces>& places,
                   Collective& collective) const {
    for (const int owner : collective.others()) {
      MessageWriter piece;
      const auto give_if_full = [&] {
        if (piece.bytes().size() >= kExchangedBytes) collective.GiveTo(owner, piece.Take());
      };
      for (size_t i = 0; i < jobs.size(); ++i) {
        if (IsDealt(jobs[i])) PutRowsOf(owner, jobs[i], i, places[i], piece, give_if_full);
      }
      ForWhole(jobs, [&](const RowsHead& head, const char* numbers, size_t number_bytes,
                         const char* values, size_t value_bytes) {
        piece.Numbers(&head, 1);
        piece.Numbers(numbers, number_bytes);
        piece.Numbers(values, value_bytes);
        give_if_full();
      });
      const RowsHead end = EndOf(jobs);
      piece.Numbers(&end, 1);
      collective.GiveTo(owner, piece.bytes());
    }
  }

  // Takes the rows that the peers sent, for either kind of table.
  void Take(const std::vector<GatherJob>& jobs, Collective& collective) const {
    for (const int other : collective.others()) {
      std::vector<size_t> taken(jobs.size() * static_cast<size_t>(here_.count), 0);
      for (bool is_last = false; !is_last;) {
        std::string piece = collective.TakeFrom(other);
        is_last = TakePiece(jobs, static_cast<size_t>(other), piece, taken);
        collective.Reuse(std::move(piece));
      }
      for (size_t i = 0; i < taken.size(); ++i)
        FillUp(jobs, static_cast<size_t>(other), i, taken[i]);
    }
  }

 private:
  // The address in a part's `out` of the first replica of a process.
  [[nodiscard]] char* FirstOf(size_t rank, const GatherPart& part) const {
    return at_(part.out, 0) + rank * static_cast<size_t>(here_.count) * part.bytes;
  }
  [[nodiscard]] char* Own(const GatherPart& part) const {
    return at_(part.out, 0) + static_cast<size_t>(here_.first) * part.bytes;
  }

  static RowsHead EndOf(const std::vector<GatherJob>& jobs) {
    return {.job = static_cast<uint32_t>(jobs.size())};
  }
  // The maximum number of a job's rows in a piece.
  static size_t MostRows(const GatherJob& job) {
    return std::max<size_t>(1, kExchangedBytes / (SizeOf(job.dtype) + RowBytes(job)));
  }

  // Calls fn(head, numbers, their bytes, values, their bytes) for runs of rows of each local
  // replica that are sent to all peers, without the padding of UniqueRows at the end (row number
  // -1, values zero).
  template <class Fn>
  void ForWhole(const std::vector<GatherJob>& jobs, const Fn& fn) const {
    for (size_t i = 0; i < jobs.size(); ++i) {
      const GatherJob& job = jobs[i];
      if (IsDealt(job) || job.numbers.bytes == 0) continue;
      for (int r = 0; r < here_.count; ++r) {
        const auto replica = static_cast<size_t>(r);
        const char* const values = Own(job.values) + replica * job.values.bytes;
        WithNumbers(job, Own(job.numbers) + replica * job.numbers.bytes, [&](auto* numbers) {
          const size_t rows = RowsOf(job, numbers, values);
          for (size_t at = 0; at < rows;) {
            const size_t n = std::min(rows - at, MostRows(job));
            fn(RowsHead{.job = static_cast<uint32_t>(i),
                        .replica = static_cast<uint32_t>(r),
                        .rows = n},
               reinterpret_cast<const char*>(numbers + at), n * sizeof *numbers,
               values + at * RowBytes(job), n * RowBytes(job));
            at += n;
          }
        });
      }
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

  // Appends the rows of one owner that each local replica has.
  template <class Fn>
  void PutRowsOf(int owner, const GatherJob& job, size_t index, const RowPlaces& of,
                 MessageWriter& piece, const Fn& give_if_full) const {
    for (int r = 0; r < here_.count; ++r) {
      std::span<const uint32_t> places = of[static_cast<size_t>(r)][static_cast<size_t>(owner)];
      const char* const values = at_(job.values.in, r);
      const size_t row_bytes = RowBytes(job);
      WithNumbers(job, at_(job.numbers.in, r), [&]<class Index>(const Index* numbers) {
        while (!places.empty()) {
          const std::span<const uint32_t> run =
              places.first(std::min(places.size(), MostRows(job)));
          piece.Number(RowsHead{.job = static_cast<uint32_t>(index),
                                .replica = static_cast<uint32_t>(r),
                                .rows = run.size()});
          char* to = piece.Room(run.size() * (sizeof(Index) + row_bytes));
          for (const uint32_t i : run) to = Append(to, numbers + i, sizeof(Index));
          for (const uint32_t i : run) to = Append(to, values + i * row_bytes, row_bytes);
          places = places.subspan(run.size());
          give_if_full();
        }
      });
    }
  }

  // Appends the rows of a piece to the rows received so far, for each replica of each job. Returns
  // whether the piece was the last.
  bool TakePiece(const std::vector<GatherJob>& jobs, size_t rank, std::string_view bytes,
                 std::vector<size_t>& taken) const {
    MessageReader piece(bytes);
    while (!piece.is_at_end()) {
      const auto head = piece.Number<RowsHead>();
      if (head.job == jobs.size()) return true;
      const GatherJob& job = jobs.at(head.job);
      Check(head.replica < static_cast<uint32_t>(here_.count),
            "a message names a replica that its sender does not have");
      size_t& before = taken[PlaceOf(head)];
      Check(head.rows <= CountOf(job) - before, "process {} sent more rows than its replicas have",
            rank);
      char* const values = FirstOf(rank, job.values) + head.replica * job.values.bytes;
      WithNumbers(job, FirstOf(rank, job.numbers) + head.replica * job.numbers.bytes,
                  [&](auto* numbers) { piece.Numbers(numbers + before, head.rows); });
      piece.Numbers(values + before * RowBytes(job), head.rows * RowBytes(job));
      before += head.rows;
    }
    return false;
  }
  [[nodiscard]] size_t PlaceOf(const RowsHead& head) const {
    return head.job * static_cast<size_t>(here_.count) + head.replica;
  }
  // Fills the rest after the received rows with -1, and with zeros if the values are read.
  void FillUp(const std::vector<GatherJob>& jobs, size_t rank, size_t place, size_t taken) const {
    const GatherJob& job = jobs[place / static_cast<size_t>(here_.count)];
    const size_t replica = place % static_cast<size_t>(here_.count);
    if (job.numbers.bytes == 0) return;
    WithNumbers(job, FirstOf(rank, job.numbers) + replica * job.numbers.bytes,
                [&](auto* numbers) { std::fill(numbers + taken, numbers + CountOf(job), -1); });
    if (IsDealt(job)) return;
    char* const values = FirstOf(rank, job.values) + replica * job.values.bytes;
    const size_t bytes = taken * RowBytes(job);
    std::memset(values + bytes, 0, job.values.bytes - bytes);
  }

  // Calls fn with a replica's row numbers in their own type.
  template <class Fn>
  static void WithNumbers(const GatherJob& job, char* numbers, Fn&& fn) {
    if (job.dtype == DType::kInt64) {
      fn(reinterpret_cast<int64_t*>(numbers));
    } else {
      fn(reinterpret_cast<int32_t*>(numbers));
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
  if (std::none_of(jobs.begin(), jobs.end(), IsDealt)) return exchange.GiveWhole(jobs, *collective);
  exchange.GiveByOwner(jobs, places, *collective);
}

void EndGather(const std::vector<GatherJob>& jobs, const ReplicaRange& here,
               const std::function<char*(Buffer, int)>& at, Collective* collective) {
  if (!jobs.empty() && collective != nullptr) Exchange(here, at).Take(jobs, *collective);
}

}  // namespace tpuest
