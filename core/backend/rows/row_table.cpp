#include "core/backend/rows/row_table.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tensor/prefetch.h"

namespace tpuest {
namespace {

// A table of more bytes has the index layout, unless the job chooses one.
constexpr int64_t kMostArrayBytes = int64_t{256} << 20;
constexpr int64_t kFilledAtOnce = 4096;  // rows of an array that are filled together
constexpr size_t kAhead = kRowsAhead;

}  // namespace

RowLayout RowTable::LayoutOf(int64_t rows, int64_t record_bytes, RowLayout asked) {
  if (asked != RowLayout::kAuto) return asked;
  return rows <= kMostArrayBytes / record_bytes ? RowLayout::kArray : RowLayout::kIndex;
}

int64_t RowTable::BytesOf(int64_t rows, int64_t written, int64_t record_bytes, RowLayout layout) {
  if (layout == RowLayout::kArray) return RowArray::BytesOf(rows, record_bytes);
  return RowIndex::BytesOf(written, record_bytes);
}

RowTable::RowTable(int64_t rows, int64_t width, std::vector<RowVariable> variables,
                   const RowKeeping& options, uint64_t seed)
    : rows_(rows),
      width_(width),
      variables_(std::move(variables)),
      record_floats_(width * static_cast<int64_t>(variables_.size())),
      record_bytes_(record_floats_ * static_cast<int64_t>(sizeof(float))),
      layout_(LayoutOf(rows, record_bytes_, options.layout)),
      budget_(options.budget),
      owners_(options.owners),
      seed_(seed),
      owned_(owners_ == nullptr ? OwnedRows{.first = 0, .end = rows} : owners_->Owned(rows)),
      budgeted_rows_(owned_.count()),
      undo_(width) {
  Check(rows > 0 && width > 0 && !variables_.empty(), "a table without rows or columns");
  Pay(BytesOf(budgeted_rows_, 0, record_bytes_, layout_));
  if (IsArray()) {
    array_ = RowArray(rows_, record_floats_);
  } else {
    index_ = RowIndex(record_bytes_);
  }
}

RowTable::~RowTable() { budget_->held -= paid_; }

void RowTable::Pay(int64_t bytes) {
  const int64_t held = budget_->held += bytes;
  paid_ += bytes;
  if (held <= budget_->most) return;
  budget_->held -= bytes;
  paid_ -= bytes;
  const std::string how =
      IsArray()
          ? fmt::format("{} rows of {} bytes", std::max(budgeted_rows_, written_), record_bytes_)
          : fmt::format("{} of {} rows were written, {} bytes each and {} of index", written_,
                        rows_, record_bytes_, paid_ - written_ * record_bytes_);
  throw Error(
      Code::kResource,
      fmt::format("table \"{}\" needs {} bytes more: it has {} ({}), all tables would have {}, "
                  "tpuest.embeddings.max_resident_bytes is {}",
                  variables_.front().name, bytes, paid_, how, held, budget_->most),
      "raise it, or use a smaller dimension or an optimizer with fewer slots "
      "(StochasticGradientDescent has none); `tpuest plan` shows the sums")
      .Key("tpuest.embeddings.max_resident_bytes");
}

float* RowTable::Find(int64_t row) const {
  if (IsArray()) {
    if (!IsOwn(row)) return nullptr;
    const int64_t place = PlaceOf(row);
    return array_.IsWritten(place) ? array_.Record(place) : nullptr;
  }
  return index_.Find(row);
}

const float* RowTable::Held(int64_t row) const {
  if (!IsArray()) return Find(row);
  const int64_t place = PlaceOf(row);
  return array_.IsThere(place) ? array_.Record(place) : nullptr;
}

float* RowTable::Add(int64_t row) {
  if (IsArray()) {
    if (written_ >= budgeted_rows_) Pay(record_bytes_);
    const int64_t place = PlaceOf(row);
    array_.SetWritten(place);
    ++written_;
    return array_.Record(place);
  }
  float* const record = index_.Add(row, [this](int64_t bytes) { Pay(bytes); });
  ++written_;
  return record;
}

void RowTable::Remove(int64_t row) {
  --written_;
  if (IsArray()) {
    array_.Clear(PlaceOf(row));
  } else {
    index_.Remove(row);
  }
}

void RowTable::Drop(int64_t row) {
  if (IsWritten(row)) Remove(row);
}

void RowTable::Prefetch(int64_t row) const {
  if (!IsOwn(row)) return;
  if (IsArray()) return array_.Prefetch(PlaceOf(row));
  index_.Prefetch(row);
}

void RowTable::ReadRow(int column, int64_t row, int64_t place, float* to, DrawnRows& drawn) const {
  if (const float* const record = Held(row)) {
    std::copy_n(record + column * width_, width_, to + place * width_);
  } else {
    drawn.Add(row * width_, place);
  }
}

void RowTable::Draw(int column, const DrawnRows& drawn, float* to) const {
  if (drawn.firsts.empty()) return;
  std::vector<float> values(drawn.firsts.size() * static_cast<size_t>(width_));
  variables_[static_cast<size_t>(column)].initial(drawn.firsts, width_, values.data());
  const float* from = values.data();
  for (const int64_t place : drawn.places) {
    std::copy_n(from, width_, to + place * width_);
    from += width_;
  }
}

void RowTable::Read(int column, std::span<const int64_t> rows, float* to) const {
  DrawnRows drawn;
  std::vector<int64_t> asked;
  std::vector<int64_t> places;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) Prefetch(rows[i + kAhead]);
    const auto place = static_cast<int64_t>(i);
    if (IsOwn(rows[i])) {
      ReadRow(column, rows[i], place, to, drawn);
      continue;
    }
    const int64_t remote = column == 0 ? remote_.Find(rows[i]) : -1;
    if (remote < 0) {
      asked.push_back(rows[i]);
      places.push_back(place);
    } else if (remote_.rows().written[static_cast<size_t>(remote)] != 0) {
      std::copy_n(remote_.rows().values.data() + remote * width_, width_, to + place * width_);
    } else {
      drawn.Add(rows[i] * width_, place);
    }
  }
  Draw(column, drawn, to);
  if (!asked.empty()) ReadOthers(column, asked, places, /*is_drawn=*/false, to);
}

