#include "core/estimator/model_dir/checkpoint_name.h"

#include "core/base/process/files.h"
#include "core/estimator/model_dir/model_dir.h"
#include "core/io/bundle.h"
#include "core/io/checkpoint_state.h"
#include "core/io/saved_model_folder.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

// A model_dir with the checkpoints 5 and 10, the best of which is 5, and an export.
struct NamedRunDir {
  TemporaryFolder folder;
  std::string at_5 = CheckpointAt(folder.path(), 5);
  std::string at_10 = CheckpointAt(folder.path(), 10);
  std::string exported = JoinPath(ExportDir(folder.path()), "1700000000");

  NamedRunDir() {
    MakeDirectories(DirName(SavedModelVariables(exported)));
    for (const std::string& prefix : {at_5, at_10, SavedModelVariables(exported)}) {
      WriteBundle(prefix, {{"w", Tensor::Scalar<float>(1)}}, {.fsync = false});
    }
    WriteCheckpointState(folder.path(), {.model_checkpoint_path = at_10,
                                         .all_model_checkpoint_paths = {at_5, at_10}});
    WriteCheckpointState(folder.path(),
                         {.model_checkpoint_path = at_5, .all_model_checkpoint_paths = {at_5}},
                         kBestState);
  }
};

}  // namespace

TEST_CASE("a checkpoint has names in its run: latest, best, a step") {
  const NamedRunDir run;
  const std::string& model_dir = run.folder.path();
  CHECK(ResolveCheckpoint("latest", model_dir) == run.at_10);
  CHECK(ResolveCheckpoint("best", model_dir) == run.at_5);
  CHECK(ResolveCheckpoint("5", model_dir) == run.at_5);
  CHECK(FindCheckpoint("7", model_dir) == std::nullopt);
  CHECK(FindCheckpoint("99999999999999999999", model_dir) == std::nullopt);
  CHECK(IsNameInRun("best"));
  CHECK(IsNameInRun("5"));
  CHECK(!IsNameInRun("run/model.ckpt-5"));
}

TEST_CASE("a checkpoint can be named by its prefix, one of its files, its folder or an export") {
  const NamedRunDir run;
  CHECK(FindCheckpoint(run.at_5) == run.at_5);
  CHECK(FindCheckpoint(BundleIndexPath(run.at_5)) == run.at_5);
  CHECK(FindCheckpoint(BundleDataPath(run.at_5, 0, 1)) == run.at_5);
  CHECK(FindCheckpoint(run.folder.path()) == run.at_10);
  CHECK(FindCheckpoint(run.exported) == SavedModelVariables(run.exported));
  CHECK(FindCheckpoint(run.at_5, "elsewhere") == run.at_5);
}

TEST_CASE("the error for a missing checkpoint says how to list the existing ones") {
  const NamedRunDir run;
  const std::string& model_dir = run.folder.path();
  const Error step = ErrorOf([&] { (void)ResolveCheckpoint("7", model_dir); });
  CHECK(step.code() == Code::kCheckpoint);
  CHECK(step.message() == CheckpointAt(model_dir, 7) + ": there is no such checkpoint");
  CHECK(step.faults()[0].hint ==
        fmt::format("'tpuest inspect {}' lists the checkpoints", model_dir));
  const std::string empty = JoinPath(model_dir, "empty");
  MakeDirectories(empty);
  CHECK(ErrorOf([&] { (void)ResolveCheckpoint(empty); }).message() ==
        empty + ": this folder contains no checkpoint");
}

}  // namespace tpuest
