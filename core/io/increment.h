#pragma once
// An increment is a bundle that holds of some tables the rows alone that changed since another one
// beside it was written, its base, which is whole. BundleReader reads it as if it were whole, too.
// Beside what it has for itself there is in it
//
//   tpuest/increment/base              string [1]     the name of its base: "model.ckpt-10"
//   tpuest/increment/place             int64 [2]      CRC-32C of the base's index; 1: it is the
//                                                     first that stands on this base
//   tpuest/increment/variables         string [k, 2]  variables of tables, each with its table
//   tpuest/increment/rows/<table>      int64 [n]      the rows that changed, the smallest first
//   tpuest/increment/dropped/<table>   int64 [m]      those of them that are none of the written
//                                                     ones, where the base has these alone
//   tpuest/increment/values/<variable> float32 [n, D]
//
// and of lists of numbers int64 [n, c], a line each that begins with a number of its own, which
// rise,
//
//   tpuest/increment/lists             string [k]     their names
//   tpuest/increment/lines/<list>      int64 [m, c]   the lines that changed
//   tpuest/increment/gone/<list>       int64 [g]      the numbers of those that are none any more
//
// The base has each list, and each variable whole, [V, D], or the written rows of it (row_names.h).
// So TensorFlow finds all but the tables in an increment.

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

// What all names of such entries begin with.
inline constexpr std::string_view kIncrement = "tpuest/increment/";
// The entry that makes a bundle an increment.
inline constexpr std::string_view kIncrementBase = "tpuest/increment/base";

// The bundle that an increment stands on.
struct IncrementBase {
  std::string prefix;
  uint32_t checksum = 0;  // of its index
  int64_t place = 0;      // of the increment, among those that stand on it
  bool operator==(const IncrementBase&) const = default;
};

// A variable, and the table that it is a variable of.
using TableVariable = std::pair<std::string, std::string>;

// The entries that make a bundle an increment, but for the rows.
[[nodiscard]] std::vector<NamedTensor> IncrementEntries(const IncrementBase& base,
                                                        const std::vector<TableVariable>& variables,
                                                        const std::vector<std::string>& lists);
[[nodiscard]] std::string ChangedRowsName(std::string_view table);
[[nodiscard]] std::string DroppedRowsName(std::string_view table);
[[nodiscard]] std::string ChangedValuesName(std::string_view variable);
[[nodiscard]] std::string ChangedLinesName(std::string_view list);
[[nodiscard]] std::string GoneLinesName(std::string_view list);

// CRC-32C of a bundle's index, which has the checksums of all that is in it.
[[nodiscard]] uint32_t IndexChecksum(const std::string& prefix);
// What the bundle stands on, whether that is there or not; nullopt: it is whole. Error kCheckpoint
// where it is damaged.
[[nodiscard]] std::optional<IncrementBase> BaseOf(const std::string& prefix);

// The tables and lists of an increment, whole. Reading from several threads is safe.
class Increment {
 public:
  // Error kCheckpoint where the bundle is none or damaged, or its base is not there, was written
  // anew since, or does not fit.
  explicit Increment(const std::string& prefix);

  [[nodiscard]] const IncrementBase& base() const { return stands_on_; }
  // The rows of a table that changed, the smallest first; none of a table that is not in it.
  [[nodiscard]] std::vector<int64_t> ChangedRows(const std::string& table) const;
  [[nodiscard]] std::vector<std::string> Tables() const;
  // The numbers of the lines of a list that changed or are gone.
  [[nodiscard]] std::vector<int64_t> ChangedLines(const std::string& list) const;

  // ---- the entries that a bundle which is whole has of these
  [[nodiscard]] std::vector<std::string> Names() const;
  [[nodiscard]] bool Has(std::string_view name) const { return entries_.contains(name); }
  [[nodiscard]] DType DTypeOf(std::string_view name) const;
  [[nodiscard]] const Shape& ShapeOf(std::string_view name) const;
  void ReadPieces(std::string_view name, const TakeBytesFn& take) const;

 private:
  struct Table {
    std::vector<int64_t> rows;     // that changed
    std::vector<bool> is_dropped;  // each of them
    std::vector<int64_t> keys;     // all that are written, where the base has these alone
    int64_t in_base = 0;           // rows of the base then
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
  // All lines of a list.
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
