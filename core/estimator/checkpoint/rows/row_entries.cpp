#include "core/estimator/checkpoint/rows/row_entries.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "core/backend/rows/row_table.h"
#include "core/backend/rows/table_records.h"
#include "core/estimator/checkpoint/rows/row_seen.h"
#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/io/row_names.h"

namespace tpuest {
namespace {

constexpr int64_t kLargeBytes = int64_t{16} << 20;  // bytes of an entry that is left on the disk
constexpr int64_t kPieceBytes = int64_t{1} << 20;

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

// The values of a table that is stored whole.
std::shared_ptr<const StreamedTensor> ValueStream(const Tensor& whole, const Keys& keys) {
  const int64_t width = whole.shape().dim(1);
  return std::make_shared<StreamedTensor>(StreamedTensor{
      .dtype = DType::kFloat,
      .shape = Shape({static_cast<int64_t>(keys->size()), width}),
      .write = [whole, keys, width](const TakeBytesFn& take) {
        const float* const values = whole.data<float>();
        const size_t row_bytes = static_cast<size_t>(width) * sizeof(float);
        std::string piece;
        for (const int64_t row : *keys) {
          piece.append(reinterpret_cast<const char*>(values + row * width), row_bytes);
          if (static_cast<int64_t>(piece.size()) < kPieceBytes) continue;
          take(piece);
          piece.clear();
        }
        take(piece);
      }});
}

std::shared_ptr<const StreamedTensor> ValuesOf(const VariableStore& store, const std::string& name,
                                               const Keys& keys) {
  const RowColumn* const rows = store.tables().Find(name);
  return rows == nullptr ? ValueStream(store.Get(name), keys)
                         : ValueStream(rows->table, rows->column, keys);
}

// Whether checkpoints contain only the materialized rows of a table.
bool IsByRows(const RowTable& table, int64_t whole_table_bytes) {
  return WholeBytes(Shape({table.rows(), table.width()})) > whole_table_bytes;
}

Keys KeysOf(std::vector<int64_t> rows) {
  return std::make_shared<const std::vector<int64_t>>(std::move(rows));
}

}  // namespace

int64_t WholeBytes(const Shape& table) {
  return table.elements() * static_cast<int64_t>(sizeof(float));
}

int64_t RowsAtOnce(int64_t width) {
  return std::max<int64_t>(kPieceBytes / (width * static_cast<int64_t>(sizeof(float))), 1);
}

std::vector<NamedTensor> TableEntries(const VariableStore& store, int64_t whole_table_bytes) {
  std::vector<NamedTensor> entries;
  for (const std::shared_ptr<RowTable>& table : store.tables().all()) {
    const bool is_whole = !IsByRows(*table, whole_table_bytes);
    Keys keys;
    if (!is_whole) {
      keys = KeysOf(table->WrittenRows());
      entries.push_back({RowKeysName(table->variables().front().name), {}, KeyStream(keys)});
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

std::vector<NamedTensor> ChangedEntries(const VariableStore& store, const IncrementBase& base,
                                        int64_t whole_table_bytes) {
  std::vector<NamedTensor> entries;
  std::vector<TableVariable> variables;
  for (const auto& [weights, table] : store.tables().noted()) {
    const auto lines = [&store, &table = weights](RowRecords what) {
      return KeysOf(AllRecords(store.tables(), table, what, 0, INT64_MAX));
    };
    const Keys keys = lines(RowRecords::kChanged);
    entries.push_back({ChangedRowsName(weights), {}, KeyStream(keys)});
    const RowColumn* const rows = store.tables().Find(weights);
    if (rows != nullptr && IsByRows(*rows->table, whole_table_bytes)) {
      entries.push_back({DroppedRowsName(weights), {}, KeyStream(lines(RowRecords::kDropped))});
    }
    for (const std::string& variable : table.variables) {
      entries.push_back({ChangedValuesName(variable), {}, ValuesOf(store, variable, keys)});
      variables.emplace_back(variable, weights);
    }
  }
  for (NamedTensor& entry : ChangedSeenEntries(store)) entries.push_back(std::move(entry));
  for (NamedTensor& entry : IncrementEntries(base, variables, SeenNames(store))) {
    entries.push_back(std::move(entry));
  }
  return entries;
}

bool MayStandOn(const BundleReader& base, const VariableStore& store, int64_t whole_table_bytes) {
  for (const auto& [weights, table] : store.tables().noted()) {
    const RowColumn* const rows = store.tables().Find(weights);
    const bool by_rows = rows != nullptr && IsByRows(*rows->table, whole_table_bytes);
    if (base.Has(RowKeysName(weights)) != by_rows) return false;
    if (base.Has(SeenName(weights)) != store.tables().counted().contains(weights)) return false;
    for (const std::string& variable : table.variables) {
      const std::string entry = by_rows ? RowValuesName(variable) : variable;
      if (!base.Has(entry) || base.RowSlicesOf(entry) > 1) return false;
    }
  }
  return true;
}

std::vector<std::string> LargeEntries(const Graph& graph, int64_t whole_table_bytes) {
  std::vector<std::string> names;
  for (const TableVariables& table : TablesOf(graph)) {
    const int64_t bytes = WholeBytes(table.front()->shape);
    if (bytes < kLargeBytes && bytes <= whole_table_bytes) continue;
    const bool is_whole = bytes <= whole_table_bytes;
    if (!is_whole) names.push_back(RowKeysName(table.front()->name));
    for (const Variable* const variable : table) {
      names.push_back(is_whole ? variable->name : RowValuesName(variable->name));
    }
  }
  return names;
}

}  // namespace tpuest