void RowTable::ReadOwn(int column, std::span<const int64_t> rows, float* to) const {
  DrawnRows drawn;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (i + kAhead < rows.size()) Prefetch(rows[i + kAhead]);
    const auto place = static_cast<int64_t>(i);
    if (IsOwn(rows[i])) {
      ReadRow(column, rows[i], place, to, drawn);
    } else {
      std::fill_n(to + place * width_, width_, 1.0F);
    }
  }
  Draw(column, drawn, to);
}

void RowTable::ReadOthers(int column, std::span<const int64_t> rows,
                          std::span<const int64_t> places, bool is_drawn, float* to) const {
  const std::string& name = variables_[static_cast<size_t>(column)].name;
  std::vector<float> values(rows.size() * static_cast<size_t>(width_));
  const std::vector<bool> written = owners_->Read(name, rows_, rows, width_, values.data());
  for (size_t i = 0; i < rows.size(); ++i) {
    float* const row = to + places[i] * width_;
    if (written[i]) {
      std::copy_n(values.data() + static_cast<int64_t>(i) * width_, width_, row);
    } else if (!is_drawn) {
      variables_[static_cast<size_t>(column)].DrawRows(rows[i], 1, width_, row);
    }
  }
}

void RowTable::Deal(const PassOnFn& pass_on) {
  Check(owners_ != nullptr && !is_dealt_,
        "the table belongs to one process or is already partitioned");
  for (const int64_t row : HeldRows()) {
    if (owned_.Has(row)) continue;
    const std::span<const float> record(Find(row), static_cast<size_t>(record_floats_));
    const auto width = static_cast<size_t>(width_);
    for (size_t i = 0; i < variables_.size() && pass_on != nullptr; ++i) {
      pass_on(owners_->OwnerOf(row, rows_), static_cast<int>(i), row,
              record.subspan(i * width, width));
    }
    Remove(row);
  }
  if (IsArray()) Shrink();
  is_dealt_ = true;
}

void RowTable::Shrink() {
  RowArray own(owned_.count(), record_floats_);
  array_.ForEachWritten([&](int64_t row) {
    const int64_t place = owned_.PlaceOf(row);
    std::copy_n(array_.Record(row), record_floats_, own.Record(place));
    own.SetWritten(place);
  });
  const int64_t bytes = paid_ - RowArray::BytesOf(own.rows(), record_bytes_);
  budget_->held -= bytes;
  paid_ -= bytes;
  array_ = std::move(own);
}

RemoteRows RowTable::RowsFor(int column, std::vector<int64_t> rows) const {
  RemoteRows found{.rows = std::move(rows), .written = {}, .values = {}};
  const size_t n = found.rows.size();
  found.written.resize(n);
  found.values.reserve(n * static_cast<size_t>(width_));
  for (size_t i = 0; i < n; ++i) {
    if (i + kAhead < n) Prefetch(found.rows[i + kAhead]);
    const float* const values = FindValues(column, found.rows[i]);
    found.written[i] = values != nullptr ? 1 : 0;
    if (values == nullptr) {
      found.values.resize((i + 1) * static_cast<size_t>(width_));
    } else {
      found.values.insert(found.values.end(), values, values + width_);
    }
  }
  return found;
}

std::vector<int64_t> RowTable::OwnRows(int64_t first, int64_t n) const {
  if (n < written_) {
    std::vector<int64_t> rows;
    for (int64_t row = first; row < first + n; ++row) {
      if (Find(row) != nullptr) rows.push_back(row);
    }
    return rows;
  }
  std::vector<int64_t> rows = HeldRows();
  std::erase_if(rows, [&](int64_t row) { return row < first || row >= first + n; });
  return rows;
}

