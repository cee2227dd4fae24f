#pragma once
// Makes a batch of the records that were drawn for it: reads, parses and maps each row straight
// into the batch's tensors; what formulas make is computed for all rows at once.

#include <memory>
#include <optional>
#include <vector>

#include "data/examples/column_program.h"
#include "data/examples/column_writer.h"
#include "data/examples/example_parser.h"
#include "data/pipeline/sampler.h"

namespace tpuest::data {

// The common part of a stream's workers; outlives them.
struct BuildContext {
  InputPlan plan;
  const ExampleParser* parser = nullptr;            // nullptr: the source's columns are the plan's
  const IndexedSource* source = nullptr;            // nullptr: streamed, records are in Drawn
  std::shared_ptr<const RowDecoder> decoder;        // of streamed records; may be nullptr
  const std::vector<std::string>* files = nullptr;  // for errors: Provenance::file
  uint64_t seed = 0;                                // of what map ops draw
  bool seeds_by_name = false;                       // RecordKey's
  // Of batches of `of_rows` rows these alone are made; count 0: all rows of all batches.
  struct {
    int64_t first = 0;
    int64_t count = 0;
    int64_t of_rows = 0;
  } taken;
};

// Belongs to one worker: its row and parsing memory are used again for each record.
class BatchBuilder {
 public:
  BatchBuilder(const BuildContext& context, TensorPool& pool);
  // A batch of max(drawn.rows, pad_to) rows; the rows beyond are copies of the first one and make
  // the batch carry an example_weight, float [rows]. Of a batch that context.taken is about it has
  // these rows. Throws Error kData that names file and record.
  [[nodiscard]] Batch Build(const Drawn& drawn, int64_t pad_to);

 private:
  // The columns' values of these rows, filled up to `rows` with copies of the first.
  void AddRows(const Drawn& drawn, int64_t begin, int64_t end, int64_t rows);
  [[nodiscard]] bool IsTakenApart(const Drawn& drawn) const;
  [[nodiscard]] Provenance FromOf(const Drawn& drawn, int64_t row) const;
  void AddRow(const Drawn& drawn, int64_t row);  // of windows, row counts records
  void ReadRow(const Drawn& drawn, int64_t row);
  void MapRow(int64_t epoch);

  struct Column {
    std::unique_ptr<ColumnWriter> writer;
    size_t input = 0;  // index of the column that is read
  };
  // A column of the batch: what a writer or the program made.
  struct Output {
    size_t index = 0;
    bool is_computed = false;
  };
  [[nodiscard]] Output OutputFor(const ColumnPlan& plan);
  [[nodiscard]] Column Writer(const ColumnPlan& plan) const;

  const BuildContext& context_;
  TensorPool& pool_;
  std::vector<Column> columns_;  // what is read, then the graph's inputs
  size_t graph_inputs_ = 0;      // the first of these
  std::vector<Value> computed_;  // of the graph
  std::vector<Output> outputs_;  // features, then labels, then what is forwarded
  std::optional<ColumnProgram> program_;
  int64_t window_ = 1;  // records of a row
  bool has_fixed_shapes_ = false;
  Row row_;
  ParsedExample parsed_;
};

}  // namespace tpuest::data
