#include "core/estimator/model_dir/model_dir.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/base/process/files.h"
#include "core/estimator/options/eval_spec.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"

namespace tpuest {
namespace {

constexpr std::string_view kCheckpoints = "model.ckpt";
constexpr std::string_view kGraph = "graph.pbtxt";
constexpr std::string_view kExports = "export";
constexpr std::array kStateFiles = {kCheckpointState, kBestState, kGraph};

std::string InPrivateDir(const std::string& model_dir, std::string_view name) {
  return JoinPath(PrivateDir(model_dir), name);
}

}  // namespace

std::string CheckpointBase(const std::string& model_dir) {
  return JoinPath(model_dir, kCheckpoints);
}

std::string CheckpointAt(const std::string& model_dir, int64_t step) {
  return fmt::format("{}-{}", CheckpointBase(model_dir), step);
}

std::map<int64_t, std::string> CheckpointsIn(const std::string& model_dir) {
  std::map<int64_t, std::string> checkpoints;
  if (!DirectoryExists(model_dir)) return checkpoints;
  for (const std::string& name : ListDirectory(model_dir)) {
    if (!IsCheckpointFile(name) || !name.ends_with(kIndexEnding)) continue;
    if (DirectoryExists(JoinPath(model_dir, name))) continue;
    const std::string prefix = JoinPath(model_dir, CheckpointPrefix(name));
    if (const auto step = StepOfCheckpoint(prefix)) checkpoints[*step] = prefix;
  }
  return checkpoints;
}

std::string GraphPath(const std::string& model_dir) { return JoinPath(model_dir, kGraph); }

bool IsCheckpointFile(std::string_view name) {
  return name.starts_with(kCheckpoints) && name.substr(kCheckpoints.size()).starts_with('-');
}

bool IsStateFile(std::string_view name) {
  return std::any_of(kStateFiles.begin(), kStateFiles.end(), [name](std::string_view file) {
    return name.starts_with(fmt::format("{}.", file));
  });
}

std::string EvalDir(const std::string& model_dir, std::string_view name) {
  return JoinPath(model_dir, EvalFolderName(name));
}

std::string ExportDir(const std::string& model_dir) { return JoinPath(model_dir, kExports); }

std::string ExporterDir(const std::string& model_dir, std::string_view exporter) {
  return JoinPath(ExportDir(model_dir), exporter);
}

bool IsExportDir(std::string_view folder_name) { return folder_name == kExports; }

std::string PrivateDir(const std::string& model_dir) { return JoinPath(model_dir, ".tpuest"); }

std::string MetricsPath(const std::string& model_dir) {
  return InPrivateDir(model_dir, "metrics.jsonl");
}

std::string SettledStepPath(const std::string& model_dir) {
  return InPrivateDir(model_dir, "evaluated.json");
}

std::string BadRecordsPath(const std::string& model_dir) {
  return InPrivateDir(model_dir, "bad_records.tsv");
}

std::string RunJsonPath(const std::string& model_dir) {
  return InPrivateDir(model_dir, "run.json");
}

std::string LogPath(const std::string& model_dir) { return InPrivateDir(model_dir, "log.txt"); }

std::string SourceJobPath(const std::string& model_dir) {
  return InPrivateDir(model_dir, "job.source.yaml");
}

std::string ResolvedJobPath(const std::string& model_dir) {
  return InPrivateDir(model_dir, "job.resolved.yaml");
}

std::string RemovingPath(const std::string& model_dir) {
  return InPrivateDir(model_dir, "removing");
}

std::string LockPath(const std::string& model_dir) { return InPrivateDir(model_dir, "lock"); }

std::string HeartbeatPath(const std::string& model_dir) {
  return InPrivateDir(model_dir, "heartbeat.json");
}

std::string RendezvousPath(const std::string& model_dir) {
  return InPrivateDir(model_dir, "rendezvous");
}

std::string SharedPath(const std::string& model_dir) { return InPrivateDir(model_dir, "shared"); }

}  // namespace tpuest
