#include "cli/prepare/convert_keras.h"

#include "cli/job/job.h"
#include "cli/prepare/migrate/keras_job.h"
#include "cli/shell/json.h"
#include "cli/shell/output_file.h"
#include "core/base/text.h"
#include "core/estimator/step/model/model_builder.h"
#include "core/io/bundle.h"
#include "core/nn/global_step.h"
#include "core/ops/all_ops.h"

namespace tpuest::cli {
namespace {

// Returns the model's inputs as columns of a batch. Error kData if the file does not give their
// shapes.
StreamSpec InputsOf(const KerasFile& file, const KerasJob& model) {
  StreamSpec stream;
  for (const KerasInput& input : model.inputs) {
    std::vector<int64_t> sides;
    for (const int64_t side : input.shape) {
      // If a network takes images of any size, its weights do not depend on the size.
      constexpr int64_t kAnySide = 224;
      sides.push_back(side < 0 ? kAnySide : side);
    }
    const DType dtype = input.dtype == "string"          ? DType::kString
                        : input.dtype.starts_with("int") ? DType::kInt64
                                                         : DType::kFloat;
    stream.features.push_back(
        {.name = input.name, .dtype = dtype, .shape = Shape(std::move(sides))});
  }
  if (stream.features.empty()) {
    throw Error(Code::kData, fmt::format("{}: the model has no input shape", file.name()),
                "build the model, then save it");
  }
  std::sort(stream.features.begin(), stream.features.end(),
            [](const TensorSpec& a, const TensorSpec& b) { return a.name < b.name; });
  return stream;
}

// Errors of the job are reported as errors of the file, because the user never sees the job.
LoadedJob JobOf(const KerasFile& file, const std::string& text, const std::string& path) {
  config::Sources sources;
  try {
    return ParseJobText(text, path, {}, sources);
  } catch (const Error& error) {
    const Fault& first = error.faults().front();
    throw Error(Code::kData, file.config_place() + ": " + first.message, first.hint);
  }
}

std::vector<NamedTensor> WeightsOf(const KerasFile& file, const KerasConversion& conversion) {
  const KerasJob model = KerasJobOf(file);
  const std::string path = conversion.output + ".yaml";
  const MigratedJob written =
      WriteKerasJob({.file = conversion.file, .name = "keras", .path = path}, file, model);
  const LoadedJob loaded = JobOf(file, written.text, path);
  const OpRegistry registry(ops::AllOps());
  const StreamSpec stream = InputsOf(file, model);
  const BuiltModel built =
      BuildModel(MakeModelFnForShapes(loaded.job), registry,
                 {.mode = Mode::kPredict, .stream = stream, .rows = 1, .with_scaffold = true});
  if (!built.scaffold || !built.scaffold->init_fn) {
    throw Error(Code::kData, fmt::format("{} has no weights", file.name()),
                "save the model with its weights: model.save(\"model.keras\")");
  }
  std::vector<NamedTensor> tensors;
  for (auto& [name, value] : built.scaffold->init_fn()) tensors.push_back({name, value});
  tensors.push_back({std::string(nn::kGlobalStepName), Tensor::Scalar<int64_t>(0)});
  return tensors;
}

}  // namespace

int ConvertKeras(const KerasConversion& conversion) {
  CheckNewFile(BundleIndexPath(conversion.output), conversion.force);
  const KerasFile file = KerasFile::Open(conversion.file);
  const std::vector<NamedTensor> tensors = WeightsOf(file, conversion);
  int64_t parameters = -1;  // global_step is not counted
  for (const NamedTensor& tensor : tensors) parameters += tensor.tensor.shape().elements();
  const auto variables = static_cast<int64_t>(tensors.size()) - 1;
  if (!conversion.dry_run) WriteBundle(conversion.output, tensors);
  if (conversion.json) {
    PrintDocument(
        "convert",
        {{"path", conversion.output}, {"variables", variables}, {"parameters", parameters}});
  } else {
    fmt::print("{}: {} variables, {} parameters\n", conversion.output, variables,
               WithCommas(parameters));
  }
  return 0;
}

}  // namespace tpuest::cli
