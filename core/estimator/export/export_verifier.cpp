#include "core/estimator/export/export_verifier.h"

#include <algorithm>
#include <cmath>

#include "core/backend/rows/row_table.h"
#include "core/base/text.h"
#include "core/estimator/checkpoint/rows/row_tables.h"
#include "core/estimator/checkpoint/variables.h"
#include "core/estimator/export/signatures.h"
#include "core/estimator/step/model/model_builder.h"
#include "core/estimator/step/model/scaffold.h"
#include "core/estimator/step/programs/step_program.h"
#include "core/graph/read/saved_model.h"
#include "core/graph/write/meta_graph.h"

namespace tpuest {
namespace {

constexpr double kTolerance = 1e-5;
constexpr int64_t kBatch = 64;
constexpr const char* kExamples = "examples";

using Outputs = std::map<std::string, Tensor>;

// Reads batches of one stream, up to `records` examples.
std::vector<Batch> ReadBatches(BatchStream& stream, int64_t records) {
  std::vector<Batch> batches;
  int64_t rows = 0;
  while (rows < records) {
    std::optional<Batch> batch = stream.Next();
    if (!batch) break;
    rows += batch->examples;
    batches.push_back(std::move(*batch));
  }
  return batches;
}

bool Agree(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == b) return true;
  return std::abs(a - b) <= kTolerance * std::max({1.0, std::abs(a), std::abs(b)});
}

std::string ElementText(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DType::kString
             ? fmt::format("'{}'", tensor.strings()[static_cast<size_t>(i)])
             : fmt::format("{}", tensor.AsDouble(i));
}

// The first element at which two tensors differ; nullopt if they are equal.
std::optional<int64_t> FirstDifference(const Tensor& a, const Tensor& b) {
  for (int64_t i = 0; i < a.elements(); ++i) {
    const bool same = a.dtype() == DType::kString ? a.strings()[static_cast<size_t>(i)] ==
                                                        b.strings()[static_cast<size_t>(i)]
                                                  : Agree(a.AsDouble(i), b.AsDouble(i));
    if (!same) return i;
  }
  return std::nullopt;
}

// Runs a graph on batches of any size and returns its results by name.
class Runner {
 public:
  Runner(EstimatorContext& context, const Graph& graph, std::vector<Value> inputs,
         std::map<std::string, Value> outputs, VariableStore& variables, uint64_t seed)
      : backends_{context.home.backend, context.home.backend},
        outputs_(std::move(outputs)),
        variables_(variables),
        args_({.graph = graph,
               .inputs = std::move(inputs),
               .fetches = Fetches(),
               .options = {.threads = context.threads,
                           .seed = seed,
                           .seeds_by_name = context.seeds_by_name}}),
        programs_(backends_, variables, args_) {}

  Outputs Run(const std::vector<Tensor>& feeds) {
    const std::vector<Tensor> values = programs_.For(feeds, ShapesOf(feeds))->RunWhole(feeds);
    Outputs results;
    size_t next = 0;
    for (const auto& [name, value] : outputs_) results[name] = values[next++];
    return results;
  }

 private:
  std::vector<Value> Fetches() const {
    std::vector<Value> fetches;
    for (const auto& [name, value] : outputs_) fetches.push_back(value);
    return fetches;
  }

  const Backends backends_;
  const std::map<std::string, Value> outputs_;
  VariableStore& variables_;
  const StepProgramArgs args_;
  StepPrograms programs_;
};

class Verifier {
 public:
  Verifier(const std::string& folder, const VerifyArgs& args, const SavedState& saved,
           uint64_t seed, EstimatorContext& context)
      : model_(folder), args_(args), context_(context), seed_(seed) {
    ReadRecords();
    RunLive(saved);
  }

  VerifyResult Run() {
    VerifyResult result{.records = records_};
    for (const MetaGraphInfo& meta_graph : model_.meta_graphs()) {
      const auto& tags = meta_graph.tags;
      if (std::find(tags.begin(), tags.end(), kServeTag) == tags.end()) continue;
      for (const auto& [key, signature] : meta_graph.signatures) {
        Verify(meta_graph, key, signature);
        ++result.signatures;
      }
    }
    context_.home.log.Info(
        "Verified {} signatures on {} records: the export gives the results of the model",
        result.signatures, records_);
    return result;
  }

 private:
  // The batch size that the export's inputs require; nullopt: any.
  [[nodiscard]] std::optional<int64_t> FixedBatch() const {
    for (const MetaGraphInfo& meta_graph : model_.meta_graphs()) {
      for (const auto& [key, signature] : meta_graph.signatures) {
        for (const auto& [name, input] : signature.inputs) {
          const Shape& shape = input.shape;
          if (shape.known_rank() && shape.rank() > 0 && shape.dim(0) >= 0) return shape.dim(0);
        }
      }
    }
    return std::nullopt;
  }

