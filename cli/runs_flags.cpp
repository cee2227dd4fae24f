// Flags of the commands about many runs.

#include "cli/flag_kinds.h"
#include "cli/flags.h"

namespace tpuest::cli {
namespace {

// A flag that may be given again; each takes one word.
void AddRepeated(CLI::App& app, const std::string& flag, std::vector<std::string>& to,
                 const std::string& shown, const std::string& help) {
  app.add_option(flag, to, help)->allow_extra_args(false)->option_text(shown);
}

void AddMetricFlags(CLI::App& app, SweepFlags& to) {
  AddText(app, "--metric", to.metric, "NAME",
          "what the best trial is best in: accuracy, EVAL/accuracy, train/loss");
  AddChoice<std::optional<std::string>>(app, "--mode", to.mode, {{"min", "min"}, {"max", "max"}},
                                        "whether the smaller or the larger is better");
}

}  // namespace

void AddAverageFlags(CLI::App& app, Invocation& to) {
  AddInteger(app, "--last", to.average.last, 2, "the last so many checkpoints of one run");
  AddText(app, "--output", to.output, "DIR|PREFIX",
          "a folder that gets a checkpoint, its state file and the job; or a prefix, DIR/x.ckpt");
}

void AddCompareFlags(CLI::App& app, Invocation& to) {
  AddSwitch(app, "--folds", to.folds,
            "the runs are folds of one job (or all in one folder): mean and spread of each metric");
}

void AddPlotFlags(CLI::App& app, Invocation& to) {
  AddRepeated(app, "--metric", to.plot.metrics, "NAME",
              "a plot of this: train/loss, accuracy, EVAL/accuracy; again for another");
  AddChoice<bool>(app, "--x", to.plot.over_time, {{"step", false}, {"time", true}},
                  "global steps, or seconds since the run's first event");
  AddSwitch(app, "--log-y", to.plot.log_y, "a logarithmic y axis");
  AddText(app, "--output", to.output, "FILE.svg", "an SVG file; without it characters on stdout");
}

void AddSweepFlags(CLI::App& app, Invocation& to) {
  SweepFlags& sweep = to.sweep;
  AddRepeated(app, "--grid", sweep.grid, "KEY=V1,V2,...",
              "a trial for each value; of several grids, for each combination");
  AddRepeated(app, "--random", sweep.random, "KEY=DIST",
              "a draw for each trial: uniform(a,b), loguniform(a,b), randint(a,b), choice(a,b,...) "
              "or normal(mean,stddev)");
  AddInteger(app, "--trials", sweep.trials, 1, "draws for each combination of the grids");
  AddInteger(app, "--seed", sweep.seed, 0, "of the draws");
  AddInteger(app, "--jobs", sweep.jobs, 1,
             "trials at a time, which share --threads; 1 unless said");
  AddText(app, "--out", sweep.out, "DIR", "the sweep's folder: DIR/trial_000 is a run");
  AddText(app, "--index", sweep.index, "N|auto",
          "sweep run: this trial; auto: the array task's index (Slurm, Kubernetes, PBS, AWS Batch, "
          "Grid Engine, LSF)");
  AddMetricFlags(app, sweep);
}

}  // namespace tpuest::cli
