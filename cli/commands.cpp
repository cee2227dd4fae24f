#include "cli/commands.h"

namespace tpuest::cli {

const std::vector<Command>& Commands() {
  static const std::vector<Command> kCommands = {
      {"train", "train a job, or go on where it stopped", "tpuest train job.yaml max_steps=2000",
       Train},
      {"evaluate", "evaluate a checkpoint", "tpuest evaluate --checkpoint runs/mnist --json",
       Evaluate},
      {"predict", "predict with a checkpoint", "tpuest predict --checkpoint runs/mnist --limit 3",
       Predict},
      {"run", "do what the job's mode says", "tpuest run job.yaml", RunJob},
      {"validate", "check a job without running it", "tpuest validate job.yaml", ValidateCommand},
      {"config", "show a job: config show", "tpuest config show job.yaml --full", ConfigCommand},
      {"convert", "write TFRecords from IDX files or drawn digits",
       "tpuest convert --images i.gz --labels l.gz --output train.tfrecord", Convert},
      {"inspect", "look into a checkpoint, TFRecord or event file", "tpuest inspect runs/mnist",
       Inspect},
      {"ls", "list what there is: ls models", "tpuest ls models", List},
      {"version", "print the version", "tpuest version --json", Version},
  };
  return kCommands;
}

}  // namespace tpuest::cli
