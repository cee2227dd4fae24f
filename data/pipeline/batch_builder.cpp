#include "data/pipeline/batch_builder.h"

#include <algorithm>

namespace tpuest::data {
namespace {

// The weights [rows]: 1 for the first `examples` rows, 0 (the value of a new tensor) for padding.
Tensor ExampleWeight(int64_t rows, int64_t examples) {
  Tensor weight(DType::kFloat, Shape({rows}));
  std::fill_n(weight.data<float>(), examples, 1.0F);
  return weight;
}

// Adds the record to an error of the parser or of a step, which name only the feature. A source's
// own errors already have their place.
Error WithRecord(const Error& error, const std::string& file, int64_t record) {
  std::vector<Fault> faults = error.faults();
  faults.front().message = fmt::format("{}: record {}: {}", file, record, faults.front().message);
  return {error.code(), std::move(faults)};
}

// Marks the records that belong to their window, bool [rows * window]; padding rows repeat the
// first row.
Tensor WindowPlaces(const Drawn& drawn, int64_t rows, int64_t window) {
  Tensor places(DType::kBool, Shape({rows * window}));
  bool* place = places.data<bool>();
  for (int64_t row = 0; row < rows; ++row) {
    std::fill_n(place, drawn.window_sizes[static_cast<size_t>(row < drawn.rows ? row : 0)], true);
    place += window;
  }
  return places;
}

bool HasFixedShape(const ColumnPlan& column) {
  return column.spec.shape.fully_known() && !column.padding;
}

// True if no row's shape depends on the other rows of its batch.
bool HasFixedShapes(const InputPlan& plan) {
  const auto all = [](const std::vector<ColumnPlan>& columns) {
    return std::all_of(columns.begin(), columns.end(), HasFixedShape);
  };
  bool is_fixed = all(plan.features) && all(plan.forwarded);
  for (const auto& [head, column] : plan.labels) is_fixed = is_fixed && HasFixedShape(column);
  return is_fixed && (!plan.graph || all(plan.graph->inputs));
}

int64_t EpochOf(const Drawn& drawn, int64_t row) {
  for (const Drawn::Stretch& stretch : drawn.stretches) {
    if (row < stretch.rows) return stretch.epoch;
    row -= stretch.rows;
  }
  return 0;
}

}  // namespace

BatchBuilder::BatchBuilder(const BuildContext& context, TensorPool& pool)
    : context_(context),
      pool_(pool),
      window_(context.plan.window),
      has_fixed_shapes_(HasFixedShapes(context.plan)) {
  const InputPlan& plan = context.plan;
  for (const ColumnPlan& column : plan.features) outputs_.push_back(OutputFor(column));
  for (const auto& [head, column] : plan.labels) outputs_.push_back(OutputFor(column));
  for (const ColumnPlan& column : plan.forwarded) outputs_.push_back(OutputFor(column));
  if (computed_.empty()) return;
  graph_inputs_ = columns_.size();
  for (const ColumnPlan& input : plan.graph->inputs) columns_.push_back(Writer(input));
  program_.emplace(plan.graph, computed_);
}

BatchBuilder::Output BatchBuilder::OutputFor(const ColumnPlan& plan) {
  if (plan.computed.valid()) {
    computed_.push_back(plan.computed);
    return {computed_.size() - 1, true};
  }
  columns_.push_back(Writer(plan));
  return {columns_.size() - 1, false};
}

BatchBuilder::Column BatchBuilder::Writer(const ColumnPlan& plan) const {
  return {MakeColumnWriter(plan, pool_), plan.input};
}

void BatchBuilder::ReadRow(const Drawn& drawn, int64_t row) {
  const auto at = static_cast<size_t>(row);
  if (context_.source != nullptr) {
    context_.source->Read(drawn.records[at], row_);
    return;
  }
  const size_t begin = at == 0 ? 0 : drawn.ends[at - 1];
  row_.from = drawn.from[at];
  row_.text = std::string_view(drawn.bytes).substr(begin, drawn.ends[at] - begin);
  if (context_.decoder) {
    context_.decoder->Decode(row_.text, row_);
    return;
  }
  // A streamed record is a slice of the drawn bytes, in the form of SerializedColumn().
  row_.columns.assign(1, {&row_.text, 1});
}

void BatchBuilder::MapRow(int64_t epoch) {
  // The plan numbers the columns of parse_example, or of the source if there is none.
  const std::vector<Values>* values = &row_.columns;
  if (context_.parser != nullptr) {
    context_.parser->Parse(*static_cast<const std::string_view*>(row_.columns[0].data), parsed_);
    values = &parsed_.values;
  }
  const RecordKey record{context_.seed, static_cast<uint64_t>(epoch),
                         static_cast<uint64_t>(row_.from.file),
                         static_cast<uint64_t>(row_.from.record), context_.seeds_by_name};
  for (const Column& column : columns_) column.writer->Add((*values)[column.input], record);
}

void BatchBuilder::AddRow(const Drawn& drawn, int64_t row) {
  ReadRow(drawn, row);
  try {
    MapRow(EpochOf(drawn, row));
  } catch (const Error& error) {
    // The checksum detects a mapped file that has changed since it was verified.
    ReadRow(drawn, row);
    throw WithRecord(error, (*context_.files)[static_cast<size_t>(row_.from.file)],
                     row_.from.record);
  }
}

// Adds the drawn rows `begin` to `end`, and copies of the first row up to `rows` rows.
void BatchBuilder::AddRows(const Drawn& drawn, int64_t begin, int64_t end, int64_t rows) {
  for (const Column& column : columns_) {
    column.writer->Begin(rows * window_);
    if (drawn.list_length > 0) column.writer->PadTo(drawn.list_length);
  }
  const bool is_part = IsTakenApart(drawn);
  for (int64_t record = begin * window_; record < end * window_; ++record) {
    row_.records_after = is_part ? end * window_ - record - 1 : -1;
    AddRow(drawn, record);
  }
  // Padding repeats a real row, so that no op of the model gets a value that the data do not
  // contain.
  for (int64_t row = end - begin; row < rows; ++row) {
    for (int64_t i = 0; i < window_; ++i) AddRow(drawn, i);
  }
}

// Lists are padded to the longest row of the batch, so batches of lists are built from all rows; so
// are batches of windows.
bool BatchBuilder::IsTakenApart(const Drawn& drawn) const {
  return context_.taken.count > 0 && drawn.rows == context_.taken.of_rows &&
         drawn.window_sizes.empty() && has_fixed_shapes_;
}

Provenance BatchBuilder::FromOf(const Drawn& drawn, int64_t row) const {
  const auto at = static_cast<size_t>(row * window_);
  return context_.source == nullptr ? drawn.from[at] : context_.source->From(drawn.records[at]);
}

Batch BatchBuilder::Build(const Drawn& drawn, int64_t pad_to) {
  Batch batch;
  int64_t end = drawn.rows;
  int64_t rows = std::max(drawn.rows, pad_to);
  if (IsTakenApart(drawn)) {
    batch.first_row = context_.taken.first;
    batch.whole_rows = drawn.rows;
    rows = context_.taken.count;
    end = batch.first_row + rows;
  }
  batch.examples = drawn.rows;
  batch.after = drawn.after;
  AddRows(drawn, batch.first_row, end, rows);
  batch.rows.reserve(static_cast<size_t>(drawn.rows));
  for (int64_t row = 0; row < drawn.rows; ++row) batch.rows.push_back(FromOf(drawn, row));

  std::vector<Tensor> read;
  for (const Column& column : columns_) read.push_back(column.writer->Finish());
  std::vector<Tensor> computed;
  if (program_) {
    std::vector<Tensor> inputs(read.begin() + static_cast<ptrdiff_t>(graph_inputs_), read.end());
    if (context_.plan.graph->window_places.valid()) {
      inputs.push_back(WindowPlaces(drawn, rows, window_));
    }
    computed = program_->Run(inputs, rows * window_);
  }
  // The constructor made the outputs in this order.
  size_t next = 0;
  const auto take = [&] {
    const Output& output = outputs_[next++];
    return std::move((output.is_computed ? computed : read)[output.index]);
  };
  for (const ColumnPlan& feature : context_.plan.features) {
    if (feature.is_list()) {
      batch.present.push_back(columns_[outputs_[next].index].writer->Present());
    }
    batch.features.push_back(take());
  }
  batch.labels = context_.plan.labels.Map([&](const ColumnPlan& /*column*/) { return take(); });
  for (const ColumnPlan& column : context_.plan.forwarded) {
    batch.forwarded[column.spec.name] = take();
  }
  if (rows > drawn.rows) batch.example_weight = ExampleWeight(rows, drawn.rows);
  return batch;
}

}  // namespace tpuest::data
