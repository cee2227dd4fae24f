#include "core/backend/table_lines.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/backend/rows/row_set.h"
#include "core/backend/rows/row_sights.h"
#include "core/backend/rows/row_table.h"

namespace tpuest {
namespace {

const RowTable& TableOf(const VariableStore& store, const std::string& weights) {
  const RowColumn* const rows = store.FindRows(weights);
  Check(rows != nullptr, "{} is not kept by rows", weights);
  return *rows->table;
}

// nullptr: no other process has rows of it.
RowOwners* OwnersOf(const VariableStore& store, const std::string& weights) {
  const RowColumn* const rows = store.FindRows(weights);
  return rows == nullptr ? nullptr : rows->table->owners().get();
}

std::vector<int64_t> LinesOf(const std::vector<Sight>& sights) {
  std::vector<int64_t> lines;
  lines.reserve(sights.size() * Sight::kNumbers);
  for (const Sight& sight : sights) {
    const std::array line = sight.Line();
    lines.insert(lines.end(), line.begin(), line.end());
  }
  return lines;
}

// Of these rows those that are known, or those that are not.
std::vector<int64_t> Known(const RowSights& sights, const std::vector<int64_t>& rows) {
  std::vector<Sight> known;
  for (const int64_t row : rows) {
    if (const std::optional<Sight> sight = sights.Of(row)) known.push_back(*sight);
  }
  return LinesOf(known);
}
std::vector<int64_t> Gone(const RowSights& sights, std::vector<int64_t> rows) {
  std::erase_if(rows, [&](int64_t row) { return sights.Of(row).has_value(); });
  return rows;
}

}  // namespace

size_t NumbersOfLine(RowLines what) {
  return what == RowLines::kSeen || what == RowLines::kSeenChanged ? Sight::kNumbers : 1;
}

std::vector<int64_t> MergedLines(RowLines what, std::span<const int64_t> a,
                                 std::span<const int64_t> b) {
  const size_t numbers = NumbersOfLine(what);
  std::vector<int64_t> merged;
  merged.reserve(a.size() + b.size());
  while (!a.empty() || !b.empty()) {
    std::span<const int64_t>& next = b.empty() || (!a.empty() && a[0] < b[0]) ? a : b;
    merged.insert(merged.end(), next.begin(), next.begin() + static_cast<ptrdiff_t>(numbers));
    next = next.subspan(numbers);
  }
  return merged;
}

bool IsShared(const VariableStore& store, const std::string& weights) {
  return OwnersOf(store, weights) != nullptr;
}

std::vector<int64_t> OwnLines(const VariableStore& store, const std::string& weights, RowLines what,
                              int64_t first, int64_t n) {
  const auto changed = [&] { return store.noted().at(weights).changed->Sorted(first, n); };
  const auto sights = [&]() -> const RowSights& { return *store.counted().at(weights).sights; };
  switch (what) {
    case RowLines::kWritten:
      return TableOf(store, weights).OwnRows(first, n);
    case RowLines::kChanged:
      return changed();
    case RowLines::kDropped: {
      std::vector<int64_t> rows = changed();
      const RowTable& table = TableOf(store, weights);
      std::erase_if(rows, [&](int64_t row) { return table.IsWritten(row); });
      return rows;
    }
    case RowLines::kSeen:
      return LinesOf(sights().Sorted(first, n));
    case RowLines::kSeenChanged:
      return Known(sights(), sights().changed()->Sorted(first, n));
    case RowLines::kSeenGone:
      return Gone(sights(), sights().changed()->Sorted(first, n));
  }
  return {};
}

int64_t CountOwnLines(const VariableStore& store, const std::string& weights, RowLines what) {
  if (what == RowLines::kSeen) {
    return static_cast<int64_t>(store.counted().at(weights).sights->size());
  }
  const std::vector<int64_t> lines = OwnLines(store, weights, what, 0, INT64_MAX);
  return static_cast<int64_t>(lines.size() / NumbersOfLine(what));
}

std::vector<int64_t> AllLines(const VariableStore& store, const std::string& weights, RowLines what,
                              int64_t first, int64_t n) {
  std::vector<int64_t> own = OwnLines(store, weights, what, first, n);
  RowOwners* const owners = OwnersOf(store, weights);
  if (owners == nullptr) return own;
  return MergedLines(what, own, owners->Lines(weights, what, first, n));
}

int64_t CountAllLines(const VariableStore& store, const std::string& weights, RowLines what) {
  RowOwners* const owners = OwnersOf(store, weights);
  return CountOwnLines(store, weights, what) +
         (owners == nullptr ? 0 : owners->CountLines(weights, what));
}

void PutLines(VariableStore& store, const std::string& weights, RowLines what,
              std::span<const int64_t> lines) {
  const size_t numbers = NumbersOfLine(what);
  for (; lines.size() >= numbers; lines = lines.subspan(numbers)) {
    switch (what) {
      case RowLines::kSeen:
        store.counted().at(weights).sights->Put(Sight::Of(lines.first<Sight::kNumbers>()));
        break;
      case RowLines::kSeenChanged:
      case RowLines::kSeenGone:
        store.counted().at(weights).sights->changed()->Insert(lines[0]);
        break;
      case RowLines::kChanged:
        store.noted().at(weights).changed->Insert(lines[0]);
        break;
      case RowLines::kWritten:
      case RowLines::kDropped:
        Check(false, "lines of {} that are of its rows' values", weights);
    }
  }
}

void KeepOwnLines(VariableStore& store, const std::string& weights) {
  const RowTable& table = TableOf(store, weights);
  const auto is_own = [&](int64_t row) { return table.IsOwn(row); };
  const auto counted = store.counted().find(weights);
  if (counted != store.counted().end()) counted->second.sights->KeepIf(is_own);
  const auto noted = store.noted().find(weights);
  if (noted != store.noted().end()) noted->second.changed->KeepIf(is_own);
}

void ForgetChanges(VariableStore& store) {
  for (const auto& [weights, table] : store.noted()) table.changed->Clear();
  for (const auto& [weights, table] : store.counted()) {
    if (table.sights->changed() != nullptr) table.sights->changed()->Clear();
  }
  const RowKeeping* const keeping = store.row_keeping();
  RowOwners* const owners = keeping == nullptr ? nullptr : keeping->owners.get();
  if (owners != nullptr && owners->rank() == 0) owners->ForgetChanges();
}

}  // namespace tpuest
