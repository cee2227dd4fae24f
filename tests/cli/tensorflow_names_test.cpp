// Each TensorFlow name that a job lacks is answered at its place.

#include "cli/job/tensorflow_names.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "cli/job/job.h"
#include "config/diagnostics.h"
#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

using config::OtherKey;
using config::OtherType;

constexpr std::string_view kSmallJob =
    "version: 1\n"
    "input_fns: {train: {source: {type: digits, count: 9}, features: [image], labels: label}}\n"
    "model: {type: Sequential, layers: [{type: dense, units: 10}], head: {type: MultiClassHead, "
    "n_classes: 10}}\n"
    "optimizer: {type: AdamOptimizer}\n"
    "train_spec: {input_fn: train, max_steps: 1}\n"
    "eval_spec: {only: {input_fn: train}}\n";

// The path of a section of a type in the job, by the end of the type's name.
const std::map<std::string, std::string, std::less<>> kPlacesOfTypes = {
    {"Classifier", "model={}"},
    {"Regressor", "model={}"},
    {"Estimator", "model={}"},
    {"Head", "model.head={}"},
    {"_column", "feature_columns={{c: {}}}"},
    {"_columns", "feature_columns={{c: {}}}"},
    {"vocabulary_file", "feature_columns={{c: {}}}"},
    {"Optimizer", "optimizer={}"},
    {"SGD", "model={{type: DNNClassifier, optimizer: {}}}"},
    {"Adam", "model={{type: DNNClassifier, optimizer: {}}}"},
    {"Adagrad", "model={{type: DNNClassifier, optimizer: {}}}"},
    {"RMSprop", "model={{type: DNNClassifier, optimizer: {}}}"},
    {"Ftrl", "model={{type: DNNClassifier, optimizer: {}}}"},
    {"_decay", "optimizer={{type: AdamOptimizer, learning_rate: {}}}"},
    {"_constant", "optimizer={{type: AdamOptimizer, learning_rate: {}}}"},
    {"_restarts", "optimizer={{type: AdamOptimizer, learning_rate: {}}}"},
    {"TFRecordDataset", "input_fns.train.source={}"},
    {"TextLineDataset", "input_fns.train.source={}"},
    {"FixedLengthRecordDataset", "input_fns.train.source={}"},
    {"make_csv_dataset", "input_fns.train.source={}"},
    {"Exporter", "eval_spec.only.exporters=[{}]"},
    {"Hook", "train_spec.hooks=[{}]"},
    {"Feature", "input_fns.train.parse_example={{x: {}}}"},
};

// The override that writes the key into a section, given as a key path or as the name of a type.
std::string OverrideOf(const std::string& section, std::string_view key) {
  if (section == "eval_spec") return fmt::format("eval_spec={{input_fn: train, {}: 1}}", key);
  for (const auto& [ending, place] : kPlacesOfTypes) {
    if (!section.ends_with(ending)) continue;
    const std::string value = fmt::format("{{type: {}, {}: 1}}", section, key);
    return fmt::format(fmt::runtime(place), value);
  }
  std::string path;
  for (const std::string& step : Split(section, '.')) {
    if (!step.empty()) path += (step == "*" ? "only" : step) + ".";
  }
  return fmt::format("{}{}=1", path, key);
}

struct Answer {
  std::vector<std::string> messages;
  std::vector<std::string> hints;
  std::vector<std::string> notes;
};

// `line` is an additional line of the job.
Answer AnswerTo(const std::string& override, const std::string& line = "") {
  config::Sources sources;
  config::Layers layers;
  if (!override.empty()) layers.overrides = {{override}};
  try {
    const std::string text = std::string(kSmallJob) + line;
    const LoadedJob loaded = ParseJobText(text, "job.yaml", layers, sources);
    return {{}, {}, loaded.tree.notes};
  } catch (const Error& error) {
    Answer answer;
    for (const Fault& fault : error.faults()) {
      answer.messages.push_back(fault.message);
      answer.hints.push_back(fault.hint);
    }
    return answer;
  }
}

bool Holds(const std::vector<std::string>& texts, std::string_view text) {
  return std::any_of(texts.begin(), texts.end(), [&](const std::string& found) {
    return found.find(text) != std::string::npos;
  });
}

