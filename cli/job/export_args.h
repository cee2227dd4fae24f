#pragma once
// What a job's exports hold: receivers, assets, what is compared.

#include <map>
#include <string>

#include "cli/job/job_fwd.h"
#include "core/estimator/estimator.h"
#include "core/estimator/options/eval_spec.h"
#include "data/options.h"

namespace tpuest::cli {

// What tf.Examples hold for the model's feature columns, as parse_example would say it; nothing for
// a model without columns.
[[nodiscard]] std::map<std::string, FeatureOptions> ColumnFeatures(const Job& job);

// As the job's `export` says, but for folder, checkpoint and verifying. Error kUsage where a mode
// lacks its spec.
[[nodiscard]] ExportArgs ExportArgsOf(const Job& job);

// Of an exporter of an EvalSpec: it serves, with the job's receiver unless it has its own.
[[nodiscard]] ExportArgs ExportArgsOf(const Job& job, const ExporterOptions& exporter);

// What an export is compared on, where it serves.
[[nodiscard]] VerifyArgs VerifyArgsOf(const Job& job, int64_t records);

}  // namespace tpuest::cli
