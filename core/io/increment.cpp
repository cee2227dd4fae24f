#include "core/io/increment.h"

#include <algorithm>
#include <cstring>
#include <iterator>

#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/io/checkpoint_state.h"
#include "core/io/crc32c.h"
#include "core/io/row_names.h"
#include "core/io/row_pieces.h"

namespace tpuest {
namespace {

constexpr const char* kPlaceEntry = "tpuest/increment/place";
constexpr const char* kListsEntry = "tpuest/increment/lists";
constexpr const char* kVariablesEntry = "tpuest/increment/variables";
constexpr size_t kMergedBytes = size_t{1} << 20;

std::string IncrementName(std::string_view what, std::string_view name) {
  return fmt::format("{}{}/{}", kIncrement, what, name);
}

[[noreturn]] void ThrowDamaged(const std::string& prefix, std::string_view entry) {
  throw Error(Code::kCheckpoint, fmt::format("{}: \"{}\" is none of an increment", prefix, entry));
}

// Returns an entry's values, or nullopt if the entry has another dtype.
std::optional<Tensor> EntryOf(const BundleReader& reader, std::string_view name, DType dtype) {
  if (!reader.Has(name) || reader.DTypeOf(name) != dtype) return std::nullopt;
  return reader.Read(name);
}

std::optional<IncrementBase> BaseIn(const BundleReader& own) {
  if (!own.Has(kIncrementBase)) return std::nullopt;
  const std::optional<Tensor> name = EntryOf(own, kIncrementBase, DType::kString);
  const std::optional<Tensor> place = EntryOf(own, kPlaceEntry, DType::kInt64);
  if (!name || name->elements() != 1 || name->strings()[0].find('/') != std::string_view::npos) {
    ThrowDamaged(own.prefix(), kIncrementBase);
  }
  if (!place || place->elements() != 2) ThrowDamaged(own.prefix(), kPlaceEntry);
  const int64_t* const numbers = place->data<int64_t>();
  return IncrementBase{.prefix = JoinPath(DirName(own.prefix()), name->strings()[0]),
                       .checksum = static_cast<uint32_t>(numbers[0]),
                       .place = numbers[1]};
}

// Opens an increment's base and checks that the base has not changed.
BundleReader OpenBase(const std::string& prefix, const IncrementBase& base) {
  const std::string says = fmt::format(
      "{}: has only the rows of tables that changed since {}, and that ", prefix, base.prefix);
  const std::string hint = fmt::format(
      "bring the files {}.* beside it, or take a checkpoint that is whole, or an export",
      BaseName(base.prefix));
  if (!CheckpointExists(base.prefix)) {
    throw Error(Code::kCheckpoint, says + "is not there", hint);
  }
  if (IndexChecksum(base.prefix) != base.checksum) {
    throw Error(Code::kCheckpoint, says + "was written anew since, or is damaged", hint);
  }
  BundleReader reader(base.prefix, /*as_written=*/true);
  if (reader.Has(kIncrementBase)) {
    throw Error(Code::kCheckpoint, says + "is not whole either", hint);
  }
  return reader;
}

IncrementBase NeededBase(const BundleReader& own) {
  std::optional<IncrementBase> base = BaseIn(own);
  if (!base) ThrowDamaged(own.prefix(), kIncrementBase);
  return *std::move(base);
}

bool RiseFromZero(const std::vector<int64_t>& rows) {
  return (rows.empty() || rows.front() >= 0) &&
         std::adjacent_find(rows.begin(), rows.end(),
                            [](int64_t a, int64_t b) { return a >= b; }) == rows.end();
}

std::vector<int64_t> IntegersOf(const Tensor& tensor) {
  const int64_t* const numbers = tensor.data<int64_t>();
  return {numbers, numbers + tensor.elements()};
}

// Returns the row numbers of an entry if they ascend; nullopt if they do not or the entry is
// missing.
std::optional<std::vector<int64_t>> RowsIn(const BundleReader& reader, const std::string& name) {
  const std::optional<Tensor> tensor = EntryOf(reader, name, DType::kInt64);
  if (!tensor) return std::nullopt;
  std::vector<int64_t> rows = IntegersOf(*tensor);
  if (!RiseFromZero(rows)) return std::nullopt;
  return rows;
}

// Returns the shape [n, D] of an entry with a table of float32 or a list of int64 records; nullopt
// if the entry is neither.
std::optional<Shape> RowsShape(const BundleReader& reader, const std::string& name, DType dtype) {
  if (!reader.Has(name) || reader.DTypeOf(name) != dtype) return std::nullopt;
  Shape shape = reader.ShapeOf(name);
  if (!shape.fully_known() || shape.rank() != 2 || shape.dim(1) < 1) return std::nullopt;
  return shape;
}

bool LinesRise(const std::vector<int64_t>& lines, size_t width) {
  std::vector<int64_t> numbers;
  for (size_t at = 0; at < lines.size(); at += width) numbers.push_back(lines[at]);
  return RiseFromZero(numbers);
}

// Collects bytes and passes them on in large pieces.
class Pieces {
 public:
  explicit Pieces(const TakeBytesFn& take) : take_(take) {}
  void Add(const float* values, size_t bytes) {
    piece_.append(reinterpret_cast<const char*>(values), bytes);
    if (piece_.size() >= kMergedBytes) Flush();
  }
  void Flush() {
    if (!piece_.empty()) take_(piece_);
    piece_.clear();
  }

