// The small languages of strings: periods, numbers, literals, tensors' names, gates, distributions,
// folds, patterns of names, CSV's numbers, formulas. The first byte selects one.

#include "core/base/text.h"

#include <array>
#include <cmath>

#include "cli/job/fold.h"
#include "cli/job/lines.h"
#include "cli/many/sweep/draws.h"
#include "cli/run/eval_gates.h"
#include "config/formula/expression.h"
#include "config/scalars.h"
#include "config/yaml_reader.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/estimator/options/iterations_per_loop.h"
#include "core/graph/tensor_name.h"
#include "core/io/checkpoint_state.h"
#include "core/nn/formula/formula.h"
#include "core/nn/name_patterns.h"
#include "core/ops/all_ops.h"
#include "data/csv/columns.h"
#include "data/examples/parse_example_text.h"
#include "data/fold_options.h"
#include "data/literal.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

void Periods(std::string_view text) {
  if (const auto period = ParsePeriod(text)) {
    Check(ParsePeriod(PeriodText(*period)) == period, "'{}' is another period", text);
  }
  (void)ParseIterationsPerLoop(std::string(text));
}

void Numbers(std::string_view text) {
  (void)config::ParseInteger(text);
  const auto number = config::ParseNumber(text);
  if (number && std::isfinite(*number)) {
    Check(config::ParseNumber(NumberText(*number)) == number, "'{}' is another number", text);
  }
  (void)config::NumberHint(text);
  (void)config::BoolHint(text);
}

// A string that is written as YAML is the same string after reading.
void Strings(std::string_view text) {
  const std::string source = "key: " + config::StringText(text) + "\n";
  config::Sources sources;
  Faults faults;
  const config::Node root = config::ParseYaml(source, "text.yaml", {}, sources, faults);
  const config::Node* const value = root.Find("key");
  Check(faults.empty() && value != nullptr && value->text == text, "'{}' is written as '{}'", text,
        source);
}

void Literals(std::string_view text) {
  const data::Literal literal = data::ParseLiteral(Raw{std::string(text)}, "key");
  for (const DType dtype :
       {DType::kString, DType::kInt64, DType::kInt32, DType::kFloat, DType::kBool}) {
    Takes([&] { (void)literal.As(dtype, "key"); });
  }
  (void)literal.Infer("key");
}

void Names(std::string_view text) {
  const TensorName name = ParseTensorName(text);
  (void)TensorText(name.node, name.index);
  (void)IsNameInRun(text);
  (void)StepOfCheckpoint(text);
  (void)CheckpointPrefix(std::string(text));
  (void)data::YamlKey(std::string(text));
  (void)cli::Word(std::string(text));
  (void)Nearest(text, {"learning_rate", "train_batch_size", "model_dir"});
}

void Gates(std::string_view text) {
  const cli::EvalGate gate = cli::ParseEvalGate(std::string(text));
  (void)cli::FailedGates({gate}, {{"accuracy", 0.5}, {"loss", 1.0}});
}

void Draws(std::string_view text) {
  const cli::Distribution distribution = cli::ParseDistribution(text);
  for (int64_t trial = 0; trial < 3; ++trial) {
    const std::string value = cli::DrawValue(distribution, 7, trial);
    if (distribution.name == "choice") continue;
    const std::optional<double> number = config::ParseNumber(value);
    Check(number && std::isfinite(*number), "'{}' was drawn of {}", value, text);
  }
}

void Folds(std::string_view text) { (void)cli::FoldFolder(cli::ParseFold(std::string(text))); }

void Patterns(std::string_view text) {
  (void)nn::NamePatterns({std::string(text)}).Match("dense/kernel");
}

void CsvNumbers(std::string_view text) {
  for (const DType dtype : {DType::kInt32, DType::kInt64, DType::kFloat, DType::kDouble}) {
    uint64_t bits = 0;
    (void)data::ParseCsvNumber(text, dtype, bits);
    (void)data::InferCsvType(text, "NA", dtype);
  }
}

void FlowValues(std::string_view text) {
  constexpr std::string_view kKey = "key=";
  const std::string argument = std::string(kKey) + std::string(text);
  (void)config::ParseFlowValue(argument, kKey.size(), {"command line", 1, 1}, {});
}

// A formula over parameters, and over tensors of a batch and of an example.
void Formulas(std::string_view text) {
  try {
    (void)config::Evaluate(text, {{"x", {int64_t{3}}}, {"r", {0.5}}, {"s", {std::string("ab")}}});
  } catch (const config::FormulaError& error) {
    Check(!error.message.empty() && error.message.size() < 4096, "a message says nothing");
  }
  static const OpRegistry registry(ops::AllOps());
  for (const bool rows : {false, true}) {
    Graph graph(registry);
    const nn::FormulaNames names{.values = {{"x", graph.Placeholder(DType::kFloat, {2, 3}, "x")},
                                            {"n", graph.Placeholder(DType::kInt32, {2}, "n")},
                                            {"s", graph.Placeholder(DType::kString, {2}, "s")}},
                                 .rows = rows};
    Takes([&] { (void)nn::BuildFormula(graph, {std::string(text)}, names); });
  }
}

constexpr std::array kLanguages = {Periods, Numbers,  Strings,    Literals,   Names, Gates,
                                   Draws,   Patterns, CsvNumbers, FlowValues, Folds, Formulas};

}  // namespace

void RunText(std::string_view input) {
  const size_t language = TakeChoice(input) % kLanguages.size();
  kLanguages[language](input);
}

}  // namespace tpuest::fuzz
