#pragma once
// The contents of a job's exports: receivers, assets, and the inputs of their verification.

#include <map>
#include <string>

#include "cli/job/job_fwd.h"
#include "core/estimator/estimator.h"
#include "core/estimator/options/eval_spec.h"
#include "data/options.h"

namespace tpuest::cli {

// Returns the features of a tf.Example that the model's columns read, as options of parse_example;
// empty for a model without columns.
[[nodiscard]] std::map<std::string, data::FeatureOptions> ColumnFeatures(const Job& job);

// Returns the arguments of the job's `export` except folder, checkpoint and verification. Opens the
// input if its shapes are needed. Error kUsage if a mode lacks its train_spec or eval_spec.
[[nodiscard]] ExportArgs ExportArgsOf(const Job& job);

// Returns the arguments of an EvalSpec's exporter: it exports predictions, with the job's receiver
// unless it has its own.
[[nodiscard]] ExportArgs ExportArgsOf(const Job& job, const ExporterOptions& exporter);

// Returns the inputs of an export's verification: `records` rows of the served input. Error kUsage
// if the job names no such input.
[[nodiscard]] VerifyArgs VerifyArgsOf(const Job& job, int64_t records);

}  // namespace tpuest::cli
