#include "core/backend/rows/row_table.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <mutex>
#include <utility>

#include "core/backend/rows/row_slots.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/tensor/prefetch.h"

namespace tpuest {
namespace {

constexpr int64_t kMostArrayBytes = int64_t{256}
                                    << 20;  // of a table whose layout is chosen by its size
constexpr int64_t kSlabBytes = int64_t{1} << 20;
constexpr size_t kFirstSlots = 1024;
constexpr int64_t kFilledAtOnce = 4096;  // rows of an array that are filled together
constexpr size_t kFewestRemote = 64;
constexpr size_t kAhead = kRowsAhead;

int64_t SlabRecords(int64_t record_bytes) {
  const int64_t records = std::max<int64_t>(kSlabBytes / (record_bytes + 8), 1);
  return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(records)));
}

// The row numbers follow the records, at a multiple of 8 bytes.
int64_t RecordsBytes(int64_t record_bytes) {
  return (SlabRecords(record_bytes) * record_bytes + 7) / 8 * 8;
}
int64_t SlabBytes(int64_t record_bytes) {
  return RecordsBytes(record_bytes) + SlabRecords(record_bytes) * 8;
}

// The number of slots of an index of `written` rows; at most three quarters are used.
int64_t SlotsFor(int64_t written) {
  const auto needed = static_cast<uint64_t>(written + written / 3 + 1);
  return static_cast<int64_t>(std::max<uint64_t>(std::bit_ceil(needed), kFirstSlots));
}

}  // namespace

RowLayout RowTable::LayoutOf(int64_t rows, int64_t record_bytes, RowLayout asked) {
  if (asked != RowLayout::kAuto) return asked;
  return rows <= kMostArrayBytes / record_bytes ? RowLayout::kArray : RowLayout::kIndex;
}

