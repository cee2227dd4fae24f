// ExportSavedModel: folders, receivers, signatures, tags, verification.

#include <algorithm>

#include "core/base/process/files.h"
#include "core/estimator/export/serving.h"
#include "core/estimator/export/signatures.h"
#include "core/estimator/options/export_options.h"
#include "core/graph/read/saved_model.h"
#include "core/io/bundle.h"
#include "core/ops/elementwise.h"
#include "core/ops/lookup.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

StreamSpec RangeSpec() { return RangeInput({})({})->spec(); }

ExportArgs RawArgs(const TemporaryFolder& folder) {
  return {.export_dir_base = folder.File("export"),
          .input_receivers = {{Mode::kPredict, RawServingInputReceiverFn(RangeSpec())}}};
}

// The linear model with a change of its spec.
using Change = std::function<void(const Features& features, TPUEstimatorSpec& spec)>;
ModelFn LinearModelBut(Change change) {
  return [model = LinearModel(), change = std::move(change)](
             Graph& graph, const ModelInputs& inputs, Mode mode, const Params& params) {
    TPUEstimatorSpec spec = model(graph, inputs, mode, params);
    change(inputs.features, spec);
    return spec;
  };
}

// Trains in a model_dir up to a checkpoint of step 3.
void TrainIn(const TemporaryFolder& folder) {
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  (void)estimator.Train(RangeInput({}), {.max_steps = 3});
}

std::vector<std::string> TagsOf(const SavedModel& model) {
  std::vector<std::string> tags;
  for (const MetaGraphInfo& meta : model.meta_graphs()) {
    tags.emplace_back();
    for (const std::string& tag : meta.tags) tags.back() += tag + " ";
  }
  return tags;
}

using Strings = std::vector<std::string>;

TEST_CASE("an export has the model's variables and global_step, no slots") {
  TemporaryFolder folder;
  TrainIn(folder);
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  const ExportResult result = estimator.ExportSavedModel(RawArgs(folder));
  CHECK(result.global_step == 3);
  CHECK(DirName(result.path) == folder.File("export"));
  CHECK(BundleReader(JoinPath(result.path, "variables/variables")).Names() ==
        Strings{"dense/bias", "dense/kernel", "global_step", "noise"});
  CHECK(ListDirectory(folder.File("export")).size() == 1);  // nothing temporary is left
  const SavedModel model(result.path);
  CHECK(TagsOf(model) == Strings{"serve "});
  const SignatureInfo& signature = model.meta_graphs()[0].signatures.at("serving_default");
  CHECK(signature.method_name == "tensorflow/serving/predict");
  CHECK(signature.inputs.at("x").shape == Shape{kUnknownDim, 1});
  CHECK(signature.outputs.contains("y"));
}

TEST_CASE("export_to_tpu follows use_tpu and adds a second meta graph") {
  TemporaryFolder folder;
  TrainIn(folder);
  for (const int version : {1, 2}) {
    Home home;
    EstimatorOptions options = Options(folder.path(), 2);
    options.export_saved_model_api_version = version;
    Estimator estimator(LinearModel(), options, home.get());
    const ExportResult result = estimator.ExportSavedModel(RawArgs(folder));
    const SavedModel model(result.path);
    CHECK(TagsOf(model) == Strings{"serve ", "serve tpu "});
    const auto& output =
        model.Find({"serve", "tpu"}).signatures.at("serving_default").outputs.at("y");
    // In version 2 the model_fn decides, and this one does not call inference_on_tpu.
    CHECK((output.name == "prediction:0") == (version == 2));
    CHECK(output.name.starts_with(version == 1 ? "TPUPartitionedCall:" : "prediction"));
  }
  Home home;
  EstimatorOptions options = Options(folder.path(), 2);
  options.export_to_cpu = false;
  Estimator estimator(LinearModel(), options, home.get());
  CHECK(TagsOf(SavedModel(estimator.ExportSavedModel(RawArgs(folder)).path)) ==
        Strings{"serve tpu "});
}

