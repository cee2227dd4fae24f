#include "data/pipeline/serving.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "core/ops/array.h"
#include "core/ops/elementwise.h"
#include "core/ops/parsing.h"
#include "core/ops/reduction.h"
#include "data/examples/column_plan.h"
#include "data/examples/example_encoder.h"
#include "data/examples/example_parser.h"
#include "data/examples/map_nodes.h"
#include "data/pipeline/input_fn.h"
#include "data/pipeline/map_graph.h"
#include "data/pipeline/optional_features.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

constexpr std::string_view kExamples = "examples";  // key of the receiver, as in TensorFlow
constexpr std::string_view kInputFns = "input_fns.";

Value ExamplesPlaceholder(Graph& graph, std::optional<int64_t> batch) {
  return graph.Placeholder(DType::kString, Shape({batch.value_or(kUnknownDim)}),
                           "input_example_tensor");
}

// A valid name of a node for a column; it begins with a letter or a digit.
std::string ColumnNode(std::string_view column) {
  std::string name(column);
  for (char& c : name) {
    const bool fits = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' ||
                      c == '-' || c == '/';
    if (!fits) c = '_';
  }
  const bool begins = !name.empty() && std::isalnum(static_cast<unsigned char>(name[0])) != 0;
  return begins ? name : "x" + name;
}

// The nodes of parse_example's columns.
struct Parsed {
  std::map<size_t, Value> values;
  std::map<size_t, Value> present;  // of the lists: marks the values
};

// Collects the lists that ParseExample reads; each is read once, even if several columns use it.
class ListReader {
 public:
  // Returns the index of the list of that feature.
  size_t Add(const std::string& feature, DType dtype, int64_t least_width, const std::string& key) {
    const auto [known, is_new] = numbers_.emplace(feature, lists_.size());
    if (is_new) {
      lists_.push_back({.key = feature, .dtype = dtype, .least_width = least_width});
    } else if (lists_[known->second].dtype != dtype) {
      throw Error(Code::kUsage, fmt::format("feature \"{}\" is read as {} and as {}", feature,
                                            NameOf(lists_[known->second].dtype), NameOf(dtype)))
          .Key(key);
    }
    return known->second;
  }
  [[nodiscard]] const std::vector<ops::VarLenFeature>& lists() const { return lists_; }

 private:
  std::vector<ops::VarLenFeature> lists_;
  std::map<std::string, size_t> numbers_;
};

// A list's values, and a mask of the values, [batch, K].
struct ListNodes {
  Value values;
  Value present;
};

// The row [batch, size] of a SparseFeature: each position has its value or the default. Missing
// elements of a list have position -1, which matches none.
Value SparseNodes(const ListNodes& places, const ListNodes& values, const Tensor& filler) {
  const Value x = values.values;
  Graph& graph = x.graph();
  const auto size = static_cast<int>(filler.elements());
  const Value is_place = ops::Greater(  // [batch, K, size]
      ops::OneHot(places.values, {.depth = size, .dtype = DType::kFloat}),
      graph.ScalarOf(DType::kFloat, 0.5));
  const Value zero = graph.ScalarOf(x.dtype(), 0);
  const Value row = ops::Sum(ops::SelectV2(is_place, ops::ExpandDims(x, -1), zero), {1});
  const Value is_taken = ops::Any(is_place, {1});
  return ops::SelectV2(is_taken, row, graph.Constant(filler));
}

