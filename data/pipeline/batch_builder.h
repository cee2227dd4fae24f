#pragma once
// Builds a batch from the records drawn for it: reads, parses and maps each row directly into the
// batch's tensors. Formulas are computed for all rows at once.

#include <memory>
#include <optional>
#include <vector>

#include "data/examples/column_program.h"
#include "data/examples/column_writer.h"
#include "data/examples/example_parser.h"
#include "data/pipeline/sampler.h"

namespace tpuest::data {

// The data that a stream's workers share; outlives them.
struct BuildContext {
  InputPlan plan;
  const ExampleParser* parser = nullptr;  // nullptr: the plan reads the source's columns
  const IndexedSource* source = nullptr;  // nullptr: a streamed source, whose records are in Drawn
  std::shared_ptr<const RowDecoder> decoder;        // decodes streamed records; may be nullptr
  const std::vector<std::string>* files = nullptr;  // for errors: Provenance::file
  uint64_t seed = 0;                                // seed of the map ops' random numbers
  bool seeds_by_name = false;                       // RecordKey's
  // The rows to build of batches of `of_rows` rows; count 0: all rows of all batches.
  struct {
    int64_t first = 0;
    int64_t count = 0;
    int64_t of_rows = 0;
  } taken;
};

// Belongs to one worker: reuses its row and parsing memory for each record.
class BatchBuilder {
 public:
  BatchBuilder(const BuildContext& context, TensorPool& pool);
  // Builds a batch of max(drawn.rows, pad_to) rows. Padding rows are copies of the first row, and
  // the batch then carries an example_weight, float [rows]. If context.taken applies to the batch,
  // it has only those rows. Throws kData that names file and record.
  [[nodiscard]] Batch Build(const Drawn& drawn, int64_t pad_to);

 private:
  // Adds the columns' values of these rows, padded to `rows` with copies of the first.
  void AddRows(const Drawn& drawn, int64_t begin, int64_t end, int64_t rows);
  [[nodiscard]] bool IsTakenApart(const Drawn& drawn) const;
  [[nodiscard]] Provenance FromOf(const Drawn& drawn, int64_t row) const;
  void AddRow(const Drawn& drawn, int64_t row);  // for windows, `row` counts records
  void ReadRow(const Drawn& drawn, int64_t row);
  void MapRow(int64_t epoch);

  struct Column {
    std::unique_ptr<ColumnWriter> writer;
    size_t input = 0;  // index of the column that is read
  };
  // A column of the batch, computed by a writer or by the program.
  struct Output {
    size_t index = 0;
    bool is_computed = false;
  };
  [[nodiscard]] Output OutputFor(const ColumnPlan& plan);
  [[nodiscard]] Column Writer(const ColumnPlan& plan) const;

  const BuildContext& context_;
  TensorPool& pool_;
  std::vector<Column> columns_;  // the columns that are read, then the graph's inputs
  size_t graph_inputs_ = 0;      // index of the first graph input
  std::vector<Value> computed_;  // values computed by the graph
  std::vector<Output> outputs_;  // features, then labels, then forwarded columns
  std::optional<ColumnProgram> program_;
  int64_t window_ = 1;  // records per row
  bool has_fixed_shapes_ = false;
  Row row_;
  ParsedExample parsed_;
};

}  // namespace tpuest::data