 private:
  const TakeBytesFn& take_;
  std::string piece_;
};

}  // namespace

std::string ChangedRowsName(std::string_view table) { return IncrementName("rows", table); }
std::string DroppedRowsName(std::string_view table) { return IncrementName("dropped", table); }
std::string ChangedLinesName(std::string_view list) { return IncrementName("lines", list); }
std::string GoneLinesName(std::string_view list) { return IncrementName("gone", list); }
std::string ChangedValuesName(std::string_view variable) {
  return IncrementName("values", variable);
}

std::vector<NamedTensor> IncrementEntries(const IncrementBase& base,
                                          const std::vector<TableVariable>& variables,
                                          const std::vector<std::string>& lists) {
  std::vector<std::string> names;
  for (const auto& [variable, table] : variables) names.insert(names.end(), {variable, table});
  std::vector<NamedTensor> entries;
  entries.push_back({std::string(kIncrementBase), Tensor::Strings({1}, {BaseName(base.prefix)})});
  entries.push_back(
      {kPlaceEntry, Tensor::Of<int64_t>({2}, {static_cast<int64_t>(base.checksum), base.place})});
  entries.push_back(
      {kVariablesEntry, Tensor::Strings({static_cast<int64_t>(variables.size()), 2}, names)});
  entries.push_back({kListsEntry, Tensor::Strings({static_cast<int64_t>(lists.size())}, lists)});
  return entries;
}

uint32_t IndexChecksum(const std::string& prefix) {
  return Crc32c(ReadFile(BundleIndexPath(prefix)));
}

std::optional<IncrementBase> BaseOf(const std::string& prefix) {
  return BaseIn(BundleReader(prefix, /*as_written=*/true));
}

Increment::Increment(const std::string& prefix)
    : prefix_(prefix),
      own_(prefix, /*as_written=*/true),
      stands_on_(NeededBase(own_)),
      base_(OpenBase(prefix, stands_on_)) {
  const std::optional<Tensor> names = EntryOf(own_, kVariablesEntry, DType::kString);
  if (!names || names->elements() % 2 != 0) ThrowDamaged(prefix_, kVariablesEntry);
  const auto strings = names->strings();
  for (size_t i = 0; i + 1 < strings.size(); i += 2) {
    const TableVariable variable{strings[i], strings[i + 1]};
    if (!tables_.contains(variable.second)) ReadTable(variable.second);
    Add(variable);
  }
  const std::optional<Tensor> lists = EntryOf(own_, kListsEntry, DType::kString);
  if (!lists) ThrowDamaged(prefix_, kListsEntry);
  for (const std::string_view list : lists->strings()) AddList(std::string(list));
}

void Increment::Refuse(const std::string& how) const {
  throw Error(Code::kCheckpoint, fmt::format("{}: {}", prefix_, how));
}

void Increment::ReadTable(const std::string& name) {
  Table table;
  std::optional<std::vector<int64_t>> rows = RowsIn(own_, ChangedRowsName(name));
  if (!rows) ThrowDamaged(prefix_, ChangedRowsName(name));
  table.rows = *std::move(rows);
  table.is_dropped.assign(table.rows.size(), false);
  const std::string dropped_name = DroppedRowsName(name);
  if (own_.Has(dropped_name)) {
    const std::optional<std::vector<int64_t>> dropped = RowsIn(own_, dropped_name);
    if (!dropped) ThrowDamaged(prefix_, dropped_name);
    for (const int64_t row : *dropped) {
      const auto at = std::lower_bound(table.rows.begin(), table.rows.end(), row);
      if (at == table.rows.end() || *at != row) ThrowDamaged(prefix_, dropped_name);
      table.is_dropped[static_cast<size_t>(at - table.rows.begin())] = true;
    }
  }
  if (base_.Has(RowKeysName(name))) {
    const std::optional<std::vector<int64_t>> keys = RowsIn(base_, RowKeysName(name));
    if (!keys) ThrowDamaged(base_.prefix(), RowKeysName(name));
    table.in_base = static_cast<int64_t>(keys->size());
    std::vector<int64_t> there;
    for (size_t i = 0; i < table.rows.size(); ++i) {
      if (!table.is_dropped[i]) there.push_back(table.rows[i]);
    }
    std::vector<int64_t> others;
    std::set_difference(keys->begin(), keys->end(), table.rows.begin(), table.rows.end(),
                        std::back_inserter(others));
    std::merge(others.begin(), others.end(), there.begin(), there.end(),
               std::back_inserter(table.keys));
    const Shape shape({static_cast<int64_t>(table.keys.size())});
    entries_[RowKeysName(name)] = {Kind::kKeys, name, name, shape};
  }
  tables_[name] = std::move(table);
}

void Increment::Add(const TableVariable& variable) {
  const auto& [name, table_name] = variable;
  const Table& table = tables_.at(table_name);
  const bool by_rows = base_.Has(RowKeysName(table_name));
  const std::string entry = by_rows ? RowValuesName(name) : name;
  const std::optional<Shape> in_base = RowsShape(base_, entry, DType::kFloat);
  if (!in_base || (by_rows && in_base->dim(0) != table.in_base)) {
    Refuse(fmt::format("has rows of \"{}\", and {} has no table \"{}\"", name,
                       BaseName(base_.prefix()), entry));
  }
  const Shape expected({static_cast<int64_t>(table.rows.size()), in_base->dim(1)});
  const std::string values = ChangedValuesName(name);
  const bool fits = RowsShape(own_, values, DType::kFloat) == std::optional(expected) &&
                    (by_rows || table.rows.empty() || table.rows.back() < in_base->dim(0));
  if (!fits) ThrowDamaged(prefix_, values);
  if (by_rows) {
    const Shape shape({static_cast<int64_t>(table.keys.size()), in_base->dim(1)});
    entries_[entry] = {Kind::kValues, name, table_name, shape};
  } else {
    entries_[entry] = {Kind::kWhole, name, table_name, *in_base};
  }
}

void Increment::AddList(const std::string& list) {
  const std::optional<Shape> in_base = RowsShape(base_, list, DType::kInt64);
  if (!in_base) {
    Refuse(fmt::format("has lines of \"{}\", and {} has no such list", list,
                       BaseName(base_.prefix())));
  }
  const std::string lines = ChangedLinesName(list);
  const std::optional<Shape> changed = RowsShape(own_, lines, DType::kInt64);
  if (!changed || changed->dim(1) != in_base->dim(1)) ThrowDamaged(prefix_, lines);
  const auto width = static_cast<size_t>(in_base->dim(1));
  if (!LinesRise(IntegersOf(own_.Read(lines)), width)) ThrowDamaged(prefix_, lines);
  if (!RowsIn(own_, GoneLinesName(list))) ThrowDamaged(prefix_, GoneLinesName(list));
  if (!LinesRise(IntegersOf(base_.Read(list)), width)) ThrowDamaged(base_.prefix(), list);
  const auto n = static_cast<int64_t>(LinesOf(list, width).size() / width);
  entries_[list] = {Kind::kLines, list, list, Shape({n, in_base->dim(1)})};
}

std::vector<int64_t> Increment::LinesOf(const std::string& list, size_t width) const {
  const std::vector<int64_t> base = IntegersOf(base_.Read(list));
  const std::vector<int64_t> changed = IntegersOf(own_.Read(ChangedLinesName(list)));
  const std::vector<int64_t> gone = IntegersOf(own_.Read(GoneLinesName(list)));
  std::vector<int64_t> all;
  const auto add = [&](const std::vector<int64_t>& from, size_t at) {
    const auto first = from.begin() + static_cast<int64_t>(at);
    all.insert(all.end(), first, first + static_cast<int64_t>(width));
  };
  size_t next = 0;  // index of the next changed row
  for (size_t at = 0; at < base.size(); at += width) {
    for (; next < changed.size() && changed[next] < base[at]; next += width) add(changed, next);
    const bool is_changed = next < changed.size() && changed[next] == base[at];
    if (is_changed || std::binary_search(gone.begin(), gone.end(), base[at])) continue;
    add(base, at);
  }
  for (; next < changed.size(); next += width) add(changed, next);
  return all;
}

std::vector<int64_t> Increment::ChangedLines(const std::string& list) const {
  if (!entries_.contains(list)) return {};
  const auto width = static_cast<size_t>(ShapeOf(list).dim(1));
  const std::vector<int64_t> changed = IntegersOf(own_.Read(ChangedLinesName(list)));
  std::vector<int64_t> numbers = IntegersOf(own_.Read(GoneLinesName(list)));
  for (size_t at = 0; at < changed.size(); at += width) numbers.push_back(changed[at]);
  return numbers;
}

std::vector<int64_t> Increment::ChangedRows(const std::string& table) const {
  const auto found = tables_.find(table);
  return found == tables_.end() ? std::vector<int64_t>() : found->second.rows;
}

std::vector<std::string> Increment::Tables() const {
  std::vector<std::string> names;
  for (const auto& [name, table] : tables_) names.push_back(name);
  return names;
}

std::vector<std::string> Increment::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : entries_) names.push_back(name);
  return names;
}

