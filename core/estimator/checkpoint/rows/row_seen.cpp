#include "core/estimator/checkpoint/rows/row_seen.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "core/backend/rows/table_records.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/saved/saved_entries.h"
#include "core/io/increment.h"

namespace tpuest {
namespace {

constexpr std::string_view kSeen = "tpuest/seen/";
constexpr auto kSeenNumbers = static_cast<int64_t>(RowCount::kNumbers);  // numbers per row
constexpr int64_t kLinesAtOnce = int64_t{1} << 15;

// Streams the records of rows in runs of roughly equal size.
std::shared_ptr<const StreamedTensor> SeenStream(const VariableStore& store,
                                                 const std::string& weights, int64_t rows) {
  const int64_t lines = CountAllRecords(store.tables(), weights, RowRecords::kSeen);
  const int64_t runs = lines / kLinesAtOnce + 1;
  return std::make_shared<StreamedTensor>(StreamedTensor{
      .dtype = DType::kInt64,
      .shape = Shape({lines, kSeenNumbers}),
      .write = [&store, weights, rows, runs](const TakeBytesFn& take) {
        const int64_t most = rows / runs + 1;
        for (int64_t first = 0; first < rows; first += most) {
          const std::vector<int64_t> numbers =
              AllRecords(store.tables(), weights, RowRecords::kSeen, first, most);
          take({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t)});
        }
      }});
}

// The records as [n, numbers], or [n] if a record is one number.
Tensor TensorOf(const std::vector<int64_t>& lines, int64_t numbers) {
  const int64_t n = static_cast<int64_t>(lines.size()) / numbers;
  Tensor tensor(DType::kInt64, numbers == 1 ? Shape({n}) : Shape({n, numbers}));
  std::copy(lines.begin(), lines.end(), tensor.data<int64_t>());
  return tensor;
}

}  // namespace

std::vector<NamedTensor> SeenEntries(const VariableStore& store) {
  std::vector<NamedTensor> entries;
  for (const auto& [weights, table] : store.tables().counted()) {
    entries.push_back({SeenName(weights), {}, SeenStream(store, weights, table.rows)});
  }
  return entries;
}

std::vector<NamedTensor> ChangedSeenEntries(const VariableStore& store) {
  std::vector<NamedTensor> entries;
  for (const auto& [weights, table] : store.tables().counted()) {
    const auto lines = [&store, &of = weights, rows = table.rows](RowRecords what) {
      return AllRecords(store.tables(), of, what, 0, rows);
    };
    const std::string name = SeenName(weights);
    entries.push_back(
        {ChangedLinesName(name), TensorOf(lines(RowRecords::kSeenChanged), kSeenNumbers)});
    entries.push_back({GoneLinesName(name), TensorOf(lines(RowRecords::kSeenGone), 1)});
  }
  return entries;
}

std::vector<std::string> SeenNames(const VariableStore& store) {
  std::vector<std::string> names;
  for (const auto& [weights, table] : store.tables().counted()) names.push_back(SeenName(weights));
  return names;
}

std::string SeenName(const std::string& table) { return std::string(kSeen) + table; }

std::map<std::string, Tensor> WithSeen(const VariableStore& store) {
  std::map<std::string, Tensor> all = store.tensors();
  for (const auto& [weights, table] : store.tables().counted()) {
    if (IsShared(store.tables(), weights)) continue;
    const NamedTensor entry{SeenName(weights), {}, SeenStream(store, weights, table.rows)};
    Tensor numbers(DType::kInt64, entry.streamed->shape);
    auto* to = static_cast<char*>(numbers.raw());
    entry.streamed->write([&](std::string_view bytes) {
      std::memcpy(to, bytes.data(), bytes.size());
      to += bytes.size();
    });
    all.emplace(entry.name, std::move(numbers));
  }
  return all;
}

bool IsSeenEntry(std::string_view name) { return name.starts_with(kSeen); }

std::vector<RowCount> SavedRowCounts(const SavedState& saved, const std::string& table,
                                     int64_t rows) {
  const std::string name = SeenName(table);
  const SavedEntries entries(saved);
  const std::optional<Shape> shape = entries.ShapeOf(name, DType::kInt64);
  if (!shape) return {};
  std::vector<RowCount> row_counts;
  bool is_sound = shape->rank() == 2 && shape->dim(1) == kSeenNumbers;
  if (is_sound) {
    const std::vector<int64_t> all = entries.Integers(name);
    int64_t next = 0;  // smallest valid number of the next row
    for (size_t at = 0; at < all.size() && is_sound; at += kSeenNumbers) {
      const auto line = std::span(all).subspan(at).first<RowCount::kNumbers>();
      row_counts.push_back(RowCount::Of(line));
      const std::array sound = row_counts.back().Record();
      is_sound = line[0] >= next && line[0] < rows && std::ranges::equal(line, sound);
      next = line[0] + 1;
    }
  }
  if (is_sound) return row_counts;
  throw Error(Code::kCheckpoint, fmt::format("{}: \"{}\", {}, are not the sorted counts of {} rows",
                                             saved.prefix, name, shape->Text(), rows));
}

}  // namespace tpuest
