// The rows of a SELECT over an SQLite database, read once into memory.

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>
#include <new>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/process/interrupt.h"
#include "core/base/text.h"
#include "data/sources/kept_rows.h"
#include "data/sources/open_source.h"

#ifdef TPUEST_HAS_SQLITE
#include <sqlite3.h>
#endif

namespace tpuest::data {

#ifdef TPUEST_HAS_SQLITE
namespace {

DType SqlType(const std::string& name, const std::string& key) {
  const std::optional<DType> dtype = DTypeFromName(name);
  for (const DType known : {DType::kInt32, DType::kInt64, DType::kFloat, DType::kDouble,
                            DType::kBool, DType::kString}) {
    if (dtype == known) return known;
  }
  throw Error(Code::kUsage,
              fmt::format("unknown column type '{}'; expected int32, int64, float32, float64, "
                          "bool or string",
                          name))
      .Key(key + ".output_types");
}

// A database and one statement on it.
class SqlQuery {
 public:
  SqlQuery(const std::string& path, const std::string& query, const std::string& key)
      : path_(path) {
    if (sqlite3_open_v2(path.c_str(), &database_, SQLITE_OPEN_READONLY, nullptr) != SQLITE_OK) {
      const std::string why = Why();
      Close();
      throw Error(Code::kData, fmt::format("{}: {}", path, why)).Key(key + ".data_source_name");
    }
    // SIGTERM ends a long-running query.
    constexpr int kInstructions = 10000;
    sqlite3_progress_handler(
        database_, kInstructions, [](void*) { return IsInterrupted() ? 1 : 0; }, nullptr);
    const auto size = static_cast<int>(query.size());
    const int code = sqlite3_prepare_v2(database_, query.c_str(), size, &statement_, nullptr);
    if (code == SQLITE_OK && statement_ != nullptr && sqlite3_column_count(statement_) > 0) return;
    const std::string why =
        code == SQLITE_OK ? std::string("the query gives no columns; expected a SELECT") : Why();
    Close();
    throw Error(code == SQLITE_NOTADB || code == SQLITE_CORRUPT ? Code::kData : Code::kUsage,
                fmt::format("{}: {}", path, why))
        .Key(key + ".query");
  }
  ~SqlQuery() { Close(); }
  SqlQuery(const SqlQuery&) = delete;
  SqlQuery& operator=(const SqlQuery&) = delete;

  [[nodiscard]] int columns() const { return sqlite3_column_count(statement_); }
  [[nodiscard]] std::string Name(int column) const {
    return sqlite3_column_name(statement_, column);
  }
  // Reads the next row; returns false at the end.
  [[nodiscard]] bool Next() {
    const int code = sqlite3_step(statement_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    if (code == SQLITE_INTERRUPT) NeedNoInterrupt(path_);
    if (code == SQLITE_NOMEM) throw std::bad_alloc();
    throw Error(Code::kData, fmt::format("{}: {}", path_, Why()));
  }
  [[nodiscard]] sqlite3_stmt* row() const { return statement_; }

 private:
  [[nodiscard]] std::string Why() const { return sqlite3_errmsg(database_); }
  void Close() {
    sqlite3_finalize(statement_);
    sqlite3_close(database_);
  }

  std::string path_;
  sqlite3* database_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

// The values of one row, to which a Row's columns point.
class SqlRow {
 public:
  SqlRow(const std::vector<TensorSpec>& columns, std::string path)
      : columns_(columns),
        path_(std::move(path)),
        numbers_(columns.size()),
        texts_(columns.size()) {}

  void Read(sqlite3_stmt* from, int64_t record, Row& row) {
    row.from = {0, record};
    row.columns.resize(columns_.size());
    for (size_t i = 0; i < columns_.size(); ++i) {
      const auto column = static_cast<int>(i);
      if (columns_[i].dtype == DType::kString) {
        const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(from, column));
        const auto size = static_cast<size_t>(sqlite3_column_bytes(from, column));
        texts_[i] = text == nullptr ? std::string_view() : std::string_view(text, size);
        row.columns[i] = {&texts_[i], 1};
      } else {
        Number(from, column, record);
        row.columns[i] = {&numbers_[i], 1};
      }
    }
  }

 private:
  // Stores the number's bytes at the start of its slot.
  void Number(sqlite3_stmt* from, int column, int64_t record) {
    const auto i = static_cast<size_t>(column);
    const int kind = sqlite3_column_type(from, column);
    const int64_t whole = sqlite3_column_int64(from, column);
    const bool is_whole = columns_[i].dtype != DType::kFloat && columns_[i].dtype != DType::kDouble;
    const bool fits =
        kind == SQLITE_INTEGER || kind == SQLITE_NULL || (kind == SQLITE_FLOAT && !is_whole);
    if (!fits ||
        (columns_[i].dtype == DType::kInt32 && (whole < std::numeric_limits<int32_t>::min() ||
                                                whole > std::numeric_limits<int32_t>::max()))) {
      const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(from, column));
      throw Error(
          Code::kData,
          fmt::format("{}: record {}: column \"{}\": expected {}, found '{}'", path_, record,
                      columns_[i].name, NameOf(columns_[i].dtype), text == nullptr ? "" : text),
          "output_types, or CAST(... AS ...) in the query");
    }
    const auto put = [&](auto value) { std::memcpy(&numbers_[i], &value, sizeof value); };
    switch (columns_[i].dtype) {
      case DType::kInt32:
        return put(static_cast<int32_t>(whole));
      case DType::kBool:
        return put(static_cast<uint8_t>(whole != 0));
      case DType::kFloat:
        return put(static_cast<float>(sqlite3_column_double(from, column)));
      case DType::kDouble:
        return put(sqlite3_column_double(from, column));
      default:
        return put(whole);
    }
  }

