#include "core/estimator/checkpoint/row_tables.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/backend/row_table.h"
#include "core/base/text.h"
#include "core/io/slice_order.h"
#include "core/ops/row_initial.h"

namespace tpuest {
namespace {

constexpr int64_t kLargeBytes = int64_t{16} << 20;  // of an entry that is left on the disk
constexpr int64_t kMostDrawnBytes = int64_t{1} << 30;
constexpr int64_t kPieceBytes = int64_t{1} << 20;

using Names = std::map<std::string, std::string>;

int64_t WholeBytes(const Shape& shape) {
  return shape.elements() * static_cast<int64_t>(sizeof(float));
}

constexpr std::string_view kKeys = "-keys";
constexpr std::string_view kSeen = "tpuest/seen/";
constexpr int64_t kSeenNumbers = 4;  // of a row

std::string KeysOf(const std::string& table) { return table + std::string(kKeys); }

const std::string& StoredName(const std::string& variable, const Names& names) {
  const auto given = names.find(variable);
  return given == names.end() ? variable : given->second;
}

// Rows that take about a piece's bytes.
int64_t RowsAtOnce(int64_t width) {
  return std::max<int64_t>(kPieceBytes / (width * static_cast<int64_t>(sizeof(float))), 1);
}

[[noreturn]] void ThrowNotDrawn(const Variable& variable, const Variable& weights) {
  throw Error(Code::kUsage,
              fmt::format("the initial value of \"{}\", {}, is no function of the row",
                          variable.name, variable.shape.Text()),
              "initializer: {type: truncated_normal}, random_normal, random_uniform, a "
              "variance_scaling or a constant")
      .At(weights.handle.node->origin());
}

// A new table of these variables; nullptr where it is better kept whole.
std::shared_ptr<RowTable> NewTable(const TableVariables& variables, uint64_t seed,
                                   const RowKeeping& keeping) {
  const Variable& weights = *variables.front();
  std::vector<RowVariable> rows;
  for (const Variable* const variable : variables) {
    const bool fits = variable->dtype == DType::kFloat && variable->shape.rank() == 2 &&
                      variable->shape == weights.shape && weights.shape.elements() > 0;
    std::optional<RowDraw> draw = ops::RowDrawOf(variable->initial_value, seed);
    if (!fits || !draw) {
      if (WholeBytes(weights.shape) <= kMostDrawnBytes) return nullptr;
      ThrowNotDrawn(*variable, weights);
    }
    rows.push_back({variable->name, *std::move(draw)});
  }
  return std::make_shared<RowTable>(weights.shape.dim(0), weights.shape.dim(1), std::move(rows),
                                    keeping);
}

// Takes bytes that come in any pieces as rows of `width` numbers.
class RowPieces {
 public:
  using Take = std::function<void(int64_t first, int64_t n, const float* values)>;
  RowPieces(int64_t width, Take take) : width_(width), take_(std::move(take)) {}

  void operator()(std::string_view bytes) {
    const size_t row = static_cast<size_t>(width_) * sizeof(float);
    rest_.append(bytes);
    const auto n = static_cast<int64_t>(rest_.size() / row);
    values_.resize(static_cast<size_t>(n * width_));
    std::memcpy(values_.data(), rest_.data(), static_cast<size_t>(n) * row);
    rest_.erase(0, static_cast<size_t>(n) * row);
    if (n > 0) take_(next_, n, values_.data());
    next_ += n;
  }

 private:
  int64_t width_;
  Take take_;
  std::string rest_;
  std::vector<float> values_;
  int64_t next_ = 0;
};

// A checkpoint's entries, in memory or on the disk.
class Entries {
 public:
  explicit Entries(const SavedState& saved) : saved_(saved) {}

