#include "cli/commands.h"

namespace tpuest::cli {

const std::vector<Command>& Commands() {
  static const std::vector<Command> kCommands = {
      {"train", "train a job, or go on where it stopped", "tpuest train job.yaml max_steps=2000",
       Train, Takes::kJob},
      {"train-and-evaluate", "train a job, and evaluate and export after every checkpoint",
       "tpuest train-and-evaluate job.yaml", TrainAndEvaluate, Takes::kJob},
      {"evaluate", "evaluate a checkpoint", "tpuest evaluate --checkpoint runs/mnist --json",
       Evaluate, Takes::kJob},
      {"predict", "predict with a checkpoint", "tpuest predict --checkpoint runs/mnist --limit 3",
       Predict, Takes::kJob},
      {"export", "write a SavedModel for TensorFlow Serving",
       "tpuest export --api-version 2 --checkpoint runs/mnist", Export, Takes::kJob},
      {"run", "do what the job's mode says", "tpuest run job.yaml", RunJob, Takes::kJob},
      {"validate", "check a job without running it", "tpuest validate job.yaml", ValidateCommand,
       Takes::kJob},
      {"plan", "say what training a job would take: steps, shapes, parameters, FLOPs",
       "tpuest plan job.yaml --compile v5e:2x2", PlanCommand, Takes::kJob},
      {"config", "show a job: config show", "tpuest config show job.yaml --full", ConfigCommand,
       Takes::kJob},
      {"init", "write a job for a CSV file", "tpuest init --from data.csv --label price", Init,
       Takes::kNothing},
      {"convert", "write TFRecords from IDX files or drawn digits",
       "tpuest convert --images i.gz --labels l.gz --output train.tfrecord", Convert,
       Takes::kNothing},
      {"inspect", "look into a checkpoint, TFRecord or event file", "tpuest inspect runs/mnist",
       Inspect, Takes::kPath},
      {"ls", "list what there is: ls models", "tpuest ls models", List, Takes::kNothing},
      {"version", "print the version", "tpuest version --json", Version, Takes::kNothing},
  };
  return kCommands;
}

}  // namespace tpuest::cli
