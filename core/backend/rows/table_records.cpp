#include "core/backend/rows/table_records.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/backend/rows/row_counts.h"
#include "core/backend/rows/row_set.h"
#include "core/backend/rows/row_table.h"

namespace tpuest {
namespace {

const RowTable& TableOf(const TableStore& tables, const std::string& weights) {
  const RowColumn* const rows = tables.Find(weights);
  Check(rows != nullptr, "{} is not kept by rows", weights);
  return *rows->table;
}

// nullptr: no other process has rows of it.
RowOwners* OwnersOf(const TableStore& tables, const std::string& weights) {
  const RowColumn* const rows = tables.Find(weights);
  return rows == nullptr ? nullptr : rows->table->owners().get();
}

std::vector<int64_t> RecordsOf(const std::vector<RowCount>& row_counts) {
  std::vector<int64_t> records;
  records.reserve(row_counts.size() * RowCount::kNumbers);
  for (const RowCount& row_count : row_counts) {
    const std::array record = row_count.Record();
    records.insert(records.end(), record.begin(), record.end());
  }
  return records;
}

// The rows that have a count, or the rows without one.
std::vector<int64_t> Known(const RowCounts& row_counts, const std::vector<int64_t>& rows) {
  std::vector<RowCount> known;
  for (const int64_t row : rows) {
    if (const std::optional<RowCount> row_count = row_counts.Of(row)) known.push_back(*row_count);
  }
  return RecordsOf(known);
}
std::vector<int64_t> Gone(const RowCounts& row_counts, std::vector<int64_t> rows) {
  std::erase_if(rows, [&](int64_t row) { return row_counts.Of(row).has_value(); });
  return rows;
}

}  // namespace

size_t NumbersOfRecord(RowRecords what) {
  return what == RowRecords::kSeen || what == RowRecords::kSeenChanged ? RowCount::kNumbers : 1;
}

std::vector<int64_t> MergedRecords(RowRecords what, std::span<const int64_t> a,
                                   std::span<const int64_t> b) {
  const size_t numbers = NumbersOfRecord(what);
  std::vector<int64_t> merged;
  merged.reserve(a.size() + b.size());
  while (!a.empty() || !b.empty()) {
    std::span<const int64_t>& next = b.empty() || (!a.empty() && a[0] < b[0]) ? a : b;
    merged.insert(merged.end(), next.begin(), next.begin() + static_cast<ptrdiff_t>(numbers));
    next = next.subspan(numbers);
  }
  return merged;
}

bool IsShared(const TableStore& tables, const std::string& weights) {
  return OwnersOf(tables, weights) != nullptr;
}

std::vector<int64_t> OwnRecords(const TableStore& tables, const std::string& weights,
                                RowRecords what, int64_t first, int64_t n) {
  const auto changed = [&] { return tables.noted().at(weights).changed->Sorted(first, n); };
  const auto row_counts = [&]() -> const RowCounts& {
    return *tables.counted().at(weights).row_counts;
  };
  switch (what) {
    case RowRecords::kWritten:
      return TableOf(tables, weights).OwnRows(first, n);
    case RowRecords::kChanged:
      return changed();
    case RowRecords::kDropped: {
      std::vector<int64_t> rows = changed();
      const RowTable& table = TableOf(tables, weights);
      std::erase_if(rows, [&](int64_t row) { return table.IsWritten(row); });
      return rows;
    }
    case RowRecords::kSeen:
      return RecordsOf(row_counts().Sorted(first, n));
    case RowRecords::kSeenChanged:
      return Known(row_counts(), row_counts().changed()->Sorted(first, n));
    case RowRecords::kSeenGone:
      return Gone(row_counts(), row_counts().changed()->Sorted(first, n));
  }
  return {};
}

int64_t CountOwnRecords(const TableStore& tables, const std::string& weights, RowRecords what) {
  if (what == RowRecords::kSeen) {
    return static_cast<int64_t>(tables.counted().at(weights).row_counts->size());
  }
  const std::vector<int64_t> records = OwnRecords(tables, weights, what, 0, INT64_MAX);
  return static_cast<int64_t>(records.size() / NumbersOfRecord(what));
}

std::vector<int64_t> AllRecords(const TableStore& tables, const std::string& weights,
                                RowRecords what, int64_t first, int64_t n) {
  std::vector<int64_t> own = OwnRecords(tables, weights, what, first, n);
  RowOwners* const owners = OwnersOf(tables, weights);
  if (owners == nullptr) return own;
  return MergedRecords(what, own, owners->Records(weights, what, first, n));
}

int64_t CountAllRecords(const TableStore& tables, const std::string& weights, RowRecords what) {
  RowOwners* const owners = OwnersOf(tables, weights);
  return CountOwnRecords(tables, weights, what) +
         (owners == nullptr ? 0 : owners->CountRecords(weights, what));
}

void PutRecords(TableStore& tables, const std::string& weights, RowRecords what,
                std::span<const int64_t> records) {
  const size_t numbers = NumbersOfRecord(what);
  for (; records.size() >= numbers; records = records.subspan(numbers)) {
    switch (what) {
      case RowRecords::kSeen:
        tables.counted().at(weights).row_counts->Put(
            RowCount::Of(records.first<RowCount::kNumbers>()));
        break;
      case RowRecords::kSeenChanged:
      case RowRecords::kSeenGone:
        tables.counted().at(weights).row_counts->changed()->Insert(records[0]);
        break;
      case RowRecords::kChanged:
        tables.noted().at(weights).changed->Insert(records[0]);
        break;
      case RowRecords::kWritten:
      case RowRecords::kDropped:
        Check(false, "records of {} that describe its rows' values", weights);
    }
  }
}

void KeepOwnRecords(TableStore& tables, const std::string& weights) {
  const RowTable& table = TableOf(tables, weights);
  const auto is_own = [&](int64_t row) { return table.IsOwn(row); };
  const auto counted = tables.counted().find(weights);
  if (counted != tables.counted().end()) counted->second.row_counts->KeepIf(is_own);
  const auto noted = tables.noted().find(weights);
  if (noted != tables.noted().end()) noted->second.changed->KeepIf(is_own);
}

void ForgetChanges(TableStore& tables) {
  for (const auto& [weights, table] : tables.noted()) table.changed->Clear();
  for (const auto& [weights, table] : tables.counted()) {
    if (table.row_counts->changed() != nullptr) table.row_counts->changed()->Clear();
  }
  const RowKeeping* const keeping = tables.keeping();
  RowOwners* const owners = keeping == nullptr ? nullptr : keeping->owners.get();
  if (owners != nullptr && owners->rank() == 0) owners->ForgetChanges();
}

}  // namespace tpuest