// Columns as nodes. ParseExample's outputs are the dense features, then the lists, then the lists'
// masks.
Parsed ParsedColumns(Value examples, const ExampleParser& parser, const std::set<size_t>& columns,
                     const std::map<std::string, FeatureOptions>& options,
                     const std::map<std::string, int64_t>& least_widths = {}) {
  std::vector<ops::DenseFeature> features;
  std::vector<size_t> dense;
  ListReader reader;
  // Per column: the list of its values, or of its positions and values.
  std::map<size_t, std::vector<size_t>> lists_of;
  for (const size_t column : columns) {
    const TensorSpec& spec = parser.columns()[column];
    const FeatureOptions& feature = options.at(spec.name);
    if (const auto* const sparse = std::get_if<SparseFeature>(&feature)) {
      lists_of[column] = {reader.Add(sparse->index_key, DType::kInt64, 0, spec.key),
                          reader.Add(sparse->value_key, spec.dtype, 0, spec.key)};
    } else if (spec.shape.fully_known()) {
      features.push_back({spec.name, spec.dtype, spec.shape, parser.default_value(column)});
      dense.push_back(column);
    } else {
      const auto* const ragged = std::get_if<RaggedFeature>(&feature);
      const auto least = least_widths.find(spec.name);
      lists_of[column] = {
          reader.Add(ragged == nullptr ? spec.name : ragged->value_key.value_or(spec.name),
                     spec.dtype, least == least_widths.end() ? 0 : least->second, spec.key)};
    }
  }
  const std::vector<Value> values = ops::ParseExample(examples, features, reader.lists());
  const size_t lists = reader.lists().size();
  const auto list = [&](size_t i) {
    return ListNodes{values[dense.size() + i], values[dense.size() + lists + i]};
  };
  Parsed parsed;
  for (size_t i = 0; i < dense.size(); ++i) parsed.values[dense[i]] = values[i];
  for (const auto& [column, of] : lists_of) {
    if (of.size() == 2) {
      parsed.values[column] = SparseNodes(list(of[0]), list(of[1]), parser.filler(column));
      continue;
    }
    parsed.values[column] = list(of[0]).values;
    parsed.present[column] = list(of[0]).present;
  }
  return parsed;
}

class ParsingReceiver {
 public:
  ParsingReceiver(InputFnOptions options, const std::string& name, std::optional<int64_t> batch)
      : options_(std::move(options)), key_("input_fns." + name), batch_(batch) {}

  ServingInputReceiver Build(Graph& graph) const {
    RefuseFeatures();
    const std::optional<ExampleParser> parser = Parser();
    const std::vector<TensorSpec> read = parser ? parser->columns() : SourceColumns(options_, key_);
    const InputPlan plan = PlanColumns(options_, read, key_);
    RefuseWindows(plan);
    const MapGraph columns(options_, read);
    // Labels and id are not parsed, because requests need not contain them.
    std::set<size_t> roots;
    for (const ColumnPlan& feature : plan.features) {
      CheckLists(columns, columns.Last(feature.spec.name));
      roots.merge(columns.Roots(columns.Last(feature.spec.name)));
    }
    const Value examples = ExamplesPlaceholder(graph, batch_);
    Parsed built = parser ? ParsedColumns(examples, *parser, roots, options_.parse_example)
                          : Decoded(examples, read, roots);
    ServingInputReceiver receiver;
    for (const ColumnPlan& feature : plan.features) {
      const std::string& name = feature.spec.name;
      receiver.features[name] = columns.Build(columns.Last(name), built.values);
      if (feature.is_list()) {
        receiver.present[name] = built.present.at(*columns.Roots(columns.Last(name)).begin());
      }
      receiver.feature_keys[name] = feature.spec.key;
    }
    receiver.receiver_tensors[std::string(kExamples)] = examples;
    return receiver;
  }

  // The features are fed as columns instead of tf.Examples.
  ServingInputReceiver BuildOfColumns(Graph& graph) const {
    const std::vector<TensorSpec> read = ReadColumns();
    const InputPlan plan = PlanColumns(options_, read, key_);
    RefuseWindows(plan);
    const MapGraph columns(options_, read);
    ServingInputReceiver receiver;
    std::map<size_t, Value> built;
    for (const size_t root : RootsOf(plan, columns)) {
      const TensorSpec& spec = read[root];
      std::vector<int64_t> dims = {batch_.value_or(kUnknownDim)};
      dims.insert(dims.end(), spec.shape.dims().begin(), spec.shape.dims().end());
      built[root] = graph.Placeholder(spec.dtype, Shape(std::move(dims)), ColumnNode(spec.name));
      receiver.receiver_tensors[spec.name] = built[root];
    }
    for (const ColumnPlan& feature : plan.features) {
      const std::string& name = feature.spec.name;
      receiver.features[name] = columns.Build(columns.Last(name), built);
      receiver.feature_keys[name] = feature.spec.key;
    }
    return receiver;
  }
  // The names of those columns.
  [[nodiscard]] std::vector<std::string> Columns() const {
    const std::vector<TensorSpec> read = ReadColumns();
    std::vector<std::string> names;
    for (const size_t root : RootsOf(PlanColumns(options_, read, key_), MapGraph(options_, read))) {
      names.push_back(read[root].name);
    }
    return names;
  }