  void ReadRecords() {
    const std::optional<int64_t> fixed = FixedBatch();
    const InputContext input{.mode = Mode::kPredict,
                             .batch_size = fixed.value_or(std::min(args_.records, kBatch)),
                             .pad_last = fixed.has_value(),
                             .seed = seed_,
                             .threads = context_.threads,
                             .seeds_by_name = context_.seeds_by_name};
    const std::unique_ptr<BatchStream> stream = context_.Open(args_.input_fn, input);
    spec_ = stream->spec();
    features_ = ReadBatches(*stream, args_.records);
    if (IsRaw()) MakeListsDense();
    if (args_.serialized_input_fn) {
      const std::unique_ptr<BatchStream> requests = args_.serialized_input_fn(input);
      requests_ = requests->spec();
      examples_ = ReadBatches(*requests, args_.records);
    }
    if (features_.empty()) {
      throw Error(Code::kData, "the input to verify the export with has no examples");
    }
    for (const Batch& batch : features_) records_ += batch.examples;
  }

  // The position of a column in a stream; nullopt if the stream has none of that name.
  [[nodiscard]] static std::optional<size_t> PlaceOf(const StreamSpec& stream,
                                                     const std::string& key) {
    const auto feature = std::find_if(stream.features.begin(), stream.features.end(),
                                      [&](const TensorSpec& spec) { return spec.name == key; });
    if (feature == stream.features.end()) return std::nullopt;
    return static_cast<size_t>(feature - stream.features.begin());
  }

  // True if the export takes only features.
  [[nodiscard]] bool IsRaw() const {
    for (const MetaGraphInfo& meta_graph : model_.meta_graphs()) {
      for (const auto& [key, signature] : meta_graph.signatures) {
        for (const auto& [name, input] : signature.inputs) {
          if (!PlaceOf(spec_, name)) return false;
        }
      }
    }
    return true;
  }

  // Makes lists dense and padded for the live model, as a raw receiver does.
  void MakeListsDense() {
    spec_.lists.clear();
    for (Batch& batch : features_) batch.present.clear();
  }

  void RunLive(const SavedState& saved) {
    const BuiltModel model = BuildModel(context_.model_fn, context_.home.registry,
                                        {.mode = Mode::kPredict,
                                         .stream = spec_,
                                         .with_scaffold = true,
                                         .params = {.use_tpu = context_.options.use_tpu}});
    VariableStore variables;
    if (context_.home.backends().device.keeps_rows()) {
      variables.tables().KeepRows(KeepingOf(context_.options.embeddings));
    }
    RestoreVariables(saved, *model.graph, variables, nullptr, RestoreNames(model));
    CheckFinite(saved, *model.graph, variables);
    InitializeVariables(context_.home.backend, *model.graph, Which::kLocal, seed_, variables);
    if (model.scaffold) {
      RunLocalInit(context_.home.backend, *model.graph, *model.scaffold, variables);
    }
    std::map<std::string, Value> outputs = model.spec.predictions;
    for (const auto& [key, output] : model.spec.export_outputs) {
      const std::string path = MethodOf(output.kind) + ("/" + key + "/");
      for (const auto& [name, value] : output.outputs) outputs[path + name] = value;
    }
    Runner runner(context_, *model.graph, model.inputs, outputs, variables, seed_);
    for (const Batch& batch : features_) live_.push_back(runner.Run(InputsOf(model, batch)));
  }

  static void CheckRowsAreFinite(const SavedState& saved, const RowColumn& rows) {
    std::vector<float> values(static_cast<size_t>(rows.table->width()));
    for (const int64_t row : rows.table->WrittenRows()) {
      rows.table->Read(rows.column, {&row, 1}, values.data());
      const auto bad = std::find_if_not(values.begin(), values.end(),
                                        [](float value) { return std::isfinite(value); });
      if (bad == values.end()) continue;
      throw Error(Code::kGate,
                  fmt::format("{}: row {} of {} contains {}", saved.prefix, row,
                              rows.table->variables()[static_cast<size_t>(rows.column)].name, *bad),
                  "this model diverged: export an older checkpoint, or train again");
    }
  }

  // A model with such weights answers every request with NaN, both exported and live.
  static void CheckFinite(const SavedState& saved, const Graph& graph,
                          const VariableStore& variables) {
    for (const auto& variable : graph.variables()) {
      if (variable->local || !IsFloating(variable->dtype)) continue;
      if (const RowColumn* const rows = variables.tables().Find(variable->name)) {
        CheckRowsAreFinite(saved, *rows);
        continue;
      }
      const Tensor& value = variables.Get(variable->name);
      for (int64_t i = 0; i < value.elements(); ++i) {
        if (std::isfinite(value.AsDouble(i))) continue;
        throw Error(Code::kGate,
                    fmt::format("{}: {} contains {} at element {}", saved.prefix, variable->name,
                                value.AsDouble(i), i),
                    "this model diverged: export an older checkpoint, or train again");
      }
    }
  }

