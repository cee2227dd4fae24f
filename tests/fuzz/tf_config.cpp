// The environment's TF_CONFIG, for each command that reads it.

#include "cli/run/tf_config.h"

#include "cli/shell/invocation.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {

void RunTfConfig(std::string_view input) {
  const cli::TfConfig config = cli::ParseTfConfig(std::string(input));
  for (const char* const command : {"train", "train-and-evaluate", "evaluate"}) {
    cli::Invocation invocation;
    invocation.command = command;
    Takes([&] { cli::CheckTask(config, invocation); });
  }
}

}  // namespace tpuest::fuzz
