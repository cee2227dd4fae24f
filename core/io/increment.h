#pragma once
// An increment is a bundle that, for some tables, holds only the rows that changed since its base
// checkpoint, a complete bundle in the same folder, was written. BundleReader reads an increment as
// if it were complete. In addition to its own tensors it contains
//
//   tpuest/increment/base              string [1]     the name of its base: "model.ckpt-10"
//   tpuest/increment/place             int64 [2]      CRC-32C of the base's index; the number of
//                                                     this increment among those of the base, from
//                                                     1
//   tpuest/increment/variables         string [k, 2]  variables of tables, each with its table
//   tpuest/increment/rows/<table>      int64 [n]      the changed rows, in ascending order
//   tpuest/increment/dropped/<table>   int64 [m]      changed rows that are no longer materialized,
//                                                     if the base has only materialized rows
//   tpuest/increment/values/<variable> float32 [n, D]
//
// and, for lists of records int64 [n, c], each of which begins with its number, in ascending order,
//
//   tpuest/increment/lists             string [k]     their names
//   tpuest/increment/lines/<list>      int64 [m, c]   the changed records
//   tpuest/increment/gone/<list>       int64 [g]      the numbers of removed records
//
// The base has each list, and each variable either complete, [V, D], or only its materialized rows
// (row_names.h). So TensorFlow finds everything but the tables in an increment.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/io/bundle.h"

namespace tpuest {

// The prefix of all names of such entries.
inline constexpr std::string_view kIncrement = "tpuest/increment/";
// The entry that makes a bundle an increment.
inline constexpr std::string_view kIncrementBase = "tpuest/increment/base";

// The base of an increment.
struct IncrementBase {
  std::string prefix;
  uint32_t checksum = 0;  // of the index
  int64_t place = 0;      // number of the increment among those of this base
  bool operator==(const IncrementBase&) const = default;
};

// A variable and its table.
using TableVariable = std::pair<std::string, std::string>;

// The entries that make a bundle an increment, except the rows.
[[nodiscard]] std::vector<NamedTensor> IncrementEntries(const IncrementBase& base,
                                                        const std::vector<TableVariable>& variables,
                                                        const std::vector<std::string>& lists);
[[nodiscard]] std::string ChangedRowsName(std::string_view table);
[[nodiscard]] std::string DroppedRowsName(std::string_view table);
[[nodiscard]] std::string ChangedValuesName(std::string_view variable);
[[nodiscard]] std::string ChangedLinesName(std::string_view list);
[[nodiscard]] std::string GoneLinesName(std::string_view list);

// CRC-32C of a bundle's index, which contains the checksums of all its tensors.
[[nodiscard]] uint32_t IndexChecksum(const std::string& prefix);
// The base of a bundle, whether or not the base exists; nullopt if the bundle is complete. Throws
// kCheckpoint for a damaged bundle.
[[nodiscard]] std::optional<IncrementBase> BaseOf(const std::string& prefix);

// Reads the complete tables and lists of an increment, through its base. Reading from several
// threads is safe.
class Increment {
 public:
  // Throws kCheckpoint if the bundle is not an increment or is damaged, or if its base is missing,
  // was rewritten, or does not fit.
  explicit Increment(const std::string& prefix);

  [[nodiscard]] const IncrementBase& base() const { return stands_on_; }
  // The changed rows of a table in ascending order; empty for other tables.
  [[nodiscard]] std::vector<int64_t> ChangedRows(const std::string& table) const;
  [[nodiscard]] std::vector<std::string> Tables() const;
  // The numbers of the changed and removed records of a list.
  [[nodiscard]] std::vector<int64_t> ChangedLines(const std::string& list) const;

  // ---- the entries that a complete bundle would have
  [[nodiscard]] std::vector<std::string> Names() const;
  [[nodiscard]] bool Has(std::string_view name) const { return entries_.contains(name); }
  [[nodiscard]] DType DTypeOf(std::string_view name) const;
  [[nodiscard]] const Shape& ShapeOf(std::string_view name) const;
  void ReadPieces(std::string_view name, const TakeBytesFn& take) const;

 private:
  struct Table {
    std::vector<int64_t> rows;     // changed rows
    std::vector<bool> is_dropped;  // per changed row
    std::vector<int64_t> keys;     // all materialized rows, if the base has only these
    int64_t in_base = 0;           // rows that the base has, if `keys` is used
  };
  enum class Kind { kWhole, kKeys, kValues, kLines };
  struct Entry {
    Kind kind;
    std::string variable;
    std::string table;
    Shape shape;
  };
  [[noreturn]] void Refuse(const std::string& how) const;
  void ReadTable(const std::string& table);
  void Add(const TableVariable& variable);
  void AddList(const std::string& list);
  // All records of a list.
  [[nodiscard]] std::vector<int64_t> LinesOf(const std::string& list, size_t width) const;
  void ReadWhole(const Entry& entry, const TakeBytesFn& take) const;
  void ReadValues(const Entry& entry, const TakeBytesFn& take) const;

  const std::string prefix_;
  const BundleReader own_;
  const IncrementBase stands_on_;
  const BundleReader base_;
  std::map<std::string, Table> tables_;
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace tpuest