int64_t RowTable::BytesOf(int64_t rows, int64_t written, int64_t record_bytes, RowLayout layout) {
  if (layout == RowLayout::kArray) return RowArray::BytesOf(rows, record_bytes);
  const int64_t records = SlabRecords(record_bytes);
  const int64_t slabs = (written + records - 1) / records;
  return slabs * SlabBytes(record_bytes) + SlotsFor(written) * 4;
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
      budgeted_rows_(owned_.count()) {
  Check(rows > 0 && width > 0 && !variables_.empty(), "a table without rows or columns");
  Pay(BytesOf(budgeted_rows_, 0, record_bytes_, layout_));
  if (IsArray()) {
    array_ = RowArray(rows_, record_floats_);
  } else {
    slab_records_ = SlabRecords(record_bytes_);
    slots_.assign(kFirstSlots, 0);
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

uint64_t RowTable::HomeOf(int64_t row) const { return HomeSlot(row, slots_.size()); }

float* RowTable::RecordAt(uint32_t place) const {
  char* const slab = slabs_[place / static_cast<uint64_t>(slab_records_)].get();
  const auto at = static_cast<int64_t>(place & static_cast<uint64_t>(slab_records_ - 1));
  return reinterpret_cast<float*>(slab + at * record_bytes_);
}

int64_t& RowTable::KeyAt(uint32_t place) const {
  char* const slab = slabs_[place / static_cast<uint64_t>(slab_records_)].get();
  const auto at = static_cast<int64_t>(place & static_cast<uint64_t>(slab_records_ - 1));
  return reinterpret_cast<int64_t*>(slab + RecordsBytes(record_bytes_))[at];
}

size_t RowTable::SlotOf(int64_t row) const {
  return FindSlot(row, slots_, [&](uint32_t place) { return KeyAt(place); });
}

float* RowTable::Find(int64_t row) const {
  if (IsArray()) {
    if (!IsOwn(row)) return nullptr;
    const int64_t place = PlaceOf(row);
    return array_.IsWritten(place) ? array_.Record(place) : nullptr;
  }
  const uint32_t at = slots_[SlotOf(row)];
  return at == 0 ? nullptr : RecordAt(at - 1);
}

const float* RowTable::Held(int64_t row) const {
  if (!IsArray()) return Find(row);
  const int64_t place = PlaceOf(row);
  return array_.IsThere(place) ? array_.Record(place) : nullptr;
}

void RowTable::Grow() {
  const auto slots = static_cast<size_t>(SlotsFor(written_ + 1));
  if (slots <= slots_.size()) return;
  Pay(static_cast<int64_t>((slots - slots_.size()) * sizeof(uint32_t)));
  std::vector<uint32_t> old = std::exchange(slots_, std::vector<uint32_t>(slots, 0));
  const size_t mask = slots - 1;
  for (const uint32_t at : old) {
    if (at == 0) continue;
    size_t slot = HomeOf(KeyAt(at - 1));
    while (slots_[slot] != 0) slot = (slot + 1) & mask;
    slots_[slot] = at;
  }
}

uint32_t RowTable::NewPlace() {
  if (free_.empty()) {
    const int64_t bytes = SlabBytes(record_bytes_);
    Pay(bytes);
    slabs_.push_back(std::make_unique_for_overwrite<char[]>(static_cast<size_t>(bytes)));
    const auto first = (slabs_.size() - 1) * static_cast<size_t>(slab_records_);
    Check(first + static_cast<size_t>(slab_records_) < UINT32_MAX, "a table with 2^32 records");
    // Places are taken from the back of free_, so the first place of a slab is used first.
    for (int64_t i = slab_records_ - 1; i >= 0; --i) {
      const auto place = static_cast<uint32_t>(first + static_cast<size_t>(i));
      KeyAt(place) = -1;
      free_.push_back(place);
    }
  }
  const uint32_t place = free_.back();
  free_.pop_back();
  return place;
}

float* RowTable::Add(int64_t row) {
  if (IsArray()) {
    if (written_ >= budgeted_rows_) Pay(record_bytes_);
    const int64_t place = PlaceOf(row);
    array_.SetWritten(place);
    ++written_;
    return array_.Record(place);
  }
  Grow();
  const uint32_t place = NewPlace();
  KeyAt(place) = row;
  slots_[SlotOf(row)] = place + 1;
  ++written_;
  return RecordAt(place);
}

// Entries after a freed slot move up, so that no search ends too early.
void RowTable::Remove(int64_t row) {
  --written_;
  if (IsArray()) {
    array_.Clear(PlaceOf(row));
    return;
  }
  const size_t mask = slots_.size() - 1;
  size_t hole = SlotOf(row);
  free_.push_back(slots_[hole] - 1);
  KeyAt(slots_[hole] - 1) = -1;
  slots_[hole] = 0;
  for (size_t slot = (hole + 1) & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const size_t home = HomeOf(KeyAt(slots_[slot] - 1));
    if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
    slots_[hole] = std::exchange(slots_[slot], 0);
    hole = slot;
  }
}

void RowTable::Drop(int64_t row) {
  if (IsWritten(row)) Remove(row);
}

void RowTable::Prefetch(int64_t row) const {
  if (!IsOwn(row)) return;
  if (IsArray()) return array_.Prefetch(PlaceOf(row));
  __builtin_prefetch(&slots_[HomeOf(row)]);
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
    const int64_t guest = column == 0 ? RemoteAt(rows[i]) : -1;
    if (guest < 0) {
      asked.push_back(rows[i]);
      places.push_back(place);
    } else if (remote_.written[static_cast<size_t>(guest)] != 0) {
      std::copy_n(remote_.values.data() + guest * width_, width_, to + place * width_);
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

size_t RowTable::RemoteSlot(int64_t row) const {
  return FindSlot(row, remote_slots_, [this](uint32_t place) { return remote_.rows[place]; });
}

void RowTable::AddRemote(int64_t row) {
  const size_t n = remote_.rows.size();
  if (2 * (n + 1) > remote_slots_.size()) {
    remote_slots_.assign(std::bit_ceil(4 * (n + kFewestRemote)), 0);
    for (size_t i = 0; i < n; ++i) {
      remote_slots_[RemoteSlot(remote_.rows[i])] = static_cast<uint32_t>(i + 1);
    }
  }
  uint32_t& slot = remote_slots_[RemoteSlot(row)];
  if (slot != 0) return;
  remote_.rows.push_back(row);
  slot = static_cast<uint32_t>(n + 1);
}

// Keeps the memory for the next remote rows.
void RowTable::ReleaseRemote() {
  if (remote_.rows.empty()) return;
  remote_.rows.clear();
  std::fill(remote_slots_.begin(), remote_slots_.end(), 0);
}

int64_t RowTable::RemoteAt(int64_t row) const {
  if (remote_.rows.empty()) return -1;
  return int64_t{remote_slots_[RemoteSlot(row)]} - 1;
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
  if (notes_) NoteWrite(column, row, record, values);
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
  std::vector<int64_t> rows;
  rows.reserve(static_cast<size_t>(written_));
  if (IsArray()) {
    array_.ForEachWritten(
        [&](int64_t place) { rows.push_back(is_dealt_ ? owned_.RowAt(place) : place); });
    return rows;
  }
  for (const uint32_t at : slots_) {
    if (at != 0) rows.push_back(KeyAt(at - 1));
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

void RowTable::Note() {
  Forget();
  notes_ = true;
}

void RowTable::NoteWrite(int column, int64_t row, const float* record, const float* values) {
  noted_.push_back({row, record == nullptr ? kNewRow : column});
  if (record != nullptr) {
    const float* const before = record + column * width_;
    noted_values_.insert(noted_values_.end(), before, before + width_);
  }
  // In a non-finite number all exponent bits are 1.
  uint32_t largest = 0;
  for (int64_t i = 0; i < width_; ++i) {
    largest = std::max(largest, std::bit_cast<uint32_t>(values[i]) & 0x7FFFFFFFU);
  }
  if (largest >= 0x7F800000U) noted_is_finite_ = false;
}

// Undoes the last write first, so a row that was written twice gets its oldest values.
void RowTable::TakeBack() {
  const float* values = noted_values_.data() + noted_values_.size();
  for (auto noted = noted_.rbegin(); noted != noted_.rend(); ++noted) {
    if (noted->column == kNewRow) {
      Remove(noted->row);
    } else {
      values -= width_;
      std::copy_n(values, width_, Find(noted->row) + noted->column * width_);
    }
  }
  Forget();
}

void RowTable::Forget() {
  notes_ = false;
  noted_is_finite_ = true;
  noted_.clear();
  noted_values_.clear();
}

}  // namespace tpuest
