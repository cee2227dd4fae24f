#pragma once
// Columns of a batch, filled row by row: values go through their steps straight to their place in
// the batch's tensor.

#include <memory>

#include "data/examples/column_plan.h"
#include "data/examples/tensor_pool.h"
#include "data/source.h"

namespace tpuest::data {

// One column of one worker: Begin, Add for each row, Finish, and again.
class ColumnWriter {
 public:
  virtual ~ColumnWriter() = default;
  // Starts a batch of `rows` rows; Add comes next, once for each in order.
  virtual void Begin(int64_t rows) = 0;
  // Writes the next row; `record` says what its ops draw. Throws Error kData for values that the
  // steps refuse; the caller adds file and record.
  virtual void Add(Values values, const RecordKey& record) = 0;
  // The column [rows, ...]; lists of any length as [rows, K] (see VarLenFeature).
  [[nodiscard]] virtual Tensor Finish() = 0;
  // Between Begin and Finish, for lists that are padded: to this length; 0: to what the plan says.
  virtual void PadTo(int64_t /*length*/) {}
  // After Finish, for lists of any length: where [rows, K] has a value of the list, bool.
  [[nodiscard]] virtual Tensor Present() const { return {}; }
};

// The plan and the pool outlive the writer.
[[nodiscard]] std::unique_ptr<ColumnWriter> MakeColumnWriter(const ColumnPlan& plan,
                                                             TensorPool& pool);

}  // namespace tpuest::data
