#pragma once
// Every name below a model_dir, each made here and nowhere else:
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
// Functions give the path that begins with model_dir as it was given; nothing is looked up on disk
// unless said.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace tpuest {

// ---- checkpoints --------------------------------------------------------------------------------

// The state file of keep_best, to ReadCheckpointState.
inline constexpr std::string_view kBestState = "best";

// <model_dir>/model.ckpt, which a dash and the step follow.
[[nodiscard]] std::string CheckpointBase(const std::string& model_dir);
// The prefix <model_dir>/model.ckpt-<step>.
[[nodiscard]] std::string CheckpointAt(const std::string& model_dir, int64_t step);
// The prefixes, by step, of the folder's checkpoints "model.ckpt-N" whose index is there. Empty
// where there is no folder.
[[nodiscard]] std::map<int64_t, std::string> CheckpointsIn(const std::string& model_dir);
// The training graph, graph.pbtxt.
[[nodiscard]] std::string GraphPath(const std::string& model_dir);
// Whether the name of a file in model_dir is that of a checkpoint's part, whole or being written.
[[nodiscard]] bool IsCheckpointFile(std::string_view name);
// Whether it is that of a state file or of the graph, with a dot and more behind it.
[[nodiscard]] bool IsStateFile(std::string_view name);

// ---- evaluations and exports --------------------------------------------------------------------

// The folder of an evaluation's events: EvalFolderName below model_dir.
[[nodiscard]] std::string EvalDir(const std::string& model_dir, std::string_view name);
// The folder of exports that name none.
[[nodiscard]] std::string ExportDir(const std::string& model_dir);
// The folder of one exporter of eval_spec.
[[nodiscard]] std::string ExporterDir(const std::string& model_dir, std::string_view exporter);
// Whether a folder has the name of ExportDir.
[[nodiscard]] bool IsExportDir(std::string_view folder_name);

// ---- .tpuest ------------------------------------------------------------------------------------

[[nodiscard]] std::string PrivateDir(const std::string& model_dir);
// A line of JSON for each logged step and each evaluation (MetricsLog).
[[nodiscard]] std::string MetricsPath(const std::string& model_dir);
// The step up to which evaluations and exports are done.
[[nodiscard]] std::string SettledStepPath(const std::string& model_dir);
// The records that were left out: file, line, why.
[[nodiscard]] std::string BadRecordsPath(const std::string& model_dir);
// The command line of the run, and how it ended.
[[nodiscard]] std::string RunJsonPath(const std::string& model_dir);
// The run's log, log.txt.
[[nodiscard]] std::string LogPath(const std::string& model_dir);
// The job as it was written, and the same with every value put in, which evaluate and predict take.
[[nodiscard]] std::string SourceJobPath(const std::string& model_dir);
[[nodiscard]] std::string ResolvedJobPath(const std::string& model_dir);
// The names of the checkpoints that are to be removed, a line each: within a save, those that it
// removes; between saves, one that a stop request alone saved, which the next save removes.
[[nodiscard]] std::string RemovingPath(const std::string& model_dir);
// The lock that the process that trains holds.
[[nodiscard]] std::string LockPath(const std::string& model_dir);
// That it still trains, where model_dir is a mounted bucket (heartbeat.h).
[[nodiscard]] std::string HeartbeatPath(const std::string& model_dir);
// Where process 0 of a group says how the others find it, until they have.
[[nodiscard]] std::string RendezvousPath(const std::string& model_dir);
// Within a save, a number by which the others of a group know whether they see this folder.
[[nodiscard]] std::string SharedPath(const std::string& model_dir);

}  // namespace tpuest
