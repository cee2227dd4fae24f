#include "cli/prepare/migrate/keras_job.h"

#include <filesystem>

#include "config/scalars.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

class KerasJobWriter {
 public:
  KerasJobWriter(const KerasSource& source, const KerasFile& file, const KerasJob& model)
      : source_(source), file_(file), model_(model) {}

  MigratedJob Run() {
    Line(fmt::format("# The model of {}. Parts that the file lacks are marked ???.",
                     std::filesystem::path(source_.file).filename().string()));
    Line("version: 1");
    Line("name: " + config::StringText(source_.name));
    Line("mode: train");
    Line("use_tpu: false");
    Unknown("the batch size", "");
    Line("train_batch_size: 32");
    Line("");
    Line("run_config:");
    Line("  model_dir: " + config::StringText("runs/" + source_.name));
    Line("  checkpoint_format: checkpoint");
    InputSection();
    Line("");
    Line("model:");
    Line("  type: Functional");
    if (file_.has_weights()) Line("  weights: " + config::StringText(WeightsPath()));
    job_.text += KerasYaml(model_.model, 2);
    HeadSection();
    Line("");
    Unknown("how far to train", "");
    Line("train_spec: {input_fn: train, max_steps: 1000}");
    return std::move(job_);
  }

 private:
  void Line(const std::string& text) { job_.text += text + "\n"; }
  void Unknown(const std::string& what, const std::string& indent) {
    job_.unknown.push_back(what);
    Line(fmt::format("{}# ??? {}", indent, what));
  }

  // The file as the job names it: from the job's folder, or whole where that takes steps up.
  [[nodiscard]] std::string WeightsPath() const {
    namespace fs = std::filesystem;
    const fs::path folder = fs::absolute(source_.path).parent_path();
    const fs::path file = fs::absolute(source_.file).lexically_normal();
    const std::string beside = file.lexically_relative(folder.lexically_normal()).string();
    return beside.empty() || beside.starts_with("..") ? file.string() : beside;
  }

  [[nodiscard]] static std::string ShapeText(const std::vector<int64_t>& shape) {
    std::vector<std::string> sides;
    for (const int64_t side : shape) sides.push_back(fmt::format("{}", side < 0 ? 1 : side));
    return "[" + Join(sides, ", ") + "]";
  }

  void InputSection() {
    Line("");
    Line("input_fns:");
    Line("  train:");
    Unknown("where the records are, and their names there", "    ");
    Line("    source: {type: TFRecordDataset, filenames: [train.tfrecord]}");
    Line("    parse_example:");
    std::vector<std::string> features;
    for (const KerasInput& input : model_.inputs) {
      const bool is_plain = input.dtype == "float32" || input.dtype == "string";
      const std::string dtype = is_plain ? input.dtype : "int64";
      Line(fmt::format("      {}: {{type: FixedLenFeature, shape: {}, dtype: {}}}",
                       config::StringText(input.name), ShapeText(input.shape), dtype));
      features.push_back(config::StringText(input.name));
    }
    if (features.empty()) {
      Unknown("the feature and its shape", "      ");
      Line("      x: {type: FixedLenFeature, shape: [1], dtype: float32}");
    }
    std::vector<std::string> labels;
    for (const std::string& output : model_.outputs) {
      const std::string label = model_.outputs.size() == 1 ? "label" : output + "_label";
      Unknown("the label's shape", "      ");
      Line(fmt::format("      {}: {{type: FixedLenFeature, shape: [], dtype: {}}}",
                       config::StringText(label), LabelDtype(output)));
      labels.push_back(model_.outputs.size() == 1
                           ? config::StringText(label)
                           : config::StringText(output) + ": " + config::StringText(label));
    }
    if (!features.empty()) Line("    features: [" + Join(features, ", ") + "]");
    const std::string all = Join(labels, ", ");
    Line("    labels: " + (labels.size() == 1 ? all : "{" + all + "}"));
    Line("    shuffle: {buffer_size: full}");
    Line("    repeat: -1");
  }

  [[nodiscard]] std::string LabelDtype(const std::string& output) const {
    if (model_.head.is_null()) return "float32";
    for (const KerasJson& one : model_.head.at("outputs")) {
      if (one.at("name") != output || !one.contains("loss")) continue;
      return one.at("loss").get<std::string>().starts_with("sparse_") ? "int64" : "float32";
    }
    return "float32";
  }

  void HeadSection() {
    for (const Fault& fault : model_.head_faults) Unknown(fault.message, "  ");
    for (const Fault& fault : model_.optimizer_faults) Unknown(fault.message, "  ");
    if (model_.head.is_null()) {
      Unknown("the loss: the model was not compiled", "  ");
      KerasJson outputs = KerasJson::array();
      for (const std::string& output : model_.outputs) {
        outputs.push_back({{"name", output}, {"loss", "mse"}});
      }
      Line("  head:");
      job_.text += KerasYaml({{"type", "compile"}, {"outputs", outputs}}, 4);
    } else {
      Line("  head:");
      job_.text += KerasYaml(model_.head, 4);
    }
    if (model_.optimizer.is_null()) {
      Unknown("the optimizer", "  ");
      Line("  optimizer: {type: Adam}");
    } else {
      Line("  optimizer:");
      job_.text += KerasYaml(model_.optimizer, 4);
    }
  }

  const KerasSource& source_;
  const KerasFile& file_;
  const KerasJob& model_;
  MigratedJob job_;
};

}  // namespace

MigratedJob WriteKerasJob(const KerasSource& source, const KerasFile& file, const KerasJob& model) {
  return KerasJobWriter(source, file, model).Run();
}

}  // namespace tpuest::cli
