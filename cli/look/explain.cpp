// tpuest explain RUN [--record N]: what a model has learned, and what made a prediction

#include <algorithm>
#include <cmath>

#include "cli/job/job.h"
#include "cli/look/commands.h"
#include "cli/look/explain/importance.h"
#include "cli/look/explain/record.h"
#include "cli/look/explain/weights.h"
#include "cli/look/rerun.h"
#include "cli/run/eval_report.h"
#include "cli/run/record/folder.h"
#include "cli/run/session.h"
#include "cli/run/untrained.h"
#include "cli/shell/common_flags.h"
#include "cli/shell/json.h"
#include "cli/shell/tables.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/model_dir.h"

namespace tpuest::cli {
namespace {

struct ExplainInvocation : Invocation {
  std::optional<int64_t> record;
  std::optional<std::string> name;
  int64_t repeats = 5;
  int64_t rows = 10000;
  int64_t samples = 100;
  int64_t seed = 1;
  int64_t limit = 30;
};

void Declare(FlagSet& flags, ExplainInvocation& to) {
  DeclareCheckpoint(flags, to);
  DeclareAllowOlder(flags, to);
  DeclareUntrained(flags, to);
  flags.Integer("--record", to.record, 0,
                "explain the prediction of record N of the evaluation input, counted from 0");
  flags.Text("--name", to.name, "NAME", "eval_spec to read, if there are several");
  flags.Integer("--rows", to.rows, 2,
                "number of rows to use, rounded up to whole batches; default 10000");
  flags.Integer("--repeats", to.repeats, 1, "number of times to shuffle each column; default 5");
  flags.Integer("--samples", to.samples, 1,
                "of --record: number of other rows that replace a column's value; default 100");
  flags.Integer("--seed", to.seed, 0, "seed of shuffles and samples; default 1");
  flags.Integer("--limit", to.limit, 1, "maximum lines of a table; default 30; --json prints all");
}

// The invocation of the run's own job, whose lines would be those of many evaluations.
Invocation InvocationFor(const ExplainInvocation& given) {
  Invocation invocation = given;
  invocation.quiet = !given.verbose;
  if (given.job) return invocation;
  const NamedRun run = RunOf(given);
  invocation.arguments.clear();
  invocation.job = ResolvedJobPath(run.model_dir);
  invocation.model_dir = run.model_dir;
  if (run.checkpoint) invocation.checkpoint = run.checkpoint;
  return invocation;
}

NamedEvalSpec SpecFor(const Job& job, const std::optional<std::string>& name) {
  const std::vector<NamedEvalSpec> specs = EvalSpecsOf(job);
  if (specs.empty()) {
    throw Error(Code::kUsage, "explain needs an eval_spec, whose rows it reads",
                "eval_spec: {input_fn: test, steps: null}");
  }
  if (!name) return specs.front();
  std::vector<std::string> labels;
  for (const NamedEvalSpec& spec : specs) {
    if (spec.label == *name) return spec;
    labels.push_back(spec.label);
  }
  throw Error(Code::kUsage,
              fmt::format("--name {}: eval_spec has no evaluation of this name", *name),
              fmt::format("evaluations: {}", Join(labels, ", ")));
}

// All that was found out.
struct Explanation {
  std::string label;  // of the evaluation
  int64_t rows = 0;
  Importances importances;
  std::vector<ColumnWeight> weights;
  std::vector<std::string> classes;
  std::optional<RecordReport> record;
};

std::string ChangeText(double change) { return fmt::format("{:+.3g}", change); }

// The metrics that a person reads beside the loss.
std::vector<std::string> ShownMetrics(const Importances& importances) {
  std::vector<std::string> shown = {importances.by};
  for (const char* const name :
       {"accuracy", "auc", "r2_score", "mean_absolute_error", "root_mean_squared_error"}) {
    if (shown.size() < 3 && importances.metrics.contains(name)) shown.push_back(name);
  }
  return shown;
}

// "and 12 more: --limit, or --json" where not all lines are shown.
std::string RestText(size_t all, int64_t limit) {
  const auto shown = static_cast<size_t>(limit);
  return all > shown ? fmt::format("and {} more: --limit N, --json\n", all - shown) : "";
}

std::string ImportanceText(const Explanation& of, int64_t limit) {
  const Importances& importances = of.importances;
  const std::vector<std::string> metrics = ShownMetrics(importances);
  std::vector<std::string> values;
  std::vector<std::string> head = {"column"};
  for (const std::string& metric : metrics) {
    values.push_back(fmt::format("{} {:.4g}", metric, importances.metrics.at(metric)));
    head.push_back(metric);
  }
  std::vector<std::vector<std::string>> rows = {head};
  for (const Importance& feature : importances.features) {
    if (static_cast<int64_t>(rows.size()) > limit) break;
    std::vector<std::string>& cells = rows.emplace_back();
    cells.push_back(feature.feature);
    for (const std::string& metric : metrics) {
      const Change& change = feature.changes.at(metric);
      cells.push_back(fmt::format("{} +- {:.2g}", ChangeText(change.mean), change.deviation));
    }
  }
  std::vector<bool> right(head.size(), true);
  right[0] = false;
  return fmt::format("{} rows of {} at step {}: {}\nwhat changes if a column is shuffled:\n{}{}",
                     WithCommas(of.rows), of.label, importances.evaluation.global_step,
                     Join(values, ", "), TableText(right, rows),
                     RestText(importances.features.size(), limit));
}

double LargestOf(const ColumnWeight& weight) {
  double largest = 0;
  for (const double value : weight.weights) largest = std::max(largest, std::abs(value));
  return largest;
}

std::string WeightsText(const Explanation& of, int64_t limit) {
  std::vector<ColumnWeight> weights = of.weights;
  std::erase_if(weights, [](const ColumnWeight& w) { return !w.named && LargestOf(w) == 0; });
  std::stable_sort(
      weights.begin(), weights.end(),
      [](const ColumnWeight& a, const ColumnWeight& b) { return LargestOf(a) > LargestOf(b); });
  const size_t logits = weights.front().weights.size();
  std::vector<std::string> head = {"column", "category"};
  for (size_t i = 0; i < logits; ++i) {
    head.push_back(logits == 1                   ? "weight"
                   : logits == of.classes.size() ? of.classes[i]
                                                 : std::to_string(i));
  }
  std::vector<std::vector<std::string>> rows = {head};
  for (const ColumnWeight& weight : weights) {
    if (static_cast<int64_t>(rows.size()) > limit) break;
    std::vector<std::string>& cells = rows.emplace_back();
    cells.push_back(weight.column);
    cells.push_back(weight.category);
    for (const double value : weight.weights) cells.push_back(ChangeText(value));
  }
  std::vector<bool> right(head.size(), true);
  right[0] = right[1] = false;
  const std::string toward = logits == 1 && of.classes.size() == 2
                                 ? fmt::format(", positive weights favour {}", of.classes[1])
                                 : "";
  return fmt::format("weights of the linear model, the largest first{}:\n{}{}", toward,
                     TableText(right, rows), RestText(weights.size(), limit));
}

std::string RecordText(const Explanation& of, const ExplainInvocation& invocation) {
  std::vector<std::vector<std::string>> rows = {{"column", "value", "without it", "change"}};
  for (const Contribution& feature : of.record->features) {
    if (static_cast<int64_t>(rows.size()) > invocation.limit) break;
    rows.push_back({feature.feature, feature.value, fmt::format("{:.4g}", feature.without),
                    ChangeText(feature.change)});
  }
  return fmt::format("record {} of {}: {} = {:.4g}\n{}{}", *invocation.record, of.label,
                     of.record->prediction, of.record->value,
                     TableText({false, false, true, true}, rows),
                     RestText(of.record->features.size(), invocation.limit));
}

Json RecordJson(const RecordReport& record) {
  Json features = Json::array();
  for (const Contribution& feature : record.features) {
    features.push_back({{"column", feature.feature},
                        {"value", feature.value},
                        {"without", feature.without},
                        {"change", feature.change}});
  }
  return {{"prediction", record.prediction}, {"value", record.value}, {"columns", features}};
}

Json ExplanationJson(const Explanation& of) {
  Json fields = {{"eval", of.label}, {"rows", of.rows}};
  if (of.record) {
    fields["record"] = RecordJson(*of.record);
    return fields;
  }
  Json importances = Json::array();
  for (const Importance& feature : of.importances.features) {
    Json changes = Json::object();
    for (const auto& [metric, change] : feature.changes) {
      changes[metric] = {{"mean", change.mean}, {"deviation", change.deviation}};
    }
    importances.push_back({{"column", feature.feature}, {"changes", changes}});
  }
  Json weights = Json::array();
  for (const ColumnWeight& weight : of.weights) {
    weights.push_back(
        {{"column", weight.column}, {"category", weight.category}, {"weights", weight.weights}});
  }
  fields["global_step"] = of.importances.evaluation.global_step;
  fields["metrics"] = MetricsJson(of.importances.evaluation);
  fields["importances"] = importances;
  fields["weights"] = weights;
  return fields;
}

Explanation Explain(Session& session, const ExplainInvocation& invocation) {
  const Job& job = session.job();
  const NamedEvalSpec spec = SpecFor(job, invocation.name);
  if (job.estimator.batch_axis) {
    throw Error(Code::kUsage, "explain cannot shuffle the rows of a job with batch_axis")
        .Key("batch_axis");
  }
  const std::optional<std::string> checkpoint = session.Checkpoint();
  Explanation explanation{.label = spec.label, .classes = ClassNamesOf(job)};
  KeptRows rows;
  ImportanceRequest request{.input_fn = MakeJobInputFn(job, spec.spec->input_fn),
                            .args = {.steps = spec.spec->steps,
                                     .checkpoint = checkpoint,
                                     .allow_older = session.allows_older(),
                                     .name = {},
                                     .hooks = {},
                                     .label = spec.label,
                                     .publish = false},
                            .most_rows = invocation.rows,
                            .repeats = invocation.repeats,
                            .seed = static_cast<uint64_t>(invocation.seed)};
  if (invocation.record) {
    (void)session.estimator().Evaluate(Keeping(request.input_fn, request.most_rows, rows),
                                       request.args);
    explanation.record = ExplainRecord(session.estimator(),
                                       {.checkpoint = checkpoint,
                                        .label = spec.label,
                                        .record = *invocation.record,
                                        .samples = invocation.samples,
                                        .seed = request.seed},
                                       rows);
  } else {
    explanation.importances = ImportancesOf(session.estimator(), request, rows);
    const std::string& prefix = explanation.importances.evaluation.checkpoint;
    if (!prefix.empty()) explanation.weights = LinearWeights(job, BundleReader(prefix), rows);
  }
  explanation.rows = rows.count();
  return explanation;
}

int RunExplain(const ExplainInvocation& invocation, config::Sources& sources) {
  const Invocation of_run = InvocationFor(invocation);
  Session session(of_run, sources, SessionUse::kModel);
  CheckTrained(session, of_run, "explain");
  const Explanation explanation = Explain(session, invocation);
  session.console().Clear();
  if (invocation.json) {
    PrintDocument("explain", ExplanationJson(explanation));
  } else if (explanation.record) {
    fmt::print("{}", RecordText(explanation, invocation));
  } else {
    fmt::print("{}", ImportanceText(explanation, invocation.limit));
    if (!explanation.weights.empty()) {
      fmt::print("\n{}", WeightsText(explanation, invocation.limit));
    }
  }
  return 0;
}

}  // namespace

Command ExplainCommand() {
  return MakeCommand<ExplainInvocation>(
      {.name = "explain",
       .summary = "show what a model learned: important columns, weights, one prediction",
       .examples = {"tpuest explain runs/passengers", "tpuest explain runs/passengers --record 7"},
       .takes = Takes::kRun},
      Declare, RunExplain);
}

}  // namespace tpuest::cli
