// tpuest inspect PATH...: a checkpoint, its folder, a SavedModel, a graph, a TFRecord, an event
// file images or a file of Keras'

#include <optional>
#include <string>
#include <vector>

#include "cli/look/commands.h"
#include "cli/look/inspect/checkpoint.h"
#include "cli/look/inspect/events.h"
#include "cli/look/inspect/export.h"
#include "cli/look/inspect/images.h"
#include "cli/look/inspect/keras.h"
#include "cli/look/inspect/records.h"
#include "cli/shell/report.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/estimator/model_dir/checkpoint_name.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/events/event_reader.h"
#include "core/io/images/image.h"
#include "core/io/saved_model_folder.h"
#include "core/io/tfrecord.h"
#include "data/images/folder_list.h"

namespace tpuest::cli {
namespace {

void Declare(FlagSet& flags, InspectInvocation& to) {
  flags.Repeated("--value", to.values, "NAME", "print this variable's values; may be repeated");
  flags.Text("--diff", to.diff, "OTHER", "compare with another checkpoint");
  flags.Switch("--verify", to.verify,
               "of TFRecords and images: list every damaged one instead of the first");
  flags.Integer("--head", to.head, 0, "of a TFRecord file: print the first N records");
}

enum class Kind { kCheckpoint, kSavedModel, kGraph, kEvents, kRecords, kImage, kImages, kKeras };

// A path's kind, and where the thing lies: a checkpoint's prefix, a folder, files.
struct Found {
  Kind kind;
  std::string path;
  std::vector<std::string> files = {};  // event files, where kind is kEvents
};

std::string FolderOf(const std::string& path) {
  const std::string folder = DirName(path);
  return folder.empty() ? "." : folder;
}

Found FindInFolder(const std::string& path) {
  if (const auto latest = FindCheckpoint(path)) return {Kind::kCheckpoint, *latest};
  if (std::vector<std::string> files = EventFiles(path); !files.empty()) {
    return {Kind::kEvents, path, std::move(files)};
  }
  std::vector<std::string> unreadable;
  if (!data::ImagesBelow(path, true, unreadable).empty()) return {Kind::kImages, path};
  std::string hint;
  for (const std::string& name : ListDirectory(path)) {
    if (EndsWith(name, kIndexEnding))
      hint = "tpuest inspect " + JoinPath(path, CheckpointPrefix(name));
  }
  throw Error(Code::kData,
              fmt::format("{}: has no checkpoint, SavedModel, event file or image", path), hint);
}

// The first record of an event file names the format.
bool HoldsEvents(const std::string& path) {
  try {
    RecordReader reader(path);
    Record record;
    return reader.Next(record) && record.bytes.find("brain.Event:") != std::string_view::npos;
  } catch (const Error&) {
    return false;
  }
}

// By its first bytes, or by its name where a damaged file begins otherwise.
bool IsImage(const std::string& path) {
  if (KindOfOther(path)) return false;
  const MappedFile file(path);
  const auto format = ImageFormatOf(file.bytes());
  // Many other files also begin with "BM".
  return HasImageEnding(path) || (format && format != ImageFormat::kBmp);
}

Found FindFile(const std::string& path, bool verify) {
  if (IsImage(path)) return {Kind::kImage, path};
  if (EndsWith(path, ".pbtxt") || EndsWith(path, ".pb")) return {Kind::kGraph, path};
  if (IsEventFile(path) || HoldsEvents(path)) return {Kind::kEvents, path, {path}};
  if (!verify && BeginsAsKeras(path)) return {Kind::kKeras, path};
  if (verify || BeginsAsRecords(path)) return {Kind::kRecords, path};
  throw Error(Code::kData,
              fmt::format("{}: is not a checkpoint, SavedModel, graph, event file, TFRecord file, "
                          "image or file of Keras",
                          path),
              IsJobFile(path) ? fmt::format("tpuest config show {}", path)
                              : "--verify reads it as a TFRecord file anyway");
}

// `verify` makes any file a TFRecord file, whatever it begins with.
Found Find(const std::string& given, bool verify) {
  // A folder's state file stands for the folder.
  const bool is_state = BaseName(given) == kCheckpointState && FileExists(given);
  const std::string path = is_state ? FolderOf(given) : given;
  if (const auto folder = SavedModelFolder(path)) return {Kind::kSavedModel, *folder};
  if (DirectoryExists(path)) return FindInFolder(path);
  if (const auto prefix = FindCheckpoint(path)) return {Kind::kCheckpoint, *prefix};
  if (FileExists(path)) return FindFile(path, verify);
  throw Error(Code::kData, fmt::format("{}: no such file or checkpoint exists", path));
}

// The variables of a checkpoint or SavedModel; `flag` asks for them.
std::string VariablesOf(const Found& found, std::string_view flag) {
  if (found.kind == Kind::kCheckpoint) return found.path;
  if (found.kind == Kind::kSavedModel) return SavedModelVariables(found.path);
  throw Error(Code::kUsage, fmt::format("--{}: {} is not a checkpoint", flag, found.path));
}

// A flag that the kind of file has no use for is a mistake.
void CheckFlags(const InspectInvocation& flags, const Found& found) {
  const bool is_image = found.kind == Kind::kImage || found.kind == Kind::kImages;
  if (found.kind == Kind::kRecords || (!flags.head && (is_image || !flags.verify))) return;
  throw Error(Code::kUsage, fmt::format("--{}: {} is not a TFRecord file",
                                        flags.verify ? "verify" : "head", found.path));
}

int Show(const InspectInvocation& invocation, const Found& found) {
  CheckFlags(invocation, found);
  if (!invocation.values.empty()) {
    return ShowCheckpoint(invocation, VariablesOf(found, "value"));
  }
  if (invocation.diff) {
    return ShowDifference(invocation, VariablesOf(found, "diff"),
                          VariablesOf(Find(*invocation.diff, false), "diff"));
  }
  switch (found.kind) {
    case Kind::kCheckpoint:
      return ShowCheckpoint(invocation, found.path);
    case Kind::kSavedModel:
      return ShowSavedModel(invocation, found.path);
    case Kind::kGraph:
      return ShowGraph(invocation, found.path);
    case Kind::kEvents:
      return ShowEvents(invocation, found.files);
    case Kind::kImage:
      return ShowImage(invocation, found.path);
    case Kind::kImages:
      return ShowImageFolder(invocation, found.path);
    case Kind::kKeras:
      return ShowKeras(invocation, found.path);
    case Kind::kRecords:
      break;
  }
  return ShowRecords(invocation, found.path);
}

int InspectOne(const InspectInvocation& invocation, const std::string& path) {
  const auto find = [&] { return Find(path, invocation.verify); };
  Found found = find();
  while (true) {
    try {
      return Show(invocation, found);
    } catch (const Error&) {
      // A trainer may have removed what was a run's newest checkpoint.
      Found now = find();
      if (now.path == found.path) throw;
      found = std::move(now);
    }
  }
}

// With several paths each has a heading. The exit code is that of the first that has one; a path
// that cannot be read ends it.
int Inspect(const InspectInvocation& invocation, config::Sources& /*sources*/) {
  const std::vector<std::string>& paths = invocation.arguments;
  if (paths.empty()) {
    throw Error(Code::kUsage, "inspect needs a path", "tpuest inspect runs/mnist");
  }
  if (paths.size() == 1) return InspectOne(invocation, paths[0]);
  if (invocation.json || invocation.diff) {
    throw Error(
        Code::kUsage,
        fmt::format("--{} takes one path, found {}", invocation.json ? "json" : "diff",
                    paths.size()),
        fmt::format("tpuest inspect {} --{}", paths[0], invocation.json ? "json" : "diff OTHER"));
  }
  int exit_code = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    (void)WriteStdout(fmt::format("{}==> {} <==\n", i == 0 ? "" : "\n", paths[i]));
    const int code = InspectOne(invocation, paths[i]);
    if (exit_code == 0) exit_code = code;
  }
  return exit_code;
}

}  // namespace

Command InspectCommand() {
  return MakeCommand<InspectInvocation>(
      {.name = "inspect",
       .summary =
           "show a checkpoint, SavedModel, TFRecord, event file, images or a saved Keras model",
       .examples = {"tpuest inspect runs/mnist", "tpuest inspect train.tfrecord",
                    "tpuest inspect runs/mnist/model.ckpt-500 --value dense/kernel"},
       .takes = Takes::kPaths},
      Declare, Inspect);
}

}  // namespace tpuest::cli