  const std::vector<TensorSpec>& columns_;
  std::string path_;
  std::vector<uint64_t> numbers_;
  std::vector<std::string_view> texts_;
};

// Memory that this process may use: the machine's or its container's. 0: unknown.
uint64_t MemoryBytes() {
  const int64_t pages = ::sysconf(_SC_PHYS_PAGES);
  uint64_t most = pages > 0 ? static_cast<uint64_t>(pages) * ::sysconf(_SC_PAGESIZE) : 0;
  uint64_t allowed = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> allowed && allowed > 0) {
    most = most == 0 ? allowed : std::min(most, allowed);
  }
  return most;
}

// All rows of the query, one after the other.
struct SqlRows {
  std::shared_ptr<RowBytes> bytes = std::make_shared<RowBytes>();
  std::vector<uint64_t> ends;
};

Error TooManyRows(const std::string& path, const SqlRows& rows) {
  return Error(Code::kResource,
               fmt::format("{}: the query's rows do not fit into memory: {} bytes after {} rows",
                           path, WithCommas(static_cast<int64_t>(rows.bytes->size())),
                           WithCommas(std::ssize(rows.ends))),
               "select fewer rows or columns (WHERE, LIMIT), or write them to a TFRecord file");
}

// Stops at the limit of the machine's memory, before the kernel kills the process.
void ReadRows(SqlQuery& query, const std::vector<TensorSpec>& columns, const std::string& path,
              SqlRows& rows) {
  constexpr size_t kRowsToLook = 1024;
  const RowKeeper keeper(columns);
  SqlRow values(columns, path);
  const uint64_t most = MemoryBytes();
  Row row;
  while (query.Next()) {
    values.Read(query.row(), static_cast<int64_t>(rows.ends.size()), row);
    keeper.Add(row, *rows.bytes);
    rows.ends.push_back(rows.bytes->size());
    if (rows.ends.size() % kRowsToLook == 0) NeedNoInterrupt(path);
    const uint64_t used = rows.bytes->size() + rows.ends.size() * sizeof(uint64_t);
    if (most != 0 && used > most / 8 * 7) throw TooManyRows(path, rows);
  }
}

std::vector<TensorSpec> SqlColumns(const SqlQuery& query, const SqlSource& options,
                                   const std::string& key) {
  const auto count = static_cast<size_t>(query.columns());
  if (options.output_types.size() != count) {
    throw Error(Code::kUsage, fmt::format("{} types for the {} columns of the query",
                                          options.output_types.size(), count))
        .Key(key + ".output_types");
  }
  std::vector<TensorSpec> columns;
  std::set<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    const std::string name = query.Name(static_cast<int>(i));
    if (!names.insert(name).second) {
      throw Error(Code::kUsage, fmt::format("the query has two columns \"{}\"", name),
                  "rename one: SELECT a, b AS other ...")
          .Key(key + ".query");
    }
    columns.push_back({name, SqlType(options.output_types[i], key), Shape(), key});
  }
  return columns;
}

}  // namespace

std::shared_ptr<IndexedSource> OpenSql(const SqlSource& options, const std::string& key) {
  CheckRange(options, key);
  const std::string path = FindFiles({options.data_source_name}, key + ".data_source_name").front();
  SqlQuery query(path, options.query, key);
  const std::vector<TensorSpec> columns = SqlColumns(query, options, key);
  SqlRows rows;
  try {
    ReadRows(query, columns, path, rows);
  } catch (const std::bad_alloc&) {
    throw TooManyRows(path, rows);
  }
  const std::string_view kept = rows.bytes->view();
  return KeptRows(columns, {path}, kept, std::move(rows.ends), std::move(rows.bytes));
}

#else

std::shared_ptr<IndexedSource> OpenSql(const SqlSource& /*options*/, const std::string& key) {
  throw Error(Code::kUsage, "this tpuest was built without SQLite",
              "build it with libsqlite3-dev installed")
      .Key(key + ".type");
}

#endif

}  // namespace tpuest::data
