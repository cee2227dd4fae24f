#include "core/estimator/checkpoint/rows/row_tables.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "core/backend/rows/row_set.h"
#include "core/backend/rows/row_table.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/rows/row_entries.h"
#include "core/estimator/checkpoint/rows/row_seen.h"
#include "core/estimator/checkpoint/saved/saved_entries.h"
#include "core/io/increment.h"
#include "core/io/row_names.h"
#include "core/io/row_pieces.h"
#include "core/ops/row_initial.h"

namespace tpuest {
namespace {

constexpr int64_t kMostDrawnBytes = int64_t{1} << 30;

using Names = std::map<std::string, std::string>;

const std::string& StoredName(const std::string& variable, const Names& names) {
  const auto given = names.find(variable);
  return given == names.end() ? variable : given->second;
}

[[noreturn]] void ThrowNotDrawn(const Variable& variable, const Variable& weights) {
  throw Error(Code::kUsage,
              fmt::format("the initial value of \"{}\", {}, cannot be computed row by row",
                          variable.name, variable.shape.Text()),
              "use initializer: {type: truncated_normal}, random_normal, random_uniform, a "
              "variance_scaling or a constant")
      .At(weights.handle.node->origin());
}

// Whether a variable has one row for each row of its table.
bool IsTableOf(const Variable& variable, const Variable& weights) {
  return variable.dtype == DType::kFloat && variable.shape.rank() == 2 &&
         variable.shape == weights.shape && weights.shape.elements() > 0;
}

// A new table of these variables; nullptr if they are better stored whole.
std::shared_ptr<RowTable> NewTable(const TableVariables& variables, uint64_t seed,
                                   const RowKeeping& keeping) {
  const Variable& weights = *variables.front();
  const int64_t bytes = WholeBytes(weights.shape) * static_cast<int64_t>(variables.size());
  if (keeping.owners != nullptr && bytes <= keeping.least_shared) return nullptr;
  std::vector<RowVariable> rows;
  for (const Variable* const variable : variables) {
    std::optional<RowDraw> draw = ops::RowDrawOf(variable->initial_value, seed);
    if (!IsTableOf(*variable, weights) || !draw) {
      if (WholeBytes(weights.shape) <= kMostDrawnBytes) return nullptr;
      ThrowNotDrawn(*variable, weights);
    }
    rows.push_back({variable->name, *std::move(draw)});
  }
  return std::make_shared<RowTable>(weights.shape.dim(0), weights.shape.dim(1), std::move(rows),
                                    keeping, seed);
}

void CheckKeys(const std::vector<int64_t>& keys, const RowTable& table, const SavedState& saved) {
  const bool rises = std::adjacent_find(keys.begin(), keys.end(),
                                        [](int64_t a, int64_t b) { return a >= b; }) == keys.end();
  if (rises && (keys.empty() || (keys.front() >= 0 && keys.back() < table.rows()))) return;
  throw Error(Code::kCheckpoint,
              fmt::format("{}: \"{}\" are not sorted numbers of {} rows", saved.prefix,
                          RowKeysName(table.variables().front().name), table.rows()));
}

// Fills a table from the entries of its variables; returns false if one is missing or has another
// shape.
bool Fill(const SavedState& saved, const Names& names, RowTable& table) {
  const SavedEntries entries(saved);
  const std::string& weights = StoredName(table.variables().front().name, names);
  const std::optional<Shape> keys_shape = entries.ShapeOf(RowKeysName(weights), DType::kInt64);
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
    keys = entries.Integers(RowKeysName(weights));
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

// Returns the saved run's table if it has exactly these variables.
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

}  // namespace

RowKeeping KeepingOf(const EmbeddingsOptions& options) {
  RowKeeping keeping;
  if (options.layout == "array") keeping.layout = RowLayout::kArray;
  if (options.layout == "index") keeping.layout = RowLayout::kIndex;
  // A table that checkpoints store by rows is also stored by rows in memory.
  keeping.least_shared = std::min(options.shared_table_bytes, options.whole_table_bytes);
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
  if (store.tables().keeping() == nullptr) return names;
  for (const TableVariables& variables : TablesOf(graph)) {
    store.tables().Drop(variables.front()->name);
    const std::shared_ptr<RowTable> table = NewTable(variables, seed, *store.tables().keeping());
    if (table == nullptr) continue;
    store.SetTable(table);
    AddNames(*table, names);
  }
  return names;
}

void MakeTables(const Graph& graph, const std::map<std::string, uint64_t>& seeds,
                VariableStore& store) {
  for (const TableVariables& variables : TablesOf(graph)) {
    const auto seed = seeds.find(variables.front()->name);
    if (seed == seeds.end()) continue;
    store.tables().Drop(variables.front()->name);
    store.SetTable(NewTable(variables, seed->second, *store.tables().keeping()));
  }
}

std::set<std::string> RestoreTables(const SavedState& saved, const Graph& graph, const Names& names,
                                    VariableStore& store) {
  std::set<std::string> restored;
  if (store.tables().keeping() == nullptr || saved.objects) return restored;
  for (const TableVariables& variables : TablesOf(graph)) {
    store.tables().Drop(variables.front()->name);
    std::shared_ptr<RowTable> table = Shared(saved, variables);
    if (table == nullptr) {
      table = NewTable(variables, saved.resume.seed.value_or(0), *store.tables().keeping());
      if (table == nullptr) continue;
      const bool is_shared = table->owners() != nullptr;
      if (is_shared) table->Deal(nullptr);
      if (!Fill(saved, names, *table)) continue;
      // Rows of other owners are read when this process becomes their owner.
      if (is_shared) table->refill = [saved, names](RowTable& own) { Fill(saved, names, own); };
    }
    store.SetTable(table);
    AddNames(*table, restored);
  }
  return restored;
}

void CountRows(const Graph& graph, const RowRules& rules, uint64_t seed, const SavedState& saved,
               VariableStore& store) {
  const auto budget = store.tables().keeping() != nullptr ? store.tables().keeping()->budget
                                                          : std::make_shared<RowBudget>();
  for (const TableVariables& variables : TablesOf(graph)) {
    const Variable& weights = *variables.front();
    CountedTable table{.row_counts = std::make_shared<RowCounts>(weights.name, rules, budget),
                       .rows = weights.shape.dim(0),
                       .width = weights.shape.dim(1),
                       .variables = {}};
    for (const Variable* const variable : variables) {
      std::optional<RowDraw> draw = ops::RowDrawOf(variable->initial_value, seed);
      if (!draw && rules.evict_after_steps) ThrowNotDrawn(*variable, weights);
      table.variables.push_back({variable->name, draw.value_or(RowDraw())});
    }
    table.row_counts->Set(SavedRowCounts(saved, weights.name, weights.shape.dim(0)));
    store.tables().Count(std::move(table));
  }
}

void NoteChanges(const Graph& graph, const SavedState& saved, VariableStore& store) {
  const Increment* const increment =
      saved.on_disk != nullptr ? saved.on_disk->increment() : nullptr;
  for (const TableVariables& variables : TablesOf(graph)) {
    NotedTable table{.changed = std::make_shared<RowSet>(), .variables = {}};
    for (const Variable* const variable : variables) {
      Check(IsTableOf(*variable, *variables.front()), "\"{}\" is not a table of rows",
            variable->name);
      table.variables.push_back(variable->name);
    }
    if (increment != nullptr) {
      for (const int64_t row : increment->ChangedRows(table.variables.front())) {
        table.changed->Insert(row);
      }
    }
    const auto counted = store.tables().counted().find(table.variables.front());
    if (counted != store.tables().counted().end()) {
      auto seen = std::make_shared<RowSet>();
      if (increment != nullptr) {
        for (const int64_t row : increment->ChangedLines(SeenName(counted->first))) {
          seen->Insert(row);
        }
      }
      counted->second.row_counts->NoteChanges(std::move(seen));
    }
    store.tables().NoteChanges(std::move(table));
  }
}

std::vector<std::string> TablesSavedByRows(const SavedState& saved) {
  std::vector<std::string> tables;
  for (const std::string& name : saved.left) {
    if (!name.ends_with(kRowKeysEnding)) continue;
    const std::string table = name.substr(0, name.size() - kRowKeysEnding.size());
    if (!saved.left.contains(RowValuesName(table))) continue;
    const Shape shape = saved.on_disk->ShapeOf(RowValuesName(table));
    if (shape.rank() == 2 && shape.dim(0) > 0) tables.push_back(table);
  }
  return tables;
}

bool HasRows(const BundleReader& reader, const SavedRows& saved) {
  const std::string keys = RowKeysName(saved.table);
  const std::string values = RowValuesName(saved.variable);
  return reader.Has(keys) && reader.DTypeOf(keys) == DType::kInt64 && reader.Has(values) &&
         reader.DTypeOf(values) == DType::kFloat;
}

std::vector<int64_t> RowNumbers(const BundleReader& reader, const SavedRows& saved) {
  const Tensor keys = reader.Read(RowKeysName(saved.table));
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
                fmt::format("{}: \"{}\" are {}, but the table has {} rows of {}", reader.prefix(),
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