 private:
  [[nodiscard]] std::optional<ExampleParser> Parser() const {
    if (options_.parse_sequence_example) {
      return ExampleParser(*options_.parse_sequence_example, key_ + ".parse_sequence_example");
    }
    if (options_.parse_example.empty()) return std::nullopt;
    return ExampleParser(options_.parse_example, key_ + ".parse_example");
  }
  [[nodiscard]] std::vector<TensorSpec> ReadColumns() const {
    const std::optional<ExampleParser> parser = Parser();
    return parser ? parser->columns() : SourceColumns(options_, key_);
  }

  // The columns that features are computed from; each must have a known shape.
  [[nodiscard]] std::set<size_t> RootsOf(const InputPlan& plan, const MapGraph& columns) const {
    std::set<size_t> roots;
    for (const ColumnPlan& feature : plan.features) {
      roots.merge(columns.Roots(columns.Last(feature.spec.name)));
    }
    for (const size_t root : roots) {
      const TensorSpec& spec = columns.spec(root);
      if (spec.shape.fully_known()) continue;
      throw Error(
          Code::kUsage,
          fmt::format("\"{}\" is {}: a request with columns cannot hold lists of several lengths",
                      spec.name, spec.shape.Text()),
          "with_map: false accepts the features before map ops")
          .Key("export.serving_input_receiver_fn");
    }
    return roots;
  }

  // Nodes of a source's columns, decoded from their features in tf.Examples, in the order of the
  // features' keys.
  [[nodiscard]] Parsed Decoded(Value examples, const std::vector<TensorSpec>& read,
                               const std::set<size_t>& roots) const {
    if (std::holds_alternative<TFRecordSource>(options_.source)) return {{{0, examples}}, {}};
    const std::map<std::string, FixedLenFeature> optional =
        OptionalFeatures(options_, key_.substr(kInputFns.size()));
    std::map<std::string, std::pair<size_t, ops::DenseFeature>> by_key;
    std::vector<ops::VarLenFeature> lists;
    std::vector<size_t> list_columns;
    for (const size_t root : roots) {
      if (!read[root].shape.fully_known()) {
        lists.push_back({.key = read[root].name, .dtype = read[root].dtype, .least_width = 0});
        list_columns.push_back(root);
        continue;
      }
      const EncodedColumn encoded = EncodingOf(read[root]);
      const auto gap = optional.find(encoded.key);
      Tensor value;
      if (gap != optional.end()) value = DefaultTensor(gap->second, key_);
      by_key[encoded.key] = {root, {encoded.key, encoded.dtype, encoded.shape, std::move(value)}};
    }
    std::vector<ops::DenseFeature> features;
    for (const auto& [key, feature] : by_key) features.push_back(feature.second);
    const std::vector<Value> values = ops::ParseExample(examples, features, lists);
    Parsed built;
    size_t next = 0;
    for (const auto& [key, feature] : by_key) {
      built.values[feature.first] = DecodedNodes(read[feature.first], values[next++]);
    }
    for (const size_t column : list_columns) {
      built.values[column] = values[next];
      built.present[column] = values[next + lists.size()];
      ++next;
    }
    return built;
  }

  // Requests contain tf.Examples, and no op makes their sparse strings dense.
  void RefuseFeatures() const {
    const auto refuse = [&](const std::string& place, std::string_view type) {
      throw Error(Code::kUsage, fmt::format("a parsing receiver does not read a {}", type),
                  "serving_input_receiver_fn: {type: build_raw_serving_input_receiver_fn}")
          .Key(key_ + place);
    };
    if (options_.parse_sequence_example) refuse(".parse_sequence_example", "SequenceExample");
    for (const auto& [name, feature] : options_.parse_example) {
      const auto* const sparse = std::get_if<SparseFeature>(&feature);
      if (sparse == nullptr || sparse->dtype != "string") continue;
      refuse(".parse_example." + name, "SparseFeature of texts");
    }
  }

