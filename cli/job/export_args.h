#pragma once
// The contents of a job's exports: receivers, assets, and the inputs that they are compared on.

#include <map>
#include <string>

#include "cli/job/job_fwd.h"
#include "core/estimator/estimator.h"
#include "core/estimator/options/eval_spec.h"
#include "data/options.h"

namespace tpuest::cli {

// The features of a tf.Example that the model's columns read, in the words of parse_example; empty
// for a model without columns.
[[nodiscard]] std::map<std::string, data::FeatureOptions> ColumnFeatures(const Job& job);

// The arguments of the job's `export`, but for folder, checkpoint and verifying. Opens the input
// for its shapes where they are needed. Error kUsage where a mode lacks its train_spec or
// eval_spec.
[[nodiscard]] ExportArgs ExportArgsOf(const Job& job);

// The arguments of an EvalSpec's exporter: it serves predictions, with the job's receiver unless it
// has its own.
[[nodiscard]] ExportArgs ExportArgsOf(const Job& job, const ExporterOptions& exporter);

// The inputs that an export for serving is compared on: `records` rows of the served input. Error
// kUsage where the job names no such input.
[[nodiscard]] VerifyArgs VerifyArgsOf(const Job& job, int64_t records);

}  // namespace tpuest::cli
