#pragma once
// tpuest verify checks a SavedModel.

#include <string>

#include "cli/look/verify.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

// Compares what an export of a run gives with what the model gives with the checkpoint that it was
// made of, or, where that is gone, with the export's own variables. Prints the result on stdout;
// with --json {kind: "saved_model", path, checkpoint, signatures, records, same}. Returns exit code
// 0; Error kGate (8) where they differ, kUsage where the folder lies in no run.
int VerifyExportOf(const VerifyInvocation& invocation, const std::string& folder,
                   config::Sources& sources);

}  // namespace tpuest::cli
