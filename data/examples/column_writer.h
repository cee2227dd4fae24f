#pragma once
// Fills the columns of a batch row by row: the steps write values directly into the batch's tensor.

#include <memory>

#include "data/examples/column_plan.h"
#include "data/examples/tensor_pool.h"
#include "data/source.h"

namespace tpuest::data {

// One column of one worker. Per batch: Begin, Add for each row, Finish.
class ColumnWriter {
 public:
  virtual ~ColumnWriter() = default;
  // Starts a batch of `rows` rows. Add follows once per row, in order.
  virtual void Begin(int64_t rows) = 0;
  // Writes the next row; `record` seeds its random ops. Throws kData for values that the steps
  // refuse; the caller adds file and record.
  virtual void Add(Values values, const RecordKey& record) = 0;
  // The column [rows, ...]; lists of any length as [rows, K] (see VarLenFeature).
  [[nodiscard]] virtual Tensor Finish() = 0;
  // For padded lists, between Begin and Finish: pads to this length; 0: to the plan's length.
  virtual void PadTo(int64_t /*length*/) {}
  // For lists of any length, after Finish: bool [rows, K], true for values of the list.
  [[nodiscard]] virtual Tensor Present() const { return {}; }
};

// The plan and the pool outlive the writer.
[[nodiscard]] std::unique_ptr<ColumnWriter> MakeColumnWriter(const ColumnPlan& plan,
                                                             TensorPool& pool);

}  // namespace tpuest::data