TEST_CASE("one export contains all modes") {
  TemporaryFolder folder;
  TrainIn(folder);
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  ExportArgs args = RawArgs(folder);
  args.input_receivers[Mode::kTrain] = RawSupervisedInputReceiverFn(RangeSpec());
  args.input_receivers[Mode::kEval] = RawSupervisedInputReceiverFn(RangeSpec());
  const ExportResult result = estimator.ExportSavedModel(args);
  const SavedModel model(result.path);
  CHECK(TagsOf(model) == Strings{"train ", "eval ", "serve "});
  const SignatureInfo& eval = model.Find({"eval"}).signatures.at("eval");
  CHECK(eval.method_name == "tensorflow/supervised/eval");
  CHECK(eval.inputs.contains("label"));
  for (const char* const key :
       {"loss", "predictions/y", "metrics/mean_x/value", "metrics/mean_x/update_op"}) {
    CHECK(eval.outputs.contains(key));
  }
  CHECK(model.Find({"train"}).signatures.at("train").outputs.contains("loss"));
  // Training requires its slots.
  CHECK(BundleReader(JoinPath(result.path, "variables/variables")).Has("dense/bias/Momentum"));
}

TEST_CASE("an export has assets.extra and a text form") {
  TemporaryFolder folder;
  TrainIn(folder);
  WriteFileAtomically(folder.File("words"), "a\nb\n", false);
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  ExportArgs args = RawArgs(folder);
  args.as_text = true;
  args.assets_extra = {{"lists/words.txt", folder.File("words")}};
  const ExportResult result = estimator.ExportSavedModel(args);
  CHECK(ReadFile(JoinPath(result.path, "assets.extra/lists/words.txt")) == "a\nb\n");
  CHECK(FileExists(JoinPath(result.path, "saved_model.pbtxt")));
  CHECK(TagsOf(SavedModel(result.path)) == Strings{"serve "});

  args.assets_extra = {{"x", folder.File("gone")}};
  CHECK(ErrorOf([&] { estimator.ExportSavedModel(args); }).code() == Code::kData);
  args.assets_extra = {{"../x", folder.File("words")}};
  CHECK(ErrorOf([&] { estimator.ExportSavedModel(args); }).code() == Code::kUsage);
}

TEST_CASE("nothing can be exported without a trained model") {
  TemporaryFolder folder;
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  const Error error = ErrorOf([&] { estimator.ExportSavedModel(RawArgs(folder)); });
  CHECK(error.code() == Code::kCheckpoint);
  CHECK(error.message() == "Couldn't find trained model at " + folder.path() + ".");
  CHECK_FALSE(DirectoryExists(folder.File("export")));
}

TEST_CASE("two exports of one second have two folders, the later one greater") {
  TemporaryFolder folder;
  TrainIn(folder);
  Home home;
  home.clock.tick = 0;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  const std::string first = estimator.ExportSavedModel(RawArgs(folder)).path;
  const std::string second = estimator.ExportSavedModel(RawArgs(folder)).path;
  CHECK(first < second);
  CHECK(home.Logged("already exists; retrying (attempt 1/10)"));
  CHECK(ReadFile(JoinPath(first, "saved_model.pb")) ==
        ReadFile(JoinPath(second, "saved_model.pb")));
}

TEST_CASE("verification compares the export with the live model") {
  TemporaryFolder folder;
  TrainIn(folder);
  for (const int shards : {0, 2}) {
    Home home;
    Estimator estimator(LinearModel(), Options(folder.path(), shards), home.get());
    ExportArgs args = RawArgs(folder);
    args.verify = VerifyArgs{.records = 9, .input_fn = RangeInput({.repeat = 1})};
    (void)estimator.ExportSavedModel(args);
    CHECK(home.Logged(shards == 0 ? "Verified 1 signatures on 9 records"
                                  : "Verified 2 signatures on 9 records"));
  }
}

