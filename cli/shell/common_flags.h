#pragma once
// Flags that more than one command has.

#include "cli/shell/flag_set.h"
#include "cli/shell/invocation.h"

namespace tpuest::cli {

// The flags of every command: --model-dir, --json, --quiet, -C and the others of Invocation.
void DeclareCommonFlags(FlagSet& flags, Invocation& to);

// --checkpoint, for commands that read one.
void DeclareCheckpoint(FlagSet& flags, Invocation& to);
// --fold, for commands that train on or evaluate a part of the records.
void DeclareFold(FlagSet& flags, Invocation& to);

}  // namespace tpuest::cli
