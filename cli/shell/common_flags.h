#pragma once
// Flags of more than one command.

#include "cli/shell/flag_set.h"
#include "cli/shell/invocation.h"

namespace tpuest::cli {

// Of every command.
void DeclareCommonFlags(FlagSet& flags, Invocation& to);

// --checkpoint, of what reads one.
void DeclareCheckpoint(FlagSet& flags, Invocation& to);
// --fold, of what trains or evaluates a part of the records.
void DeclareFold(FlagSet& flags, Invocation& to);

}  // namespace tpuest::cli