TEST_CASE("a difference refuses the export and leaves no files") {
  TemporaryFolder folder;
  TrainIn(folder);
  Home home;
  // The feature is called x in an export, and otherwise input/x, so this model differs between
  // them.
  const ModelFn moody = LinearModelBut([](const Features& features, TPUEstimatorSpec& spec) {
    if (features.at("x").node->name() == "x") {
      spec.predictions["y"] = ops::AddV2(spec.predictions["y"], spec.predictions["y"]);
    }
  });
  Estimator estimator(moody, Options(folder.path()), home.get());
  ExportArgs args = RawArgs(folder);
  args.verify = VerifyArgs{.records = 4, .input_fn = RangeInput({.repeat = 1})};
  const Error error = ErrorOf([&] { estimator.ExportSavedModel(args); });
  CHECK(error.code() == Code::kGate);
  CHECK(error.message().find("output 'y', record 0") != std::string::npos);
  CHECK_FALSE(DirectoryExists(folder.File("export")));
}

TEST_CASE("a file that a table reads is copied to assets/ and read from there") {
  TemporaryFolder folder;
  TrainIn(folder);
  WriteFileAtomically(folder.File("words"), "red\ngreen\n", false);
  Home home;
  const ModelFn with_table = LinearModelBut([&](const Features& features, TPUEstimatorSpec& spec) {
    Graph& graph = features.at("i").graph();
    const Value table = graph.Add("HashTableV2", {},
                                  {{"key_dtype", DType::kInt64}, {"value_dtype", DType::kString}});
    constexpr int64_t kLineNumber = -1;
    constexpr int64_t kWholeLine = -2;
    graph.AddNode("InitializeTableFromTextFileV2",
                  {table, graph.Constant(Tensor::Strings({}, {folder.File("words")}), "file")},
                  {{"key_index", kLineNumber}, {"value_index", kWholeLine}});
    const AfterScope after(graph);
    spec.predictions["word"] =
        ops::LookupTableFind(table, features.at("i"), Tensor::Strings({}, {"?"}));
  });
  Estimator estimator(with_table, Options(folder.path()), home.get());
  ExportArgs args = RawArgs(folder);
  args.verify = VerifyArgs{.records = 4, .input_fn = RangeInput({.repeat = 1})};
  const std::string path = estimator.ExportSavedModel(args).path;
  CHECK(ReadFile(JoinPath(path, "assets/words")) == "red\ngreen\n");
  // The export does not name the file's original path.
  CHECK(ReadFile(JoinPath(path, "saved_model.pb")).find(folder.path()) == std::string::npos);
}

TEST_CASE("an interrupted export leaves no files") {
  TemporaryFolder folder;
  TrainIn(folder);
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  ExportArgs args = RawArgs(folder);
  args.verify = VerifyArgs{.records = 4, .input_fn = RangeInput({.repeat = 1})};
  home.stop.Request(StopSignal::Kind::kInterrupted);
  const Error error = ErrorOf([&] { estimator.ExportSavedModel(args); });
  CHECK(error.code() == Code::kInterrupted);
  CHECK(error.message() == "the export was interrupted");
  CHECK_FALSE(DirectoryExists(folder.File("export")));
}

TEST_CASE("an int64 feature on the TPU is refused, with the cast to add") {
  TemporaryFolder folder;
  TrainIn(folder);
  Home home;
  const ModelFn reads_index = LinearModelBut([](const Features& features, TPUEstimatorSpec& spec) {
    spec.predictions["y"] = ops::Cast(features.at("i"), DType::kFloat, "shifted");
  });
  EstimatorOptions options = Options(folder.path());
  Estimator cpu(reads_index, options, home.get());
  (void)cpu.ExportSavedModel(RawArgs(folder));
  options.export_to_tpu = true;
  Estimator tpu(reads_index, options, home.get());
  const Error error = ErrorOf([&] { tpu.ExportSavedModel(RawArgs(folder)); });
  CHECK(error.code() == Code::kUsage);
  CHECK(error.message() ==
        "the feature \"i\" is int64, which TPUs do not support, and Cast 'shifted' reads it on the "
        "device");
  CHECK(error.faults().front().hint.find("{op: cast, in: i, dtype: int32}") != std::string::npos);
}

// ---- signatures ---------------------------------------------------------------------------------

// A spec whose export_outputs are of these kinds, and receivers of one feature.
struct Exported {
  Graph graph;
  TPUEstimatorSpec spec{.mode = Mode::kPredict};
  ServingInputReceiver parsing;
  ServingInputReceiver raw;

