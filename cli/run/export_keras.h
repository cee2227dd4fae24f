#pragma once
// tpuest export --format keras: a model of layers as a .keras archive.

#include <optional>

#include "cli/run/commands.h"
#include "cli/run/session.h"

namespace tpuest::cli {

// Writes <export_dir_base>/model-<step>.keras, with the values of the checkpoint, and prints its
// path, with --json a document {path, global_step, checkpoint, layers, parameters}. Returns exit
// code 0. Error kUsage, before anything is written, for a model that is no list of layers, for a
// layer that Keras has not and for an output that is none of the layers; kCheckpoint where there is
// no checkpoint.
int ExportKeras(Session& session, const ExportInvocation& invocation);

}  // namespace tpuest::cli
