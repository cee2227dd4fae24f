// The `tpuest` section of a job sets the same estimator options for every command.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <set>
#include <string>
#include <vector>

#include "cli/job/job.h"
#include "config/reflect.h"

namespace tpuest::cli {
namespace {

constexpr std::string_view kPlainJob = R"(version: 1
train_batch_size: 8
input_fns:
  train:
    source: {type: make_csv_dataset, file_pattern: t.csv, label_name: y, column_defaults: [0.0, 0.0]}
model: {type: BaselineRegressor}
optimizer: {type: GradientDescentOptimizer, learning_rate: 0.1}
train_spec: {input_fn: train, steps: 10}
run_config: {model_dir: run}
)";

// Keys of `tpuest` that set no option of the estimator, by their reader.
const std::set<std::string, std::less<>> kOfOthers = {
    // the command
    "resume", "preemption", "deadlines", "cluster",
    // its home
    "fsync", "device", "staging_bytes", "matmul_precision", "deterministic_ops", "cpu_isa",
    // the model and its input
    "remat", "data_errors", "fold"};
// model and input

std::string TextOf(const config::Value& value) {
  using Kind = config::Type::Kind;
  switch (value.type->kind) {
    case Kind::kInteger:
      return value.type->integer_text(value.at);
    case Kind::kString:
      return *static_cast<const std::string*>(value.at);
    case Kind::kOptional: {
      const std::vector<config::Item> items = config::ItemsOf(value);
      return items.empty() ? "null" : TextOf(items.front().value);
    }
    default:
      FAIL("a kind that this test has no value for");
      return "";
  }
}

Job JobWith(const std::string& override) {
  config::Sources sources;
  config::Layers layers;
  layers.overrides = {{override}};
  return ParseJobText(kPlainJob, "job.yaml", layers, sources).job;
}

// Sets each key of a section to another value than its default; `of` finds the section.
template <class Of>
void CheckSection(const std::string& path, const Of& of) {
  Job usual = JobWith("train_batch_size=8");
  for (const config::Member& member : config::MembersOf(of(usual))) {
    const std::string value =
        std::string(member.field.values.empty() ? "7" : member.field.values.back());
    const std::string override = fmt::format("{}.{}={}", path, member.name, value);
    CAPTURE(override);
    Job job = JobWith(override);
    for (const config::Member& set : config::MembersOf(of(job))) {
      if (set.name == member.name) CHECK(TextOf(set.value) == value);
    }
  }
}

}  // namespace

TEST_CASE("every key of tpuest that configures the estimator reaches its options") {
  CheckSection("tpuest.embeddings",
               [](Job& job) { return config::ValueOf(job.estimator.embeddings); });
  CheckSection("tpuest.on_nan", [](Job& job) { return config::ValueOf(job.estimator.on_nan); });
  CHECK(JobWith("tpuest.uneven_batches=pad").estimator.uneven_batches == "pad");
  const std::set<std::string, std::less<>> estimators = {"embeddings", "on_nan", "uneven_batches"};
  for (const config::TypeMember& member : config::TypeMembersOf(*config::TypeOf<TpuestOptions>())) {
    CAPTURE(member.name);
    CHECK(kOfOthers.contains(member.name) != estimators.contains(member.name));
  }
}

}  // namespace tpuest::cli
