// Lists of strings from TFRecords to a trained model; the lengths of the lists differ between
// batches.

#include <cmath>

#include "core/backend/cpu/program.h"
#include "core/estimator/estimator.h"
#include "core/estimator/export/serving.h"
#include "core/nn/global_step.h"
#include "core/ops/all_ops.h"
#include "core/ops/array.h"
#include "core/ops/collective.h"
#include "core/ops/elementwise.h"
#include "core/ops/reduction.h"
#include "core/ops/state.h"
#include "core/ops/strings.h"
#include "core/ops/training.h"
#include "data/pipeline/serving.h"
#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

const std::vector<std::vector<std::string_view>> kRows = {
    {"red", "green", "blue"}, {},     {"green"}, {"red"}, {"blue"}, {"red", "blue"},
    {"green", "green"},       {"red"}};

// The same lists with empty words.
const std::vector<std::vector<std::string_view>> kEmptyWords = {
    {"red", "", "blue"}, {}, {""}, {"red"}, {"blue"}, {"red", "blue"}, {"", ""}, {"red"}};

// Writes records with the words and their number.
InputFnOptions WriteWords(const std::string& path,
                          const std::vector<std::vector<std::string_view>>& rows) {
  RecordWriter writer(path, Compression::kNone, false);
  ExampleWriter example;
  for (const std::vector<std::string_view>& words : rows) {
    example.Bytes("words", words);
    example.Floats("count", std::vector<float>{static_cast<float>(words.size())});
    writer.Write(example.Finish());
  }
  writer.Close();
  InputFnOptions options = ValuesOf({path});
  VarLenFeature words;
  words.dtype = "string";
  options.parse_example = {{"words", words}, {"count", Fixed({}, "float32")}};
  options.labels = "count";
  return options;
}

Node* Descend(Graph& graph, Value loss, const Variable& variable, int replicas) {
  const std::vector<Value> trained = {variable.value};
  Value gradient = ToDense(Gradients(loss, trained)[0]);
  if (replicas > 1) gradient = ops::CrossReplicaSum(ops::RealDiv(gradient, replicas), replicas);
  Node* const update =
      ops::ResourceApplyGradientDescent(variable.handle, graph.Scalar<float>(0.2F), gradient);
  const Variable* const step = nn::GetOrCreateGlobalStep(graph);
  return ops::NoOp(graph,
                   {update, ops::AssignAddVariableOp(step->handle, graph.Scalar<int64_t>(1))});
}

// The sum of one weight per existing word; squared error.
TPUEstimatorSpec CountWords(Graph& graph, const ModelInputs& inputs, Mode mode,
                            const Params& params) {
  const Value words = inputs.features.at("words");
  CHECK(words.shape().dim(1) == kUnknownDim);
  const Value present = inputs.present.at("words");
  const Value ids =
      ops::SelectV2(present, ops::StringToHashBucketFast(words, 50), graph.Scalar<int64_t>(0));
  const Variable* const weights =
      graph.AddVariable("weights", DType::kFloat, {50}, ops::Zeros(graph, DType::kFloat, {50}));
  const Value each =
      ops::SelectV2(present, ops::GatherV2(weights->value, ids), graph.Scalar<float>(0));
  const Value count = ops::Sum(each, {1});
  TPUEstimatorSpec spec{.mode = mode};
  spec.predictions["count"] = count;
  spec.export_outputs["serving_default"] = {.outputs = {{"count", count}}};
  if (mode == Mode::kPredict) return spec;
  spec.loss = ops::Mean(ops::SquaredDifference(count, inputs.labels.only()));
  if (mode == Mode::kTrain) spec.train_op = Descend(graph, spec.loss, *weights, params.replicas);
  return spec;
}

EstimatorOptions Options(const std::string& model_dir, int shards) {
  EstimatorOptions options;
  options.use_tpu = shards > 0;
  options.train_batch_size = 2;
  options.eval_batch_size = 2;
  options.predict_batch_size = 3;
  options.run_config.model_dir = model_dir;
  options.run_config.tf_random_seed = 7;
  options.run_config.session_config.intra_op_parallelism_threads = 1;
  options.run_config.tpu_config.iterations_per_loop = 10;
  if (shards > 0) {
    options.predict_batch_size = 4;
    options.run_config.tpu_config.num_shards = shards;
  }
  return options;
}

using Wrap = ServingInputReceiverFn (*)(ServingInputReceiverFn receiver);

// `signatures` are those of an export with a receiver from `wrap`.
void LearnsToCount(int shards, const std::vector<std::vector<std::string_view>>& rows, Wrap wrap,
                   int64_t signatures) {
  const TemporaryFolder folder;
  InputFnOptions records = WriteWords(folder.File("words"), rows);
  InputFnOptions endless = records;
  endless.repeat = -1;
  records.repeat = 1;
  const OpRegistry registry(ops::AllOps());
  const auto backend = MakeCpuBackend();
  Log log;
  const SystemClock clock;
  const StopSignal stop;
  Estimator estimator(CountWords, Options(folder.File("run"), shards),
                      {.registry = registry,
                       .backend = *backend,
                       .log = log,
                       .clock = clock,
                       .stop = stop,
                       .fsync = false});
  (void)estimator.Train(MakeInputFn(endless, "train"), {.max_steps = 200});
  const EvaluateResult evaluated = estimator.Evaluate(MakeInputFn(records, "train"));
  CHECK(evaluated.examples == 8);
  CHECK(evaluated.metrics.at("loss").AsDouble(0) < 1e-4);
  std::vector<double> counts;
  (void)estimator.Predict(MakeInputFn(records, "train"), {}, [&](const PredictionRow& row) {
    counts.push_back(row.values.at("count").AsDouble(0));
    return true;
  });
  REQUIRE(counts.size() == rows.size());
  for (size_t i = 0; i < counts.size(); ++i) {
    CHECK(std::abs(counts[i] - static_cast<double>(rows[i].size())) < 0.03);
  }
  // Read from its files, every signature gives the model's results.
  const VerifyArgs verify{.records = 8,
                          .input_fn = MakeInputFn(records, "train"),
                          .serialized_input_fn = SerializedInputFn(records, "train")};
  const ExportResult exported = estimator.ExportSavedModel(
      {.export_dir_base = folder.File("export"),
       .input_receivers = {{Mode::kPredict, wrap(ParsingServingInputReceiverFn(records, "train"))}},
       .verify = verify});
  CHECK(static_cast<int64_t>(exported.signatures.size()) ==
        (shards > 0 ? 2 * signatures : signatures));
}

}  // namespace

TEST_CASE("a model of lists trains, evaluates and predicts, whatever the length of a batch's") {
  SUBCASE("on one replica") { LearnsToCount(0, kRows, WithRawAlternative, 2); }
  SUBCASE("on two") { LearnsToCount(2, kRows, WithRawAlternative, 2); }
}

TEST_CASE("an empty word of a list is a word, also in a parsing export") {
  const Wrap alone = [](ServingInputReceiverFn receiver) { return receiver; };
  SUBCASE("on one replica") { LearnsToCount(0, kEmptyWords, alone, 1); }
  SUBCASE("on two") { LearnsToCount(2, kEmptyWords, alone, 1); }
}

}  // namespace tpuest::data
