#pragma once
// Builds a row's graph and runs it on the CPU engine.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/backend/backend.h"
#include "core/graph/graph.h"
#include "tests/core/ops/op_cases.h"

namespace tpuest {

// A row's graph over placeholders of the inputs' dtypes and shapes.
struct CaseGraph {
  // unknown_rows: axis 0 of the batch inputs is unknown.
  CaseGraph(const OpCase& op_case, const std::vector<Tensor>& inputs, bool unknown_rows = false);

  Graph graph;
  std::vector<Value> inputs;
  Built built;
};

struct CaseRun {
  std::vector<Tensor> results;
  std::map<std::string, Tensor> variables;
};

struct RunHow {
  bool cut_batch = false;  // the row's batch inputs are fed as rows of a batch
  bool cut_rows = true;    // rows are computed in blocks
  bool fuse = true;
  uint64_t seed = 1;
};

// A compiled graph that can be run again on other inputs of the same shapes.
class CaseProgram {
 public:
  CaseProgram(const OpCase& op_case, CaseGraph& graph, std::vector<Value> fetches,
              const std::vector<Tensor>& inputs, const RunHow& how = {});
  [[nodiscard]] CaseRun Run(const std::vector<Tensor>& inputs);

 private:
  VariableStore variables_;
  std::unique_ptr<Program> program_;
};

// The row's inputs with every floating one as `dtype`.
[[nodiscard]] std::vector<Tensor> InputsAs(const OpCase& op_case, DType dtype);
// Builds and runs the row on these inputs.
[[nodiscard]] CaseRun RunCase(const OpCase& op_case, const std::vector<Tensor>& inputs);

// Checks that two tensors have the same dtype and shape and differ by at most `tolerance` times the
// largest magnitude (NaN equals NaN; 0: the same bits).
void CheckClose(const Tensor& found, const Tensor& expected, double tolerance);

}  // namespace tpuest
