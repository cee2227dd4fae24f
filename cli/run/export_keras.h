#pragma once
// tpuest export --format keras: a model of layers as a .keras archive.

#include <optional>

#include "cli/run/commands.h"
#include "cli/run/session.h"

namespace tpuest::cli {

// Writes <export_dir_base>/model-<step>.keras with the values of the checkpoint and prints its
// path, or with --json a document {path, global_step, checkpoint, layers, parameters}. Returns exit
// code 0. Before anything is written it throws Error kUsage for a model that is not made of layers,
// for a layer that Keras does not have and for an output that is not a layer, and kCheckpoint if no
// checkpoint exists.
int ExportKeras(Session& session, const ExportInvocation& invocation);

}  // namespace tpuest::cli