  // A tf.Example is one record.
  void RefuseWindows(const InputPlan& plan) const {
    const auto refuse = [&](const std::string& message) {
      throw Error(Code::kUsage, message,
                  "serving_input_receiver_fn: {type: build_raw_serving_input_receiver_fn}")
          .Key(key_ + ".stages");
    };
    if (plan.window > 1) refuse("a model on windows needs several records per example");
    for (const ColumnPlan& feature : plan.features) {
      if (!feature.padding) continue;
      refuse(fmt::format("lists of \"{}\" are filled up to one length, which a request's are not",
                         feature.spec.name));
    }
  }

  // A stream pads lists after the map steps, a receiver before them, so a step that computes would
  // also change the padding. Casts between integer types or between float types keep -1 and NaN.
  void CheckLists(const MapGraph& columns, size_t column) const {
    const TensorSpec& result = columns.spec(column);
    // Formulas do not use lists.
    const TensorSpec& read = columns.spec(*columns.Roots(column).begin());
    if (read.shape.fully_known()) return;
    const bool same = result.dtype == read.dtype ||
                      (IsInteger(result.dtype) && IsInteger(read.dtype)) ||
                      (IsFloating(result.dtype) && IsFloating(read.dtype));
    if (same && columns.OnlyCasts(column)) return;
    throw Error(Code::kUsage,
                fmt::format("\"{}\" is a VarLenFeature: a parsing receiver fills its lists up "
                            "before the map steps, which compute with them",
                            read.name),
                "serving_input_receiver_fn: {type: build_raw_serving_input_receiver_fn}, or a "
                "FixedLenFeature")
        .Key(fmt::format("{}.parse_example.{}", key_, read.name));
  }

  InputFnOptions options_;
  std::string key_;
  std::optional<int64_t> batch_;
};

// The rows of a source as one column of tf.Examples, which are encoded at each read.
class EncodedSource final : public IndexedSource {
 public:
  EncodedSource(std::shared_ptr<IndexedSource> source, RequestFeatures requests)
      : IndexedSource({SerializedColumn()}, source->files()),
        source_(std::move(source)),
        requests_(std::move(requests)) {}
  [[nodiscard]] int64_t size() const override { return source_->size(); }
  [[nodiscard]] Provenance From(int64_t index) const override { return source_->From(index); }
  void Read(int64_t index, Row& row) const override {
    source_->Read(index, row);
    const std::string example = ExampleEncoder(source_->columns(), requests_).Encode(row);
    row.bytes.assign(example.begin(), example.end());
    row.text = {reinterpret_cast<const char*>(row.bytes.data()), row.bytes.size()};
    row.columns.assign(1, {&row.text, 1});
  }

 private:
  std::shared_ptr<IndexedSource> source_;
  RequestFeatures requests_;
};

// As above, for a stream.
class EncodedStream final : public StreamedSource {
 public:
  EncodedStream(std::unique_ptr<StreamedSource> source, RequestFeatures requests)
      : StreamedSource({SerializedColumn()}, source->files()),
        source_(std::move(source)),
        decoder_(source_->decoder()),
        requests_(std::move(requests)) {}
  void Rewind() override { source_->Rewind(); }
  [[nodiscard]] bool Next(std::string_view& bytes, Provenance& from) override {
    if (!source_->Next(row_.text, from)) return false;
    row_.from = from;
    if (decoder_) {
      decoder_->Decode(row_.text, row_);
    } else {
      row_.columns.assign(1, {&row_.text, 1});
    }
    example_ = ExampleEncoder(source_->columns(), requests_).Encode(row_);
    bytes = example_;
    return true;
  }