DType Increment::DTypeOf(std::string_view name) const {
  const Kind kind = entries_.find(name)->second.kind;
  return kind == Kind::kKeys || kind == Kind::kLines ? DType::kInt64 : DType::kFloat;
}

const Shape& Increment::ShapeOf(std::string_view name) const {
  return entries_.find(name)->second.shape;
}

void Increment::ReadPieces(std::string_view name, const TakeBytesFn& take) const {
  const Entry& entry = entries_.find(name)->second;
  if (entry.kind == Kind::kWhole) return ReadWhole(entry, take);
  if (entry.kind == Kind::kValues) return ReadValues(entry, take);
  const std::vector<int64_t> numbers =
      entry.kind == Kind::kKeys ? tables_.at(entry.table).keys
                                : LinesOf(entry.table, static_cast<size_t>(entry.shape.dim(1)));
  take({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t)});
}

// A piece may begin and end within a row.
void Increment::ReadWhole(const Entry& entry, const TakeBytesFn& take) const {
  const std::vector<int64_t>& rows = tables_.at(entry.table).rows;
  const Tensor values = own_.Read(ChangedValuesName(entry.variable));
  const auto* const from = static_cast<const char*>(values.raw());
  const int64_t row_bytes = entry.shape.dim(1) * static_cast<int64_t>(sizeof(float));
  int64_t begin = 0;
  base_.ReadPieces(entry.variable, [&](std::string_view bytes) {
    std::string piece(bytes);
    const int64_t end = begin + static_cast<int64_t>(piece.size());
    const auto first = std::lower_bound(rows.begin(), rows.end(), begin / row_bytes);
    for (auto row = first; row != rows.end() && *row * row_bytes < end; ++row) {
      const int64_t of_row = *row * row_bytes;
      const int64_t here = std::max(of_row, begin);
      const int64_t n = std::min(of_row + row_bytes, end) - here;
      std::memcpy(piece.data() + (here - begin),
                  from + (row - rows.begin()) * row_bytes + (here - of_row),
                  static_cast<size_t>(n));
    }
    take(piece);
    begin = end;
  });
}

