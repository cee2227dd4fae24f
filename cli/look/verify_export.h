#pragma once
// tpuest verify of a SavedModel.

#include <string>

#include "cli/look/verify.h"
#include "config/diagnostics.h"

namespace tpuest::cli {

// Compares what an export of a run gives with what the model gives with the checkpoint that it was
// made of, or with the export's own variables where that is gone. With --json {kind: "saved_model",
// path, checkpoint, signatures, records, same}. Error kGate where they differ.
int VerifyExportOf(const VerifyInvocation& invocation, const std::string& folder,
                   config::Sources& sources);

}  // namespace tpuest::cli