  // The live model's value of a signature's output; nullptr if it has none. "raw:predict" is
  // "predict" with other inputs, and a serving_default of the method Predict may be "predict" or
  // the predictions.
  [[nodiscard]] const Tensor* Live(size_t batch, const std::string& key, const std::string& method,
                                   const std::string& name) const {
    const std::string own = fmt::format("{}/{}/{}", method, key.substr(key.rfind(':') + 1), name);
    for (const std::string& path : {own, fmt::format("{}/predict/{}", method, name), name}) {
      const auto found = live_[batch].find(path);
      if (found != live_[batch].end()) return &found->second;
    }
    return nullptr;
  }

  // The tensors for a signature's inputs, in the order of its keys.
  [[nodiscard]] std::vector<Tensor> FeedsOf(const SignatureInfo& signature, size_t batch) const {
    std::vector<Tensor> feeds;
    for (const auto& [key, input] : signature.inputs) {
      // A request's column may have the name of the feature that is computed from it.
      const std::optional<size_t> column = PlaceOf(requests_, key);
      const std::optional<size_t> feature = PlaceOf(spec_, key);
      if (column) {
        feeds.push_back(examples_[batch].features[*column]);
      } else if (feature) {
        feeds.push_back(features_[batch].features[*feature]);
      } else if (!examples_.empty()) {
        feeds.push_back(examples_[batch].features.front());
      } else if (signature.inputs.size() == 1 && features_[batch].features.size() == 1) {
        // Classification names the only string input of a raw receiver "inputs", whatever its own
        // name is.
        feeds.push_back(features_[batch].features.front());
      } else {
        throw Error(Code::kUsage,
                    fmt::format("verify: no input provides '{}', which the signature takes", key),
                    fmt::format("add a feature '{}', or {} with tf.Examples", key, kExamples));
      }
    }
    return feeds;
  }

  void Verify(const MetaGraphInfo& meta_graph, const std::string& key,
              const SignatureInfo& signature) {
    Graph graph(context_.home.registry);
    std::map<std::string, Value> placeholders;
    std::vector<Value> inputs;
    for (const auto& [name, input] : signature.inputs) {
      inputs.push_back(graph.Placeholder(input.dtype, input.shape, NodeNameOf(name)));
      placeholders[name] = inputs.back();
    }
    const std::map<std::string, Value> outputs =
        model_.Import(meta_graph, key, placeholders, graph);
    VariableStore variables;
    InitializeVariables(context_.home.backend, graph, Which::kAll, seed_, variables);
    Runner runner(context_, graph, inputs, outputs, variables, seed_);
    int64_t first_record = 0;
    for (size_t batch = 0; batch < features_.size(); ++batch) {
      if (context_.home.stop.requested()) ThrowStopped(context_.home.stop, "the export");
      const Outputs results = runner.Run(FeedsOf(signature, batch));
      for (const auto& [name, result] : results) {
        const Tensor* const live = Live(batch, key, signature.method_name, name);
        if (live != nullptr) Compare(meta_graph, key, name, first_record, result, *live);
      }
      first_record += RowsOf(features_[batch]);
    }
  }

  void Compare(const MetaGraphInfo& meta_graph, const std::string& key, const std::string& name,
               int64_t first_record, const Tensor& exported, const Tensor& live) const {
    const std::string what = fmt::format("signature '{}' of the tags {}, output '{}'", key,
                                         Join(meta_graph.tags, ","), name);
    if (exported.dtype() != live.dtype() || exported.shape() != live.shape()) {
      throw Error(
          Code::kGate,
          fmt::format("the export differs from the model: {} is {} {}, but the model's is {} {}",
                      what, NameOf(exported.dtype()), exported.shape().Text(), NameOf(live.dtype()),
                      live.shape().Text()));
    }
    const std::optional<int64_t> at = FirstDifference(exported, live);
    if (!at) return;
    const int64_t per_row = live.shape().rank() > 0 && live.shape().dim(0) > 0
                                ? live.elements() / live.shape().dim(0)
                                : live.elements();
    throw Error(
        Code::kGate,
        fmt::format("the export differs from the model: {}, record {}: {} read back, {} "
                    "live",
                    what, first_record + *at / std::max<int64_t>(per_row, 1),
                    ElementText(exported, *at), ElementText(live, *at)),
        "unless a file has changed, this is a bug in tpuest: please report it with the job");
  }

  SavedModel model_;
  const VerifyArgs& args_;
  EstimatorContext& context_;
  const uint64_t seed_;
  StreamSpec spec_;
  StreamSpec requests_;  // columns of examples_
  std::vector<Batch> features_;
  std::vector<Batch> examples_;
  int64_t records_ = 0;
  std::vector<Outputs> live_;  // per batch, by "<name>" and "<method>/<signature>/<name>"
};

}  // namespace

VerifyResult VerifyExport(const std::string& folder, const VerifyArgs& args,
                          const SavedState& saved, uint64_t seed, EstimatorContext& context) {
  return Verifier(folder, args, saved, seed, context).Run();
}

}  // namespace tpuest