void RowTable::FillRun(int64_t first, int64_t n) const {
  std::vector<float> drawn(static_cast<size_t>(n * width_));
  const size_t bytes = static_cast<size_t>(width_) * sizeof(float);
  float* to = array_.Record(first);
  for (const RowVariable& variable : variables_) {
    variable.DrawRows(first, n, width_, drawn.data());
    for (int64_t i = 0; i < n; ++i) {
      std::memcpy(to + i * record_floats_, drawn.data() + i * width_, bytes);
    }
    to += width_;
  }
  for (int64_t row = first; row < first + n; ++row) array_.SetThere(row);
}

void RowTable::Fill(int64_t first, int64_t n) const {
  const std::unique_lock lock(mutex_);
  for (int64_t row = first; row < first + n; ++row) {
    if (array_.IsThere(row)) continue;
    const int64_t begin = row;
    while (row < first + n && row < begin + kFilledAtOnce && !array_.IsThere(row)) ++row;
    FillRun(begin, row - begin);
    --row;
  }
}

void RowTable::ReadRange(int column, int64_t first, int64_t n, float* to) const {
  ReadHere(column, first, n, to);
  if (!is_dealt_) return;
  const std::vector<int64_t> rows =
      owners_->Records(variables_.front().name, RowRecords::kWritten, first, n);
  if (rows.empty()) return;
  std::vector<int64_t> places;
  for (const int64_t row : rows) places.push_back(row - first);
  ReadOthers(column, rows, places, /*is_drawn=*/true, to);
}

void RowTable::ReadHere(int column, int64_t first, int64_t n, float* to) const {
  const size_t bytes = static_cast<size_t>(width_) * sizeof(float);
  // In a group, rows that were never written are not kept: their budget may not have been reserved.
  if (IsArray() && owners_ == nullptr) {
    Fill(first, n);
    const float* from = array_.Record(first) + column * width_;
    for (int64_t i = 0; i < n; ++i, from += record_floats_, to += width_) {
      std::memcpy(to, from, bytes);
    }
    return;
  }
  variables_[static_cast<size_t>(column)].DrawRows(first, n, width_, to);
  for (int64_t row = first; row < first + n; ++row, to += width_) {
    if (const float* const record = Find(row)) std::memcpy(to, record + column * width_, bytes);
  }
}

void RowTable::Write(int column, int64_t row, const float* values) {
  if (!IsOwn(row)) {
    if (pass_on_ == nullptr) return;
    return pass_on_(owners_->OwnerOf(row, rows_), column, row,
                    {values, static_cast<size_t>(width_)});
  }
  float* record = Find(row);
  if (undo_.is_on()) {
    undo_.Log(column, row, record == nullptr ? nullptr : record + column * width_, values);
  }
  if (record == nullptr) {
    record = Add(row);
    for (size_t i = 0; i < variables_.size(); ++i) {
      if (static_cast<int>(i) == column) continue;
      variables_[i].DrawRows(row, 1, width_, record + static_cast<int64_t>(i) * width_);
    }
  }
  std::memcpy(record + column * width_, values, static_cast<size_t>(width_) * sizeof(float));
}

void RowTable::SetRange(int column, int64_t first, int64_t n, const float* values) {
  std::vector<float> there(static_cast<size_t>(n * width_));
  ReadHere(column, first, n, there.data());
  const size_t bytes = static_cast<size_t>(width_) * sizeof(float);
  for (int64_t i = 0; i < n; ++i) {
    const float* const own = values + i * width_;
    if (std::memcmp(own, there.data() + i * width_, bytes) != 0) Write(column, first + i, own);
  }
}

std::vector<int64_t> RowTable::WrittenRows() const {
  std::vector<int64_t> rows = HeldRows();
  if (!is_dealt_) return rows;
  const auto own = static_cast<int64_t>(rows.size());
  const std::vector<int64_t> others =
      owners_->Records(variables_.front().name, RowRecords::kWritten, 0, rows_);
  rows.insert(rows.end(), others.begin(), others.end());
  std::inplace_merge(rows.begin(), rows.begin() + own, rows.end());
  return rows;
}

std::vector<int64_t> RowTable::HeldRows() const {
  if (!IsArray()) return index_.Rows();
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(written_));
  array_.ForEachWritten(
      [&](int64_t place) { rows.push_back(is_dealt_ ? owned_.RowAt(place) : place); });
  return rows;
}

void RowTable::TakeBack() {
  undo_.TakeBack([this](int64_t row) { Remove(row); },
                 [this](int column, int64_t row, const float* before) {
                   std::copy_n(before, width_, Find(row) + column * width_);
                 });
}

}  // namespace tpuest
