#include "cli/commands.h"

#include "cli/flags.h"

namespace tpuest::cli {

const std::vector<Command>& Commands() {
  static const std::vector<Command> kCommands = {
      {"train", "train a job, or go on where it stopped", "tpuest train job.yaml max_steps=2000",
       Train, Takes::kJob, AddTrainFlags},
      {"train-and-evaluate", "train a job, and evaluate and export after every checkpoint",
       "tpuest train-and-evaluate job.yaml", TrainAndEvaluate, Takes::kJob, AddTrainFlags},
      {"evaluate", "evaluate a checkpoint", "tpuest evaluate --checkpoint runs/mnist --json",
       Evaluate, Takes::kJob, AddEvaluateFlags},
      {"predict", "predict with a checkpoint", "tpuest predict --checkpoint runs/mnist --limit 3",
       Predict, Takes::kJob, AddPredictFlags},
      {"export", "write a SavedModel for TensorFlow Serving",
       "tpuest export --api-version 2 --checkpoint runs/mnist", Export, Takes::kJob,
       AddExportFlags},
      {"run", "do what the job's mode says", "tpuest run job.yaml", RunJob, Takes::kJob,
       AddRunJobFlags},
      {"validate", "check a job without running it", "tpuest validate job.yaml", ValidateCommand,
       Takes::kJob},
      {"plan", "say what training a job would take: steps, shapes, parameters, FLOPs",
       "tpuest plan job.yaml --compile v5e:2x2", PlanCommand, Takes::kJob, AddPlanFlags},
      {"config",
       "show a job, compare two, print the schema: config show|diff|schema",
       "tpuest config show job.yaml --full",
       ConfigCommand,
       Takes::kJob,
       AddConfigFlags,
       {"show", {"diff", Takes::kPaths}, {"schema", Takes::kNothing}},
       true},
      {"sweep",
       "train a job with many values of its keys; sweep expand|run|status|best",
       "tpuest sweep job.yaml --grid learning_rate=0.1,0.01 --jobs 2 --out runs/rates",
       Sweep,
       Takes::kJob,
       AddSweepFlags,
       {"expand", "run", "status", "best"}},
      {"plot", "draw curves of runs, here or as SVG",
       "tpuest plot runs/a runs/b --metric loss --output loss.svg", Plot, Takes::kPaths,
       AddPlotFlags},
      {"average", "write the mean of several checkpoints",
       "tpuest average --last 3 runs/mnist --output runs/mnist_average", Average, Takes::kPaths,
       AddAverageFlags},
      {"compare", "say where runs differ: keys, results, the first losses and parameters",
       "tpuest compare runs/a runs/b", Compare, Takes::kPaths, AddCompareFlags},
      {"init", "write a job to start from, or one for a CSV file",
       "tpuest init --from data.csv --label price", Init, Takes::kPath, AddInitFlags},
      {"convert", "write TFRecords from IDX files or drawn digits",
       "tpuest convert --images i.gz --labels l.gz --output train.tfrecord", Convert,
       Takes::kNothing, AddConvertFlags},
      {"inspect", "look into a checkpoint, SavedModel, TFRecord or event file",
       "tpuest inspect runs/mnist", Inspect, Takes::kPath, AddInspectFlags},
      {"ls",
       "list models, recipes, or the runs in a folder",
       "tpuest ls runs/",
       List,
       Takes::kPath,
       nullptr,
       {"models", "recipes"}},
      {"cp", "write a recipe down, with the data that it needs",
       "tpuest cp passengers_linear passengers.yaml", CopyRecipe, Takes::kPaths, AddCopyFlags},
      {"completion",
       "print a shell's completion script: completion bash|zsh|fish",
       "source <(tpuest completion bash)",
       Completion,
       Takes::kNothing,
       nullptr,
       {"bash", "zsh", "fish"},
       true},
      {"bench",
       "measure where the time of training goes: bench step|input",
       "tpuest bench step job.yaml",
       BenchCommand,
       Takes::kJob,
       AddBenchFlags,
       {"step", "input"},
       true},
      {"migrate", "write the job that goes on with the folder of TensorFlow's Estimator",
       "tpuest migrate old/model_dir --output job.yaml", Migrate, Takes::kPath, AddMigrateFlags},
      {"doctor", "say what there is for tpuest here, and what is in its way; for bug reports",
       "tpuest doctor job.yaml", Doctor, Takes::kJob},
      {"version", "print the version", "tpuest version --json", Version, Takes::kNothing},
  };
  return kCommands;
}

const Command* FindCommand(std::string_view name) {
  for (const Command& command : Commands()) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

}  // namespace tpuest::cli