  [[nodiscard]] std::optional<Shape> ShapeOf(const std::string& name, DType dtype) const {
    const auto found = saved_.tensors.find(name);
    if (found != saved_.tensors.end()) {
      return found->second.dtype() == dtype ? std::optional(found->second.shape()) : std::nullopt;
    }
    if (!saved_.left.contains(name) || saved_.on_disk->DTypeOf(name) != dtype) return std::nullopt;
    return saved_.on_disk->ShapeOf(name);
  }
  void Read(const std::string& name, const TakeBytesFn& take) const {
    if (saved_.dealt_by_mod && saved_.on_disk != nullptr && saved_.on_disk->Has(name) &&
        saved_.on_disk->RowSlicesOf(name) > 1) {
      const Tensor ordered = ReadInRowOrder(*saved_.on_disk, name, true);
      return take({static_cast<const char*>(ordered.raw()), ordered.bytes()});
    }
    const auto found = saved_.tensors.find(name);
    if (found == saved_.tensors.end()) return saved_.on_disk->ReadPieces(name, take);
    take({static_cast<const char*>(found->second.raw()), found->second.bytes()});
  }
  [[nodiscard]] std::vector<int64_t> Keys(const std::string& name) const {
    std::vector<int64_t> keys;
    Read(name, [&](std::string_view bytes) {
      const size_t before = keys.size();
      keys.resize(before + bytes.size() / sizeof(int64_t));
      std::memcpy(keys.data() + before, bytes.data(), bytes.size());
    });
    return keys;
  }