// Merges the base's rows and the changed rows in the order of their numbers.
void Increment::ReadValues(const Entry& entry, const TakeBytesFn& take) const {
  const Table& table = tables_.at(entry.table);
  const std::vector<int64_t> base_keys = IntegersOf(base_.Read(RowKeysName(entry.table)));
  const Tensor values = own_.Read(ChangedValuesName(entry.variable));
  const int64_t width = entry.shape.dim(1);
  const size_t row_bytes = static_cast<size_t>(width) * sizeof(float);
  Pieces pieces(take);
  size_t next = 0;  // index of the next changed row
  const auto add_changed = [&] {
    if (!table.is_dropped[next]) {
      pieces.Add(values.data<float>() + static_cast<int64_t>(next) * width, row_bytes);
    }
    ++next;
  };
  const auto has_changed_before = [&](int64_t row) {
    return next < table.rows.size() && table.rows[next] < row;
  };
  RowPieces of_base(width, [&](int64_t first, int64_t n, const float* rows) {
    for (int64_t r = 0; r < n; ++r) {
      const int64_t key = base_keys[static_cast<size_t>(first + r)];
      while (has_changed_before(key)) add_changed();
      if (next < table.rows.size() && table.rows[next] == key) {
        add_changed();
      } else {
        pieces.Add(rows + r * width, row_bytes);
      }
    }
  });
  base_.ReadPieces(RowValuesName(entry.variable), std::ref(of_base));
  while (next < table.rows.size()) add_changed();
  pieces.Flush();
}

}  // namespace tpuest
