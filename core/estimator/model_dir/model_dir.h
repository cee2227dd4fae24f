#pragma once
// Every name below a model_dir; no other code makes one:
//
//   checkpoint, best               state files (core/io/checkpoint_state.h): the newest, the best
//   model.ckpt-<step>.*            checkpoints; .index and .data-* are core/io/bundle.h's
//   graph.pbtxt                    the training graph
//   events.out.tfevents.*          core/io/events; the same in
//   eval/, eval_<name>/            an evaluation's events
//   export/<exporter>/<seconds>/   SavedModels (core/io/saved_model_folder.h)
//   .tpuest/                       what TensorFlow does not have: metrics.jsonl, evaluated.json,
//                                  bad_records.tsv, removing, run.json, log.txt, the job, the
//                                  lock, heartbeat.json, rendezvous, shared
//
// Functions return paths that begin with the given model_dir; they read nothing from disk unless
// their comment says so.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tpuest {

// ---- checkpoints --------------------------------------------------------------------------------

// The state file of keep_best, for ReadCheckpointState.
inline constexpr std::string_view kBestState = "best";

// <model_dir>/model.ckpt, to which a dash and the step are appended.
[[nodiscard]] std::string CheckpointBase(const std::string& model_dir);
// The prefix <model_dir>/model.ckpt-<step>.
[[nodiscard]] std::string CheckpointAt(const std::string& model_dir, int64_t step);
// Returns the prefixes, by step, of the folder's checkpoints "model.ckpt-N" whose index exists;
// reads the folder. Empty if it does not exist.
[[nodiscard]] std::map<int64_t, std::string> CheckpointsIn(const std::string& model_dir);
// The training graph, graph.pbtxt.
[[nodiscard]] std::string GraphPath(const std::string& model_dir);
// Whether the name of a file in model_dir is that of a checkpoint's part, complete or being
// written.
[[nodiscard]] bool IsCheckpointFile(std::string_view name);
// Whether it is the name of a state file or of the graph, possibly followed by a dot and a suffix.
[[nodiscard]] bool IsStateFile(std::string_view name);

// ---- evaluations and exports --------------------------------------------------------------------

// The folder of an evaluation's events: EvalFolderName below model_dir.
[[nodiscard]] std::string EvalDir(const std::string& model_dir, std::string_view name);
// The folder of exports without an exporter.
[[nodiscard]] std::string ExportDir(const std::string& model_dir);
// The folder of one exporter of eval_spec.
[[nodiscard]] std::string ExporterDir(const std::string& model_dir, std::string_view exporter);
// Whether a folder has the name of ExportDir.
[[nodiscard]] bool IsExportDir(std::string_view folder_name);

// ---- .tpuest ------------------------------------------------------------------------------------

[[nodiscard]] std::string PrivateDir(const std::string& model_dir);
// One line of JSON per logged step and per evaluation (MetricsLog).
[[nodiscard]] std::string MetricsPath(const std::string& model_dir);
// The step up to which evaluations and exports are complete.
[[nodiscard]] std::string SettledStepPath(const std::string& model_dir);
// The skipped records: file, line, reason.
[[nodiscard]] std::string BadRecordsPath(const std::string& model_dir);
// The command line of the run, and how it ended.
[[nodiscard]] std::string RunJsonPath(const std::string& model_dir);
// The run's log, log.txt.
[[nodiscard]] std::string LogPath(const std::string& model_dir);
// The job as it was written, and the job with all defaults filled in, which evaluate and predict
// read.
[[nodiscard]] std::string SourceJobPath(const std::string& model_dir);
[[nodiscard]] std::string ResolvedJobPath(const std::string& model_dir);
// The names of checkpoints that are to be removed, one per line: during a save, those that it
// removes; between saves, a preemption checkpoint that the next save removes.
[[nodiscard]] std::string RemovingPath(const std::string& model_dir);
// The lock that the process that trains holds.
[[nodiscard]] std::string LockPath(const std::string& model_dir);
// Says that it still trains, if model_dir is on a mounted bucket (heartbeat.h).
[[nodiscard]] std::string HeartbeatPath(const std::string& model_dir);
// The address of process 0 of a group, until all processes have found it.
[[nodiscard]] std::string RendezvousPath(const std::string& model_dir);
// During a save, a number by which the other processes of a group check whether they see this
// folder.
[[nodiscard]] std::string SharedPath(const std::string& model_dir);

}  // namespace tpuest
