#pragma once
// The map ops as functions on the values of one example, with types and shapes known beforehand.
// MapNodes (map_nodes.h) gives the same bits as nodes of a graph.

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
  // Computes. in: `count` values of the step's input type; out: as many times outputs_per_input()
  // of its output type. in == out where in_place().
  virtual void Run(const void* in, int64_t count, void* out) const = 0;
  [[nodiscard]] virtual int64_t outputs_per_input() const { return 1; }
  // True if value i of the result depends on value i alone and is as wide, so the memory may be the
  // same.
  [[nodiscard]] virtual bool in_place() const { return false; }
};

// The bytes of a string as numbers; the first step of a column of strings.
struct RawDecoder {
  DType dtype = DType::kInvalid;
  int64_t count = 0;  // values that the bytes must hold
  bool swap = false;  // the bytes' order is not the machine's
};

// The column that an op makes, and how.
struct MappedColumn {
  TensorSpec spec;                    // of the result
  std::unique_ptr<MapStep> step;      // nullptr: the values stay as they are (reshape)
  std::optional<RawDecoder> decoder;  // decode_raw
  // An op on images; `step` is then nullptr.
  std::shared_ptr<const ImageOp> image = nullptr;
};

// `spec` is the column that the op reads; in shape [?] (VarLenFeature) only ops on single values
// are defined. `name` is the op's own in the job: what it draws depends on it. Error kUsage, at
// `key`, says what the op cannot do.
[[nodiscard]] MappedColumn ResolveMap(const MapOptions& options, const TensorSpec& spec,
                                      const std::string& key, const std::string& name = "");
// The columns that the op reads and writes.
[[nodiscard]] const MapColumns& ColumnsOf(const MapOptions& options);
// The map ops of an input_fn in their order, each with its key below the input_fn's: those of
// `map`, or of all stages, or of the stages before number `end`.
struct KeyedMap {
  const MapOptions* op = nullptr;  // in the options
  std::string key;                 // "map[0]", "stages[2].map[0]"
};
[[nodiscard]] std::vector<KeyedMap> MapOf(const InputFnOptions& options,
                                          std::optional<size_t> end = std::nullopt);
// The names of the columns that the op reads, of those that there are.
[[nodiscard]] std::set<std::string> InputsOf(const MapOptions& options,
                                             const std::set<std::string>& columns);
// True for ops that draw random numbers.
[[nodiscard]] bool IsRandom(const MapOptions& options);
// The columns that a formula over an example names: of `columns`, all of them where it names
// `features` as a whole. Throws Error kUsage, at the formula, for what is no formula.
[[nodiscard]] std::set<std::string> ColumnsIn(const Formula& formula,
                                              const std::set<std::string>& columns);
// The op's name in a job: "cast".
[[nodiscard]] std::string_view OpName(const MapOptions& options);

}  // namespace tpuest::data
