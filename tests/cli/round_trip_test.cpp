// The graphs of the jobs in configs/, written as GraphDefs and read back.

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "cli/job/job.h"
#include "core/base/process/files.h"
#include "core/estimator/step/model/model_builder.h"
#include "core/graph/write/graphdef.h"
#include "core/ops/all_ops.h"
#include "data/pipeline/input_fn.h"

namespace tpuest::cli {
namespace {

// The arguments for which a job's train, eval and predict graphs are built.
struct BuiltFor {
  Mode mode;
  std::string input_fn;
};

std::vector<BuiltFor> ModesOf(const Job& job) {
  std::vector<BuiltFor> modes;
  if (job.train_spec) modes.push_back({Mode::kTrain, job.train_spec->input_fn});
  if (job.eval_spec) {
    const std::string& input_fn = EvalSpecsOf(job)[0].spec->input_fn;
    modes.push_back({Mode::kEval, input_fn});
    modes.push_back({Mode::kPredict, job.predict.input_fn.value_or(input_fn)});
  }
  return modes;
}

// The input's columns; those of a table are known only when it is opened.
StreamSpec SpecOf(const Job& job, const BuiltFor& built_for) {
  const std::string& name = built_for.input_fn;
  const data::InputFnOptions& options = job.input_fns.at(name);
  if (auto known = data::KnownSpec(options, name)) return *std::move(known);
  return data::MakeInputFn(options, name)({.mode = built_for.mode, .batch_size = 16})->spec();
}

BuiltModel Build(const Job& job, const OpRegistry& registry, const BuiltFor& built_for) {
  const bool use_tpu = job.estimator.use_tpu;
  return BuildModel(
      models::MakeModelFn(job.model, {.optimizer = job.optimizer,
                                      .steps_per_epoch = 100.0,
                                      .feature_columns = job.feature_columns,
                                      .embedding_config_spec = job.embedding_config_spec}),
      registry,
      {.mode = built_for.mode,
       .stream = SpecOf(job, built_for),
       .params = {.batch_size = 16, .use_tpu = use_tpu, .replicas = use_tpu ? 8 : 1}});
}

std::map<std::string, std::string> VariablesOf(const Graph& graph) {
  std::map<std::string, std::string> variables;
  for (const auto& variable : graph.variables()) {
    variables[variable->name] =
        fmt::format("{} {} {} {}", NameOf(variable->dtype), variable->shape.Text(),
                    variable->handle.name(), variable->value.name());
  }
  return variables;
}

// Some training graphs contain tpuest's own ops, which no file may contain.
bool HasOwnOps(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const auto& node) { return node->type().starts_with('_'); });
}

TEST_CASE("a graph of each job goes to GraphDef and back unchanged") {
  const OpRegistry registry(ops::AllOps());
  const std::vector<std::string> jobs = Glob(SOURCE_ROOT "/configs/*.yaml");
  REQUIRE_FALSE(jobs.empty());
  for (const std::string& path : jobs) {
    config::Sources sources;
    const Job job = LoadJobFile(path, {}, sources).job;
    const std::vector<BuiltFor> modes = ModesOf(job);
    CHECK_FALSE(modes.empty());
    for (const BuiltFor& built_for : modes) {
      INFO(path, " ", ModeName(built_for.mode));
      const BuiltModel model = Build(job, registry, built_for);
      if (HasOwnOps(*model.graph)) continue;
      const std::string bytes = ToGraphDef(*model.graph);
      Graph back(registry);
      FromGraphDef(bytes, back);
      CHECK(back.nodes().size() == model.graph->nodes().size());
      CHECK(ToGraphDef(back) == bytes);
      CHECK(VariablesOf(back) == VariablesOf(*model.graph));
    }
  }
}

}  // namespace
}  // namespace tpuest::cli
