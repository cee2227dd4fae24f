#pragma once
// The flags of the commands, and what each writes into the invocation.

#include <string_view>

#include "cli/invocation.h"

namespace CLI {
class App;
}

namespace tpuest::cli {

// `app` reads flags into `to`, which outlives it. Its errors (CLI::ParseError) say what a flag
// expects and what it found.
void AddFlags(CLI::App& app, std::string_view command, Invocation& to);

}  // namespace tpuest::cli
