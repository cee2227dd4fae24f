#pragma once
// Flags that more than one command has.

#include "cli/shell/flag_set.h"
#include "cli/shell/invocation.h"

namespace tpuest::cli {

// The flags of every command: --model-dir, --json, --quiet, -C and the others of Invocation.
void DeclareCommonFlags(FlagSet& flags, Invocation& to);

// --checkpoint, for commands that read one.
void DeclareCheckpoint(FlagSet& flags, Invocation& to);
// --allow-older, for commands that use a run's newest checkpoint, and --untrained, for commands
// that can also work without a checkpoint.
void DeclareAllowOlder(FlagSet& flags, Invocation& to);
void DeclareUntrained(FlagSet& flags, Invocation& to);
// --fold, for commands that train on or evaluate a part of the records.
void DeclareFold(FlagSet& flags, Invocation& to);
// --process-id, --num-processes and --coordinator, for commands that can run in a group: they set
// TPUEST_PROCESS_ID, TPUEST_NUM_PROCESSES and TPUEST_COORDINATOR of this process.
void DeclareGroup(FlagSet& flags);
// --fold and those of a group, for commands that train.
void DeclareTraining(FlagSet& flags, Invocation& to);

}  // namespace tpuest::cli