 private:
  const SavedState& saved_;
};

void CheckKeys(const std::vector<int64_t>& keys, const RowTable& table, const SavedState& saved) {
  const bool rises = std::adjacent_find(keys.begin(), keys.end(),
                                        [](int64_t a, int64_t b) { return a >= b; }) == keys.end();
  if (rises && (keys.empty() || (keys.front() >= 0 && keys.back() < table.rows()))) return;
  throw Error(Code::kCheckpoint,
              fmt::format("{}: \"{}\" are no numbers of {} rows that rise", saved.prefix,
                          KeysOf(table.variables().front().name), table.rows()));
}

// Fills a table from the entries of its variables; false where one is missing or of another shape.
bool Fill(const SavedState& saved, const Names& names, RowTable& table) {
  const Entries entries(saved);
  const std::string& weights = StoredName(table.variables().front().name, names);
  const std::optional<Shape> keys_shape = entries.ShapeOf(KeysOf(weights), DType::kInt64);
  const int64_t n = keys_shape ? keys_shape->elements() : table.rows();
  const Shape expected({n, table.width()});
  std::vector<std::string> sources;
  for (const RowVariable& variable : table.variables()) {
    const std::string& source = StoredName(variable.name, names);
    sources.push_back(keys_shape ? RowValuesName(source) : source);
    if (entries.ShapeOf(sources.back(), DType::kFloat) != std::optional(expected)) return false;
  }
  std::vector<int64_t> keys;
  if (keys_shape) {
    keys = entries.Keys(KeysOf(weights));
    CheckKeys(keys, table, saved);
  }
  for (size_t i = 0; i < sources.size(); ++i) {
    const int column = static_cast<int>(i);
    RowPieces pieces(table.width(), [&](int64_t first, int64_t rows, const float* values) {
      if (keys.empty()) return table.SetRange(column, first, rows, values);
      for (int64_t r = 0; r < rows; ++r) {
        table.Write(column, keys[static_cast<size_t>(first + r)], values + r * table.width());
      }
    });
    entries.Read(sources[i], std::ref(pieces));
  }
  return true;
}

void AddNames(const RowTable& table, std::set<std::string>& names) {
  for (const RowVariable& variable : table.variables()) names.insert(variable.name);
}

// The table that a saved run has of these variables, where it has just these.
std::shared_ptr<RowTable> Shared(const SavedState& saved, const TableVariables& variables) {
  for (const std::shared_ptr<RowTable>& table : saved.tables) {
    const std::vector<RowVariable>& theirs = table->variables();
    const bool begins_so = theirs.size() >= variables.size() &&
                           std::equal(variables.begin(), variables.end(), theirs.begin(),
                                      [](const Variable* variable, const RowVariable& other) {
                                        return variable->name == other.name;
                                      });
    if (begins_so && Shape({table->rows(), table->width()}) == variables.front()->shape) {
      return table;
    }
  }
  return nullptr;
}

std::shared_ptr<const StreamedTensor> WholeStream(const std::shared_ptr<RowTable>& table,
                                                  int column) {
  return std::make_shared<StreamedTensor>(
      StreamedTensor{.dtype = DType::kFloat,
                     .shape = Shape({table->rows(), table->width()}),
                     .write = [table, column](const TakeBytesFn& take) {
                       const int64_t most = RowsAtOnce(table->width());
                       std::vector<float> values(static_cast<size_t>(most * table->width()));
                       for (int64_t first = 0; first < table->rows(); first += most) {
                         const int64_t n = std::min(most, table->rows() - first);
                         table->ReadRange(column, first, n, values.data());
                         take({reinterpret_cast<const char*>(values.data()),
                               static_cast<size_t>(n * table->width()) * sizeof(float)});
                       }
                     }});
}

using Keys = std::shared_ptr<const std::vector<int64_t>>;

std::shared_ptr<const StreamedTensor> KeyStream(const Keys& keys) {
  return std::make_shared<StreamedTensor>(StreamedTensor{
      .dtype = DType::kInt64,
      .shape = Shape({static_cast<int64_t>(keys->size())}),
      .write = [keys](const TakeBytesFn& take) {
        take({reinterpret_cast<const char*>(keys->data()), keys->size() * sizeof(int64_t)});
      }});
}

std::shared_ptr<const StreamedTensor> ValueStream(const std::shared_ptr<RowTable>& table,
                                                  int column, const Keys& keys) {
  return std::make_shared<StreamedTensor>(
      StreamedTensor{.dtype = DType::kFloat,
                     .shape = Shape({static_cast<int64_t>(keys->size()), table->width()}),
                     .write = [table, column, keys](const TakeBytesFn& take) {
                       const auto most = static_cast<size_t>(RowsAtOnce(table->width()));
                       std::vector<float> values(most * static_cast<size_t>(table->width()));
                       for (size_t first = 0; first < keys->size(); first += most) {
                         const size_t n = std::min(most, keys->size() - first);
                         table->Read(column, std::span(*keys).subspan(first, n), values.data());
                         take({reinterpret_cast<const char*>(values.data()),
                               n * static_cast<size_t>(table->width()) * sizeof(float)});
                       }
                     }});
}

// The numbers of what is known of a row, as an entry has them.
using SeenNumbers = std::array<int64_t, kSeenNumbers>;

SeenNumbers NumbersOf(const Sight& sight) {
  return {sight.row, sight.count, sight.last_step, sight.is_trained};
}

Sight SightOf(const SeenNumbers& numbers) {
  return {.row = numbers[0],
          .last_step = numbers[2],
          .count = static_cast<uint32_t>(std::clamp<int64_t>(numbers[1], 0, UINT32_MAX)),
          .is_trained = numbers[3] == 1 ? 1U : 0U};
}

std::shared_ptr<const StreamedTensor> SeenStream(const RowSights& known) {
  const auto sights = std::make_shared<const std::vector<Sight>>(known.Sorted());
  return std::make_shared<StreamedTensor>(
      StreamedTensor{.dtype = DType::kInt64,
                     .shape = Shape({static_cast<int64_t>(sights->size()), kSeenNumbers}),
                     .write = [sights](const TakeBytesFn& take) {
                       const auto most = static_cast<size_t>(kPieceBytes) / sizeof(SeenNumbers);
                       std::vector<SeenNumbers> numbers;
                       for (size_t first = 0; first < sights->size(); first += most) {
                         numbers.clear();
                         const size_t end = std::min(first + most, sights->size());
                         for (size_t i = first; i < end; ++i)
                           numbers.push_back(NumbersOf((*sights)[i]));
                         take({reinterpret_cast<const char*>(numbers.data()),
                               numbers.size() * sizeof(SeenNumbers)});
                       }
                     }});
}

// What a checkpoint knows of the rows of a table of `rows`; nothing where it has no entry of it.
std::vector<Sight> SavedSights(const SavedState& saved, const std::string& table, int64_t rows) {
  const std::string name = std::string(kSeen) + table;
  const Entries entries(saved);
  const std::optional<Shape> shape = entries.ShapeOf(name, DType::kInt64);
  if (!shape) return {};
  std::vector<Sight> sights;
  bool is_sound = shape->rank() == 2 && shape->dim(1) == kSeenNumbers;
  if (is_sound) {
    const std::vector<int64_t> all = entries.Keys(name);
    int64_t next = 0;  // the least that a row's number may be
    for (size_t at = 0; at < all.size() && is_sound; at += kSeenNumbers) {
      SeenNumbers numbers{};
      std::copy_n(all.begin() + static_cast<int64_t>(at), kSeenNumbers, numbers.begin());
      sights.push_back(SightOf(numbers));
      is_sound = numbers[0] >= next && numbers[0] < rows && NumbersOf(sights.back()) == numbers;
      next = numbers[0] + 1;
    }
  }
  if (is_sound) return sights;
  throw Error(Code::kCheckpoint, fmt::format("{}: \"{}\", {}, are no counts of {} rows that rise",
                                             saved.prefix, name, shape->Text(), rows));
}

}  // namespace

RowKeeping KeepingOf(const EmbeddingsOptions& options) {
  RowKeeping keeping;
  if (options.layout == "array") keeping.layout = RowLayout::kArray;
  if (options.layout == "index") keeping.layout = RowLayout::kIndex;
  if (options.max_resident_bytes) keeping.budget->most = *options.max_resident_bytes;
  return keeping;
}

std::vector<TableVariables> TablesOf(const Graph& graph) {
  std::vector<TableVariables> tables;
  for (const auto& weights : graph.variables()) {
    if (!weights->by_rows || weights->table != weights->name) continue;
    TableVariables& table = tables.emplace_back(TableVariables{weights.get()});
    for (const auto& slot : graph.variables()) {
      if (slot->by_rows && slot->table == weights->name && slot != weights) {
        table.push_back(slot.get());
      }
    }
  }
  return tables;
}

std::set<std::string> MakeTables(const Graph& graph, uint64_t seed, VariableStore& store) {
  std::set<std::string> names;
  if (store.row_keeping() == nullptr) return names;
  for (const TableVariables& variables : TablesOf(graph)) {
    store.DropTable(variables.front()->name);
    const std::shared_ptr<RowTable> table = NewTable(variables, seed, *store.row_keeping());
    if (table == nullptr) continue;
    store.SetTable(table);
    AddNames(*table, names);
  }
  return names;
}

std::set<std::string> RestoreTables(const SavedState& saved, const Graph& graph, const Names& names,
                                    VariableStore& store) {
  std::set<std::string> restored;
  if (store.row_keeping() == nullptr || saved.objects) return restored;
  for (const TableVariables& variables : TablesOf(graph)) {
    store.DropTable(variables.front()->name);
    std::shared_ptr<RowTable> table = Shared(saved, variables);
    if (table == nullptr) {
      table = NewTable(variables, saved.resume.seed.value_or(0), *store.row_keeping());
      if (table == nullptr || !Fill(saved, names, *table)) continue;
    }
    store.SetTable(table);
    AddNames(*table, restored);
  }
  return restored;
}

void CountRows(const Graph& graph, const RowRules& rules, uint64_t seed, const SavedState& saved,
               VariableStore& store) {
  const auto budget =
      store.row_keeping() != nullptr ? store.row_keeping()->budget : std::make_shared<RowBudget>();
  for (const TableVariables& variables : TablesOf(graph)) {
    const Variable& weights = *variables.front();
    CountedTable table{.sights = std::make_shared<RowSights>(weights.name, rules, budget),
                       .width = weights.shape.dim(1),
                       .variables = {}};
    for (const Variable* const variable : variables) {
      std::optional<RowDraw> draw = ops::RowDrawOf(variable->initial_value, seed);
      if (!draw && rules.evict_after_steps) ThrowNotDrawn(*variable, weights);
      table.variables.push_back({variable->name, draw.value_or(RowDraw())});
    }
    table.sights->Set(SavedSights(saved, weights.name, weights.shape.dim(0)));
    store.CountRows(std::move(table));
  }
}

std::vector<NamedTensor> SeenEntries(const VariableStore& store) {
  std::vector<NamedTensor> entries;
  for (const auto& [weights, table] : store.counted()) {
    entries.push_back({std::string(kSeen) + weights, {}, SeenStream(*table.sights)});
  }
  return entries;
}

std::map<std::string, Tensor> WithSeen(const VariableStore& store) {
  std::map<std::string, Tensor> all = store.tensors();
  for (const NamedTensor& entry : SeenEntries(store)) {
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

std::vector<NamedTensor> TableEntries(const VariableStore& store, int64_t whole_table_bytes) {
  std::vector<NamedTensor> entries;
  for (const std::shared_ptr<RowTable>& table : store.tables()) {
    const Shape shape({table->rows(), table->width()});
    const bool is_whole = WholeBytes(shape) <= whole_table_bytes;
    Keys keys;
    if (!is_whole) {
      keys = std::make_shared<const std::vector<int64_t>>(table->WrittenRows());
      entries.push_back({KeysOf(table->variables().front().name), {}, KeyStream(keys)});
    }
    for (size_t i = 0; i < table->variables().size(); ++i) {
      const std::string& name = table->variables()[i].name;
      const int column = static_cast<int>(i);
      if (is_whole) {
        entries.push_back({name, {}, WholeStream(table, column)});
      } else {
        entries.push_back({RowValuesName(name), {}, ValueStream(table, column, keys)});
      }
    }
  }
  return entries;
}

std::vector<std::string> LargeEntries(const Graph& graph, int64_t whole_table_bytes) {
  std::vector<std::string> names;
  for (const TableVariables& table : TablesOf(graph)) {
    const int64_t bytes = WholeBytes(table.front()->shape);
    if (bytes < kLargeBytes && bytes <= whole_table_bytes) continue;
    const bool is_whole = bytes <= whole_table_bytes;
    if (!is_whole) names.push_back(KeysOf(table.front()->name));
    for (const Variable* const variable : table) {
      names.push_back(is_whole ? variable->name : RowValuesName(variable->name));
    }
  }
  return names;
}

std::vector<std::string> TablesSavedByRows(const SavedState& saved) {
  std::vector<std::string> tables;
  for (const std::string& name : saved.left) {
    if (!name.ends_with(kKeys)) continue;
    const std::string table = name.substr(0, name.size() - kKeys.size());
    if (!saved.left.contains(RowValuesName(table))) continue;
    const Shape shape = saved.on_disk->ShapeOf(RowValuesName(table));
    if (shape.rank() == 2 && shape.dim(0) > 0) tables.push_back(table);
  }
  return tables;
}

std::string RowValuesName(const std::string& variable) { return variable + "-values"; }

bool HasRows(const BundleReader& reader, const SavedRows& saved) {
  const std::string keys = KeysOf(saved.table);
  const std::string values = RowValuesName(saved.variable);
  return reader.Has(keys) && reader.DTypeOf(keys) == DType::kInt64 && reader.Has(values) &&
         reader.DTypeOf(values) == DType::kFloat;
}

std::vector<int64_t> RowNumbers(const BundleReader& reader, const SavedRows& saved) {
  const Tensor keys = reader.Read(KeysOf(saved.table));
  const int64_t* const numbers = keys.data<int64_t>();
  return {numbers, numbers + keys.elements()};
}

void WriteRows(const BundleReader& reader, const SavedRows& saved, const RowColumn& rows,
               const std::vector<int64_t>& places) {
  const std::string name = RowValuesName(saved.variable);
  const int64_t width = rows.table->width();
  const Shape found = reader.ShapeOf(name);
  const bool fits = found == Shape({static_cast<int64_t>(places.size()), width}) &&
                    std::all_of(places.begin(), places.end(), [&](int64_t place) {
                      return place >= -1 && place < rows.table->rows();
                    });
  if (!fits) {
    throw Error(Code::kCheckpoint,
                fmt::format("{}: \"{}\" are {}, and the table has {} rows of {}", reader.prefix(),
                            name, found.Text(), rows.table->rows(), width));
  }
  RowPieces pieces(width, [&](int64_t first, int64_t count, const float* values) {
    for (int64_t r = 0; r < count; ++r) {
      const int64_t place = places[static_cast<size_t>(first + r)];
      if (place >= 0) rows.table->Write(rows.column, place, values + r * width);
    }
  });
  reader.ReadPieces(name, std::ref(pieces));
}

Tensor WholeValue(const SavedState& saved, const std::string& name) {
  const auto found = saved.tensors.find(name);
  if (found != saved.tensors.end()) return found->second;
  if (saved.left.contains(name)) return saved.on_disk->Read(name);
  for (const std::shared_ptr<RowTable>& table : saved.tables) {
    for (size_t i = 0; i < table->variables().size(); ++i) {
      if (table->variables()[i].name != name) continue;
      Tensor whole(DType::kFloat, {table->rows(), table->width()});
      table->ReadRange(static_cast<int>(i), 0, table->rows(), whole.data<float>());
      return whole;
    }
  }
  return {};
}

}  // namespace tpuest