 private:
  std::unique_ptr<StreamedSource> source_;
  std::shared_ptr<const RowDecoder> decoder_;
  RequestFeatures requests_;
  Row row_;
  std::string example_;
};

// The form of a spec's features in requests.
RequestFeatures RequestsOf(const std::map<std::string, FeatureOptions>& spec) {
  RequestFeatures requests;
  for (const auto& [name, feature] : spec) {
    RequestFeature& request = requests[name];
    request.dtype = std::visit([](const auto& f) { return *DTypeFromName(f.dtype); }, feature);
    const auto* const fixed = std::get_if<FixedLenFeature>(&feature);
    if (fixed != nullptr) request.default_value = DefaultTensor(*fixed, name);
  }
  return requests;
}

// Encodes the features of a stream as one feature of tf.Examples.
class ExamplesStream final : public BatchStream {
 public:
  ExamplesStream(std::unique_ptr<BatchStream> features, RequestFeatures requests)
      : features_(std::move(features)), requests_(std::move(requests)) {
    spec_.features = {{.name = std::string(kExamples), .dtype = DType::kString, .shape = Shape()}};
  }
  [[nodiscard]] const StreamSpec& spec() const override { return spec_; }
  [[nodiscard]] std::optional<int64_t> epoch_size() const override {
    return features_->epoch_size();
  }
  [[nodiscard]] bool endless() const override { return features_->endless(); }
  void Seek(const StreamPosition& position) override { features_->Seek(position); }
  [[nodiscard]] const std::vector<std::string>& files() const override {
    return features_->files();
  }

  [[nodiscard]] std::optional<Batch> Next() override {
    std::optional<Batch> batch = features_->Next();
    if (!batch) return batch;
    const int64_t rows = batch->features.empty() ? 0 : batch->features.front().shape().dim(0);
    std::vector<std::string> examples;
    for (int64_t row = 0; row < rows; ++row) examples.push_back(ExampleOf(*batch, row));
    batch->features.assign(1, Tensor::Strings(Shape({rows}), examples));
    batch->present.clear();
    return batch;
  }

 private:
  std::string ExampleOf(const Batch& batch, int64_t row) {
    const StreamSpec& spec = features_->spec();
    for (size_t i = 0; i < spec.features.size(); ++i) {
      const std::string& name = spec.features[i].name;
      const auto as = requests_.find(name);
      if (as == requests_.end()) continue;
      const auto list = std::find(spec.lists.begin(), spec.lists.end(), name);
      const Tensor* const present =
          list == spec.lists.end() ? nullptr
                                   : &batch.present[static_cast<size_t>(list - spec.lists.begin())];
      Add(name, as->second, batch.features[i], present, row);
    }
    return writer_.Finish();
  }

  // A list begins with its values, followed by padding.
  void Add(const std::string& name, const RequestFeature& as, const Tensor& values,
           const Tensor* present, int64_t row) {
    const Tensor own = values.Rows(row, row + 1);
    int64_t count = own.elements();
    if (present != nullptr) {
      const Tensor is_value = present->Rows(row, row + 1);
      count = std::ranges::count(is_value.values<bool>(), true);
    }
    if (IsDefault(as, own.dtype(), {own.raw(), count})) return;
    WriteFeature(writer_, name, as.dtype, own.dtype(), {own.raw(), count});
  }

  const std::unique_ptr<BatchStream> features_;
  const RequestFeatures requests_;
  StreamSpec spec_;
  ExampleWriter writer_;
};

// Removes the labels that the input_fn or its source names.
void DropLabels(InputFnOptions& options) {
  options.labels.reset();
  if (auto* const csv = std::get_if<CsvSource>(&options.source)) csv->label_name.reset();
  if (auto* const libsvm = std::get_if<LibsvmSource>(&options.source)) libsvm->names_label = false;
}

}  // namespace

ServingInputReceiverFn ParsingServingInputReceiverFn(InputFnOptions options,
                                                     const std::string& name,
                                                     std::optional<int64_t> default_batch_size) {
  const auto receiver =
      std::make_shared<const ParsingReceiver>(std::move(options), name, default_batch_size);
  return [receiver](Graph& graph) { return receiver->Build(graph); };
}

