#pragma once
// The map ops as functions on the values of one example, with types and shapes known in advance.
// MapNodes (map_nodes.h) computes the same bits with nodes of a graph.

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/estimator/contract/contract.h"
#include "data/images/image_op.h"
#include "data/options.h"

namespace tpuest::data {

// One op on one column: numeric values of an example to numeric values. Immutable; shared by the
// workers.
class MapStep {
 public:
  virtual ~MapStep() = default;
  // Computes `out` from `in`. in: `count` values of the step's input type; out: count *
  // outputs_per_input() values of its output type. in == out if in_place().
  virtual void Run(const void* in, int64_t count, void* out) const = 0;
  [[nodiscard]] virtual int64_t outputs_per_input() const { return 1; }
  // True if value i of the result depends only on value i and has the same width, so both may use
  // the same memory.
  [[nodiscard]] virtual bool in_place() const { return false; }
};

// The bytes of a string as numbers; the first step of a column of strings.
struct RawDecoder {
  DType dtype = DType::kInvalid;
  int64_t count = 0;  // values that the bytes must hold
  bool swap = false;  // the byte order differs from the machine's
};

// The column that an op makes, and the step that computes it.
struct MappedColumn {
  TensorSpec spec;                    // of the result
  std::unique_ptr<MapStep> step;      // nullptr: the values do not change (reshape)
  std::optional<RawDecoder> decoder;  // decode_raw
  // An op on images; `step` is then nullptr.
  std::shared_ptr<const ImageOp> image = nullptr;
};

// `spec` is the column that the op reads; for shape [?] (VarLenFeature) only ops on single values
// are defined. `name` is the op's name in the job, which seeds its random numbers. Throws kUsage,
// at `key`, if the op cannot process the column.
[[nodiscard]] MappedColumn ResolveMap(const MapOptions& options, const TensorSpec& spec,
                                      const std::string& key, const std::string& name = "");
// The columns that the op reads and writes.
[[nodiscard]] const MapColumns& ColumnsOf(const MapOptions& options);
// The map ops of an input_fn in order, each with its key below the input_fn's: the ops of `map`, of
// all stages, or of the stages before number `end`.
struct KeyedMap {
  const MapOptions* op = nullptr;  // in the options
  std::string key;                 // "map[0]", "stages[2].map[0]"
};
[[nodiscard]] std::vector<KeyedMap> MapOf(const InputFnOptions& options,
                                          std::optional<size_t> end = std::nullopt);
// The names of the existing columns that the op reads.
[[nodiscard]] std::set<std::string> InputsOf(const MapOptions& options,
                                             const std::set<std::string>& columns);
// True for ops that draw random numbers.
[[nodiscard]] bool IsRandom(const MapOptions& options);
// The columns among `columns` that a formula over an example reads; all of them if it uses
// `features` as a whole. Throws kUsage, at the formula, for an invalid formula.
[[nodiscard]] std::set<std::string> ColumnsIn(const Formula& formula,
                                              const std::set<std::string>& columns);
// The op's name in a job: "cast".
[[nodiscard]] std::string_view OpName(const MapOptions& options);

}  // namespace tpuest::data