  Exported(const OpRegistry& registry, const std::map<std::string, ExportKind>& kinds)
      : graph(registry) {
    const Value y = graph.Placeholder(DType::kFloat, {kUnknownDim, 1}, "y");
    spec.predictions = {{"y", y}};
    for (const auto& [key, kind] : kinds) spec.export_outputs[key] = {kind, {{"y", y}}};
    parsing.receiver_tensors = {
        {"examples", graph.Placeholder(DType::kString, {kUnknownDim}, "input_example_tensor")}};
    raw.receiver_tensors = {{"x", graph.Placeholder(DType::kFloat, {kUnknownDim, 1}, "x")}};
  }
};

std::string Keys(const Signatures& signatures) {
  std::string keys;
  for (const auto& [key, signature] : signatures.included) keys += key + " ";
  for (const auto& [key, why] : signatures.excluded) keys += "-" + key + " ";
  return keys;
}

TEST_CASE("signatures follow TensorFlow's rules") {
  const Home home;
  constexpr ExportKind kPredict = ExportKind::kPredict;
  constexpr ExportKind kClassify = ExportKind::kClassification;
  SUBCASE("without export_outputs the predictions are the default") {
    const Exported e(home.registry, {});
    CHECK(Keys(ServingSignatures(e.spec, e.raw)) == "serving_default ");
  }
  SUBCASE("a single output under another key is also the default") {
    const Exported e(home.registry, {{"mine", kPredict}});
    CHECK(Keys(ServingSignatures(e.spec, e.raw)) == "mine serving_default ");
  }
  SUBCASE("several outputs without a default are refused") {
    const Exported e(home.registry, {{"a", kPredict}, {"b", kPredict}});
    const Error error = ErrorOf([&] { (void)ServingSignatures(e.spec, e.raw); });
    CHECK(error.message().starts_with("Multiple `export_outputs` were provided"));
  }
  SUBCASE("Classify takes a single string; its input is called inputs") {
    const Exported e(home.registry, {{"serving_default", kClassify}, {"predict", kPredict}});
    const Signatures parsing = ServingSignatures(e.spec, e.parsing);
    CHECK(Keys(parsing) == "predict serving_default ");
    CHECK(parsing.included.at("serving_default").inputs.contains("inputs"));
    CHECK(parsing.included.at("predict").inputs.contains("examples"));
    CHECK(parsing.note.empty());
  }
  SUBCASE("a raw receiver excludes it, and predict becomes the default") {
    const Exported e(home.registry, {{"serving_default", kClassify}, {"predict", kPredict}});
    const Signatures raw = ServingSignatures(e.spec, e.raw);
    CHECK(Keys(raw) == "predict serving_default -serving_default ");
    CHECK(raw.included.at("serving_default").method_name == "tensorflow/serving/predict");
    CHECK_FALSE(raw.note.empty());
    Home loud;
    LogSignatures(raw, loud.log);
    CHECK(loud.Logged("Signatures INCLUDED in export for Classify: None"));
    CHECK(loud.Logged("Signatures INCLUDED in export for Predict: ['predict', 'serving_default']"));
    CHECK(loud.Logged("cannot be be served via TensorFlow Serving APIs:"));
    CHECK(loud.Logged("'serving_default' : Classification input must be a single string Tensor"));
  }
  SUBCASE("other receivers have their own signatures") {
    Exported e(home.registry, {{"serving_default", kPredict}});
    e.parsing.receiver_tensors_alternatives["raw"] = e.raw.receiver_tensors;
    CHECK(Keys(ServingSignatures(e.spec, e.parsing)) == "raw:serving_default serving_default ");
  }
}

TEST_CASE("features and labels of a supervised receiver have distinct keys") {
  Home home;
  StreamSpec spec = RangeSpec();
  spec.features[0].name = "label";
  Graph graph(home.registry);
  const Error error = ErrorOf([&] { (void)RawSupervisedInputReceiverFn(spec)(graph); });
  CHECK(error.message() ==
        "Features and labels must have distinct keys. Found overlapping keys: {'label'}");
}