TEST_CASE("each argument of TensorFlow that is not a key is answered") {
  for (const OtherKey& other : TensorFlowNames().keys) {
    for (const std::string& section : Split(other.sections, ' ')) {
      const std::string override = OverrideOf(section, other.key);
      CAPTURE(override);
      // An override may name a key by only its end: model_dir.
      const Answer answer =
          section.empty() ? AnswerTo("", std::string(other.key) + ": 1\n") : AnswerTo(override);
      // A section with only this key may lack required keys; then the note is not shown, but the
      // key is not reported as unknown either.
      CHECK(Holds(answer.hints, other.answer) == !other.is_accepted);
      const std::string unknown = fmt::format("unknown key '{}'", other.key);
      CHECK(Holds(answer.messages, unknown) == !other.is_accepted);
      if (section.starts_with("run_config")) {
        CHECK(Holds(answer.notes, other.answer) == other.is_accepted);
      }
    }
  }
}

TEST_CASE("an accepted argument is ignored with a note") {
  const Answer answer = AnswerTo("optimizer={type: AdamOptimizer, use_locking: true}");
  CHECK(answer.notes ==
        std::vector<std::string>{
            "optimizer.use_locking is ignored: updates of a variable never run concurrently"});
  CHECK(AnswerTo("run_config.session_config={allow_soft_placement: true}").notes ==
        std::vector<std::string>{"run_config.session_config.allow_soft_placement is ignored: not "
                                 "needed: every op runs on the device of the step"});
}

TEST_CASE("an argument without a request passes silently") {
  for (const std::string override :
       {"run_config={master: ''}", "run_config={evaluation_master: null}",
        "optimizer={type: AdamOptimizer, use_locking: null}"}) {
    CAPTURE(override);
    const Answer answer = AnswerTo(override);
    CHECK_FALSE(Holds(answer.hints, "selects a TPU"));
    CHECK_FALSE(Holds(answer.hints, "evaluate in a separate process"));
    CHECK(answer.notes.empty());
  }
  CHECK(Holds(AnswerTo("run_config={master: local}").hints, "--device tpu selects a TPU"));
}

TEST_CASE("each class of TensorFlow that is not a type is answered") {
  for (const OtherType& other : TensorFlowNames().types) {
    const std::string name(other.name);
    CAPTURE(name);
    std::string override = "input_fns.train.parse_example={x: {type: " + name + "}}";
    if (name.ends_with("Hook")) override = "train_spec.hooks=[{type: " + name + "}]";
    if (other.answer.starts_with("train_spec.hooks")) {
      override = "predict.hooks=[{type: " + name + "}]";
    }
    if (name.ends_with("Dataset")) override = "input_fns.train.source={type: " + name + "}";
    if (name.ends_with("Optimizer")) override = "optimizer={type: " + name + "}";
    if (name == "Adadelta" || name == "Adamax" || name == "Nadam") {
      override = "model={type: DNNClassifier, optimizer: {type: " + name + "}}";
    }
    if (name.ends_with("decay"))
      override = "optimizer={type: AdamOptimizer, learning_rate: {type: " + name + "}}";
    CHECK(Holds(AnswerTo(override).hints, other.answer));
  }
}

TEST_CASE("the manual has all of them") {
  const std::string page = ReadFile(SOURCE_ROOT "/docs/tensorflow.md");
  std::string table;
  for (const OtherKey& other : TensorFlowNames().keys) {
    std::string sections;
    for (const std::string& section : Split(other.sections, ' ')) {
      if (!sections.empty()) sections += ", ";
      sections += section.empty() ? "the top level" : "`" + section + "`";
    }
    table += fmt::format("| `{}` | {} | {}{} |\n", other.key, sections,
                         other.is_accepted ? "ignored: " : "", other.answer);
  }
  for (const OtherType& other : TensorFlowNames().types) {
    table += fmt::format("| `{}` | | {} |\n", other.name, other.answer);
  }
  const bool listed = page.find(table) != std::string::npos;
  if (!listed) MESSAGE("docs/tensorflow.md lacks this table:\n" << table);
  CHECK(listed);
}

}  // namespace
}  // namespace tpuest::cli
