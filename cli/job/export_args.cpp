#include "cli/job/export_args.h"

#include <algorithm>
#include <map>
#include <set>

#include "cli/job/job.h"
#include "core/base/text.h"
#include "core/estimator/export/serving.h"
#include "core/estimator/options/export_options.h"
#include "data/pipeline/image_receiver.h"
#include "data/pipeline/input_fn.h"
#include "data/pipeline/optional_features.h"
#include "data/pipeline/serving.h"

namespace tpuest::cli {
namespace {

StreamSpec SpecOf(const Job& job, const std::string& input_fn, Mode mode) {
  // A batch among the stages of an input has the size of training.
  const int64_t batch_size = mode == Mode::kTrain ? job.estimator.train_batch_size.value_or(1) : 1;
  return MakeJobInputFn(job, input_fn)({.mode = mode, .batch_size = batch_size})->spec();
}

// The features that an input gives as lists, and the number of values per example of the other
// features if it is known. Only parse_example makes lists.
struct Widths {
  std::set<std::string> lists;
  std::map<std::string, int64_t> dense;
};
Widths WidthsOf(const data::InputFnOptions& input, const std::string& name) {
  Widths widths;
  const auto spec = data::KnownSpec(input, name);
  if (!spec) return widths;
  widths.lists = {spec->lists.begin(), spec->lists.end()};
  for (const TensorSpec& feature : spec->features) {
    if (feature.shape.fully_known()) widths.dense[feature.name] = feature.shape.elements();
  }
  return widths;
}

// Returns a number or a list of numbers as YAML flow text.
std::string FlowText(const nn::NumberOrList& value) {
  if (const auto* const number = std::get_if<double>(&value)) return NumberText(*number);
  std::vector<std::string> texts;
  for (const double number : std::get<std::vector<double>>(value)) {
    texts.push_back(NumberText(number));
  }
  return fmt::format("[{}]", Join(texts, ", "));
}

// Returns the features of a request for an input with a window: the model's features, because no
// single record makes a window.
std::map<std::string, data::FeatureOptions> WindowFeatures(const Job& job,
                                                           const std::string& input_fn) {
  std::map<std::string, data::FeatureOptions> features;
  const std::vector<data::StageOptions>& stages = job.input_fns.at(input_fn).stages;
  const auto window = std::find_if(stages.begin(), stages.end(),
                                   [](const data::StageOptions& stage) { return stage.window; });
  if (window == stages.end()) return features;
  for (const TensorSpec& feature : SpecOf(job, input_fn, Mode::kPredict).features) {
    const DType dtype = feature.dtype;
    if (dtype != DType::kFloat && dtype != DType::kInt64 && dtype != DType::kString) {
      throw Error(Code::kUsage,
                  fmt::format("\"{}\" is {}: a request for an input with a window is a tf.Example "
                              "of the model's features, which can only be float32, int64 or string",
                              feature.name, NameOf(dtype)),
                  "cast it after the window, or serving_input_receiver_fn: {type: "
                  "build_raw_serving_input_receiver_fn}")
          .Key(fmt::format("input_fns.{}.stages[{}]", input_fn, window - stages.begin()));
    }
    features[feature.name] =
        data::FixedLenFeature{.shape = feature.shape.dims(), .dtype = std::string(NameOf(dtype))};
  }
  return features;
}

// Lets requests omit the features that the input's records may omit, with the same default values.
// If the records are tf.Examples, requests have the same form, and also take the types and shapes
// of the input.
void TakeDefaults(const data::InputFnOptions& input, const std::string& input_fn,
                  std::map<std::string, data::FeatureOptions>& features) {
  for (auto& [name, optional] : data::OptionalFeatures(input, input_fn)) {
    const auto found = features.find(name);
    if (found == features.end()) continue;
    data::FixedLenFeature feature = optional;
    if (input.parse_example.empty()) {
      if (const auto* const fixed = std::get_if<data::FixedLenFeature>(&found->second)) {
        feature.shape = fixed->shape;
      }
      feature.dtype = std::visit([](const auto& f) { return f.dtype; }, found->second);
    }
    // The default of a string feature must be a string.
    if ((feature.dtype == "string") != (optional.dtype == "string")) continue;
    found->second = std::move(feature);
  }
}

// Returns the features that a parsing receiver reads; empty if it reads the input's columns.
std::map<std::string, data::FeatureOptions> RequestedFeatures(const Job& job,
                                                              const std::string& input_fn) {
  std::map<std::string, data::FeatureOptions> features = ColumnFeatures(job);
  if (features.empty()) return WindowFeatures(job, input_fn);
  TakeDefaults(job.input_fns.at(input_fn), input_fn, features);
  return features;
}

// Returns the given receiver, or the one by the job's rule. Only the rule derives the contents of
// tf.Examples, on which columns may disagree.
AnyReceiver ReceiverFor(const Job& job, const std::optional<AnyReceiver>& given) {
  if (given) return *given;
  const bool parses =
      !ColumnFeatures(job).empty() || data::Parses(job.input_fns.at(ServedInput(job)));
  return parses ? AnyReceiver(ParsingReceiver()) : AnyReceiver(RawReceiver());
}

// Returns the receiver for serving: the given one; otherwise one that parses tf.Examples if columns
// or the input do; otherwise one that takes the features unchanged.
ServingInputReceiverFn ServingReceiver(const Job& job, const std::optional<AnyReceiver>& given) {
  const std::string input_fn = ServedInput(job);
  const data::InputFnOptions& input = job.input_fns.at(input_fn);
  const AnyReceiver receiver = ReceiverFor(job, given);
  const std::optional<int64_t> batch_size =
      std::visit([](const ReceiverOptions& r) { return r.default_batch_size; }, receiver);
  if (const auto* const raw = std::get_if<RawReceiver>(&receiver)) {
    if (raw->with_map) return data::RawColumnsReceiverFn(input, input_fn, batch_size);
    return RawServingInputReceiverFn(SpecOf(job, input_fn, Mode::kPredict), batch_size);
  }
  if (const auto* const image = std::get_if<ImageBytesReceiver>(&receiver)) {
    return data::ImageBytesReceiverFn(input, input_fn, image->interpolation, batch_size);
  }
  const std::map<std::string, data::FeatureOptions> columns = RequestedFeatures(job, input_fn);
  const Widths widths = WidthsOf(input, input_fn);
  ServingInputReceiverFn parsing =
      columns.empty() ? data::ParsingServingInputReceiverFn(input, input_fn, batch_size)
                      : data::ParsingServingInputReceiverFn(columns, "feature_columns",
                                                            widths.lists, widths.dense, batch_size);
  return std::holds_alternative<BothReceivers>(receiver) ? WithRawAlternative(std::move(parsing))
                                                         : parsing;
}

ServingInputReceiverFn SupervisedReceiver(const Job& job, Mode mode) {
  const bool trains = mode == Mode::kTrain;
  if (trains ? !job.train_spec : !job.eval_spec) {
    throw Error(Code::kUsage,
                fmt::format("exporting mode {} needs {}", trains ? "TRAIN" : "EVAL",
                            trains ? "a train_spec" : "an eval_spec"),
                "add it: its input_fn gives the features of the exported graph")
        .Key("export.experimental_mode");
  }
  return RawSupervisedInputReceiverFn(
      SpecOf(job, trains ? job.train_spec->input_fn : EvalSpecsOf(job)[0].spec->input_fn, mode));
}

// Returns the receiver of an exporter; nullopt means the job's rule, a bare word the parsing
// receiver.
std::optional<AnyReceiver> ReceiverOf(const Job& job, const ExporterReceiver& given) {
  if (std::holds_alternative<std::string>(given)) {
    return job.export_options.serving_input_receiver_fn;
  }
  return std::visit(
      [](const auto& receiver) -> AnyReceiver {
        if constexpr (std::is_same_v<std::decay_t<decltype(receiver)>, std::string>) {
          return ParsingReceiver();
        } else {
          return receiver;
        }
      },
      given);
}

}  // namespace

std::map<std::string, data::FeatureOptions> ColumnFeatures(const Job& job) {
  std::map<std::string, data::FeatureOptions> features;
  const auto spec = models::ParseSpecOf(job.model, job.feature_columns);
  if (!spec) return features;
  for (const auto& [key, feature] : *spec) {
    const std::string dtype(NameOf(feature.dtype));
    if (!feature.shape) {
      features[key] = data::VarLenFeature{.dtype = dtype};
      continue;
    }
    data::FixedLenFeature fixed{.shape = feature.shape->dims(), .dtype = dtype};
    if (feature.default_value) fixed.default_value = Raw{FlowText(*feature.default_value)};
    features[key] = std::move(fixed);
  }
  return features;
}

ExportArgs ExportArgsOf(const Job& job) {
  const ExportOptions& options = job.export_options;
  ExportArgs args{.assets_extra = options.assets_extra,
                  .as_text = options.as_text,
                  .strip_default_attrs = options.strip_default_attrs,
                  .batch_config = options.batch_config};
  for (const Mode mode : options.Modes()) {
    args.input_receivers[mode] = mode == Mode::kPredict
                                     ? ServingReceiver(job, options.serving_input_receiver_fn)
                                     : SupervisedReceiver(job, mode);
  }
  return args;
}

ExportArgs ExportArgsOf(const Job& job, const ExporterOptions& exporter) {
  const ExportOptions& options = job.export_options;
  ExportArgs args{.assets_extra = exporter.assets_extra,
                  .as_text = exporter.as_text,
                  .strip_default_attrs = options.strip_default_attrs,
                  .batch_config = options.batch_config};
  args.input_receivers[Mode::kPredict] =
      ServingReceiver(job, ReceiverOf(job, exporter.serving_input_receiver_fn));
  return args;
}

VerifyArgs VerifyArgsOf(const Job& job, int64_t records) {
  const std::string input = ServedInput(job);
  const auto& receiver = job.export_options.serving_input_receiver_fn;
  if (receiver && std::holds_alternative<ImageBytesReceiver>(*receiver)) {
    InputFn files = data::ImageFilesInputFn(job.input_fns.at(input), input);
    if (!files) {
      throw Error(Code::kUsage,
                  "--verify sends the source's images as PNG files, which hold only uint8",
                  "leave --verify out, or verify an export of features: "
                  "serving_input_receiver_fn: {type: build_raw_serving_input_receiver_fn}")
          .Key("export.serving_input_receiver_fn");
    }
    return {.records = records,
            .input_fn = MakeJobInputFn(job, input),
            .serialized_input_fn = std::move(files)};
  }
  const data::InputFnOptions& options = job.input_fns.at(input);
  if (receiver && std::holds_alternative<RawReceiver>(*receiver) &&
      std::get<RawReceiver>(*receiver).with_map) {
    return {.records = records,
            .input_fn = MakeJobInputFn(job, input),
            .serialized_input_fn = data::RawColumnsInputFn(options, input)};
  }
  InputFn features = MakeJobInputFn(job, input);
  if (std::holds_alternative<RawReceiver>(ReceiverFor(job, receiver))) {
    return {.records = records, .input_fn = std::move(features)};  // requests are the features
  }
  const std::map<std::string, data::FeatureOptions> columns = RequestedFeatures(job, input);
  // A receiver of columns runs no map steps: a request holds their results.
  const bool computes = !options.map.empty() || !options.stages.empty();
  InputFn examples;
  if (!columns.empty()) {
    examples = computes ? data::FeaturesAsExamples(features, columns)
                        : data::SerializedInputFn(options, input, columns);
  } else {
    std::map<std::string, data::FeatureOptions> optional;
    for (const auto& [name, feature] : data::OptionalFeatures(options, input))
      optional[name] = feature;
    examples = data::SerializedInputFn(options, input, optional);
  }
  return {.records = records,
          .input_fn = std::move(features),
          .serialized_input_fn = std::move(examples)};
}

}  // namespace tpuest::cli