ServingInputReceiverFn RawColumnsReceiverFn(InputFnOptions options, const std::string& name,
                                            std::optional<int64_t> default_batch_size) {
  const auto receiver =
      std::make_shared<const ParsingReceiver>(std::move(options), name, default_batch_size);
  return [receiver](Graph& graph) { return receiver->BuildOfColumns(graph); };
}

InputFn RawColumnsInputFn(InputFnOptions options, const std::string& name) {
  InputFnOptions original = options;
  options.features = ParsingReceiver(options, name, std::nullopt).Columns();
  options.map.clear();
  options.stages.clear();
  DropLabels(options);
  options.id.reset();
  options.forwarded.clear();
  return MakeWrappedInputFn(std::move(options), name, WrapSource(), std::move(original));
}

ServingInputReceiverFn ParsingServingInputReceiverFn(
    const std::map<std::string, FeatureOptions>& spec, const std::string& key,
    const std::set<std::string>& lists, const std::map<std::string, int64_t>& widths,
    std::optional<int64_t> default_batch_size) {
  const auto parser = std::make_shared<const ExampleParser>(spec, key);
  std::map<std::string, int64_t> least_widths;  // widths of features that were dense
  for (const TensorSpec& feature : parser->columns()) {
    const auto known = widths.find(feature.name);
    if (lists.contains(feature.name)) continue;
    least_widths[feature.name] = known == widths.end() ? 1 : known->second;
  }
  return [parser, spec, lists, least_widths, default_batch_size](Graph& graph) {
    const Value examples = ExamplesPlaceholder(graph, default_batch_size);
    std::set<size_t> all;
    for (size_t i = 0; i < parser->columns().size(); ++i) all.insert(i);
    ServingInputReceiver receiver;
    const Parsed parsed = ParsedColumns(examples, *parser, all, spec, least_widths);
    for (const auto& [column, value] : parsed.values) {
      const TensorSpec& feature = parser->columns()[column];
      receiver.features[feature.name] = value;
      const auto present = parsed.present.find(column);
      if (present != parsed.present.end() && lists.contains(feature.name)) {
        receiver.present[feature.name] = present->second;
      }
      receiver.feature_keys[feature.name] = feature.key;
    }
    receiver.receiver_tensors[std::string(kExamples)] = examples;
    return receiver;
  };
}

InputFn SerializedInputFn(InputFnOptions options, const std::string& name,
                          const std::map<std::string, FeatureOptions>& spec) {
  InputFnOptions original = options;
  const bool records = Parses(options) || std::holds_alternative<TFRecordSource>(options.source);
  ReshapeMap rename;
  rename.in = SerializedColumn().name;
  if (records) {
    const auto columns = KnownColumns(options.source, "input_fns." + name + ".source");
    if (columns && columns->size() == 1) rename.in = columns->front().name;
  }
  // A reshape to the same shape only renames the column, because it runs no step.
  rename.out = kExamples;
  options.parse_example.clear();
  options.parse_sequence_example.reset();
  options.map = {rename};
  options.stages.clear();
  options.features = {std::string(kExamples)};
  DropLabels(options);
  options.id.reset();
  options.forwarded.clear();
  const auto encoded = [requests = RequestsOf(spec)](AnySource source) -> AnySource {
    if (auto* const streamed = std::get_if<std::unique_ptr<StreamedSource>>(&source)) {
      return std::make_unique<EncodedStream>(std::move(*streamed), requests);
    }
    return std::make_shared<EncodedSource>(std::get<std::shared_ptr<IndexedSource>>(source),
                                           requests);
  };
  return MakeWrappedInputFn(std::move(options), name, records ? WrapSource() : WrapSource(encoded),
                            std::move(original));
}

InputFn FeaturesAsExamples(InputFn input_fn, const std::map<std::string, FeatureOptions>& spec) {
  return
      [input_fn = std::move(input_fn), requests = RequestsOf(spec)](const InputContext& context) {
        return std::make_unique<ExamplesStream>(input_fn(context), requests);
      };
}

}  // namespace tpuest::data