TEST_CASE("a supervised receiver takes the labels of each head by its name") {
  Home home;
  StreamSpec spec = RangeSpec();
  using Columns = nn::Labels<TensorSpec>;
  spec.labels =
      Columns({{"buys", {"a", DType::kInt32, {}}}, {"clicks", {"b", DType::kFloat, {1}}}});
  Graph graph(home.registry);
  const ServingInputReceiver receiver = RawSupervisedInputReceiverFn(spec)(graph);
  CHECK(receiver.labels.names() == Strings{"buys", "clicks"});
  CHECK(receiver.receiver_tensors.at("clicks") == *receiver.labels.Find("clicks"));
  CHECK(receiver.receiver_tensors.at("clicks").shape() == Shape{kUnknownDim, 1});
  CHECK(receiver.receiver_tensors.at("buys").dtype() == DType::kInt32);
  spec.labels = Columns({{"x", {"a", DType::kInt32, {}}}, {"y", {"b", DType::kFloat, {1}}}});
  Graph other(home.registry);
  CHECK(ErrorOf([&] { (void)RawSupervisedInputReceiverFn(spec)(other); }).message() ==
        "Features and labels must have distinct keys. Found overlapping keys: {'x'}");
}

TEST_CASE("invalid options of an export are refused") {
  ExportOptions options;
  CHECK(Validate(options).empty());
  CHECK(options.Modes() == std::vector<Mode>{Mode::kPredict});
  options.experimental_mode = Strings{"TRAIN", "PREDICT", "TRAIN"};
  CHECK(options.Modes() == std::vector<Mode>{Mode::kPredict, Mode::kTrain});
  options.experimental_mode = Strings{};
  CHECK(Validate(options).size() == 1);
  options.experimental_mode = "SERVE";
  options.verify = -1;
  options.batch_config = BatchConfig{.max_batch_size = 8, .allowed_batch_sizes = {4, 4, 6}};
  const std::vector<Fault> faults = Validate(options);
  REQUIRE(faults.size() == 4);
  CHECK(faults[2].message == "allowed_batch_sizes entries must be monotonically increasing");
  CHECK(faults[2].key == "export.batch_config.allowed_batch_sizes");
  CHECK(faults[3].message ==
        "final entry in allowed_batch_sizes must equal max_batch_size, 8; got 6");
}

TEST_CASE("an export without a receiver, or of variables that were not saved, is refused") {
  TemporaryFolder folder;
  TrainIn(folder);
  Home home;
  Estimator estimator(LinearModel(), Options(folder.path()), home.get());
  ExportArgs args = RawArgs(folder);
  args.input_receivers[Mode::kPredict] = {};
  CHECK(ErrorOf([&] { estimator.ExportSavedModel(args); }).message() ==
        "An input_receiver_fn must be defined.");
  args.input_receivers.clear();
  CHECK(ErrorOf([&] { estimator.ExportSavedModel(args); }).message() ==
        "No valid modes for exporting found. Got {}.");
  Estimator wider(LinearModel({.bias_size = 2}), Options(folder.path()), home.get());
  const Error error = ErrorOf([&] { wider.ExportSavedModel(RawArgs(folder)); });
  CHECK(error.code() == Code::kCheckpoint);
  CHECK(error.message().starts_with(
      "Could not load all requested variables from checkpoint. Please make sure your model_fn does "
      "not expect variables that were not saved in the checkpoint. Encountered error with mode "
      "`infer` while restoring checkpoint from: `" +
      folder.File("model.ckpt-3") + "`. "));
  CHECK_FALSE(DirectoryExists(folder.File("export")));
}

TEST_CASE("an export without signatures, or without a default, causes a warning") {
  const Home home;
  const Exported e(home.registry, {{"serving_default", ExportKind::kClassification}});
  Home loud;
  LogSignatures(ServingSignatures(e.spec, e.raw), loud.log);
  CHECK(loud.Logged("Export includes no signatures!"));
  const Exported other(home.registry, {{"serving_default", ExportKind::kClassification},
                                       {"mine", ExportKind::kPredict}});
  Home second;
  LogSignatures(ServingSignatures(other.spec, other.raw), second.log);
  CHECK(second.Logged("Export includes no default signature!"));
}

}  // namespace
}  // namespace tpuest
