#include "core/estimator/model_dir/best_checkpoints.h"

#include <unistd.h>

#include "core/estimator/model_dir/leftovers.h"
#include "core/estimator/model_dir/metrics_log.h"
#include "core/io/checkpoint_state.h"
#include "tests/core/estimator/fixture.h"

namespace tpuest {
namespace {

// A model_dir with checkpoints of one byte, each with an evaluation.
struct Checkpoints {
  TemporaryFolder folder;
  KeepBest keep{.metric = "accuracy", .mode = "max", .n = 2, .eval = {}};

  [[nodiscard]] std::string Prefix(int64_t step) const {
    return folder.File(fmt::format("model.ckpt-{}", step));
  }
  void Add(int64_t step, float accuracy) {
    WriteFileAtomically(Prefix(step) + ".index", "i");
    MetricsLog(folder.path())
        .AppendEvaluation(step, "eval", {{"accuracy", Tensor::Scalar<float>(accuracy)}});
    BestCheckpoints(folder.path(), keep, "eval", false).Offer(Prefix(step), step, accuracy);
  }
  [[nodiscard]] std::vector<std::string> Best() const {
    const auto state = ReadCheckpointState(folder.path(), "best");
    std::vector<std::string> names;
    for (const auto& path : state->all_model_checkpoint_paths) names.push_back(BaseName(path));
    CHECK(state->model_checkpoint_path == state->all_model_checkpoint_paths.back());
    return names;
  }
};

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("the best checkpoints stay, with the best one last") {
  Checkpoints run;
  run.Add(10, 0.5F);
  run.Add(20, 0.7F);
  run.Add(30, 0.6F);
  CHECK(run.Best() == Names{"model.ckpt-30", "model.ckpt-20"});
  CHECK(BestCheckpoint(run.folder.path()) == run.Prefix(20));
  CHECK(IsKeptAsBest(run.folder.path(), run.Prefix(30)));
  CHECK(!CheckpointExists(run.Prefix(10)));
  run.Add(40, 0.7F);  // of equal metrics the older checkpoint is better
  CHECK(run.Best() == Names{"model.ckpt-40", "model.ckpt-20"});
}

TEST_CASE("a checkpoint that the run still has is not removed with the best") {
  Checkpoints run;
  run.keep.n = 1;
  run.Add(10, 0.5F);
  WriteCheckpointState(run.folder.path(), {.model_checkpoint_path = run.Prefix(10),
                                           .all_model_checkpoint_paths = {run.Prefix(10)}});
  run.Add(20, 0.7F);
  CHECK(CheckpointExists(run.Prefix(10)));
  CHECK(run.Best() == Names{"model.ckpt-20"});
}

TEST_CASE("a checkpoint that cannot be removed is noted, and removed at the next start") {
  Checkpoints run;
  run.keep.n = 1;
  run.Add(10, 0.5F);
  MakeDirectories(run.Prefix(10) + ".meta");  // which cannot be unlinked
  run.Add(20, 0.7F);
  CHECK(run.Best() == Names{"model.ckpt-20"});
  CHECK(NotedCheckpoints(run.folder.path()) == Names{run.Prefix(10)});

  RemoveTree(run.Prefix(10) + ".meta");
  WriteFileAtomically(run.Prefix(10) + ".meta", "m");
  WriteCheckpointState(run.folder.path(), {.model_checkpoint_path = run.Prefix(20),
                                           .all_model_checkpoint_paths = {run.Prefix(20)}});
  RemoveNotedCheckpoints(run.folder.path(), 20);
  CHECK(!FileExists(run.Prefix(10) + ".meta"));
  CHECK(NotedCheckpoints(run.folder.path()).empty());
}

TEST_CASE("a repeated offer changes nothing") {
  Checkpoints run;
  run.Add(10, 0.5F);
  run.Add(20, 0.7F);
  run.Add(20, 0.7F);
  CHECK(run.Best() == Names{"model.ckpt-10", "model.ckpt-20"});
}

TEST_CASE("best checkpoints of steps that were undone are forgotten") {
  Checkpoints run;
  run.Add(10, 0.5F);
  run.Add(20, 0.7F);
  BestCheckpoints(run.folder.path(), run.keep, "eval", false).ForgetAfter(10);
  CHECK(run.Best() == Names{"model.ckpt-10"});
  BestCheckpoints(run.folder.path(), run.keep, "eval", false).ForgetAfter(0);
  CHECK(ErrorOf([&] { (void)BestCheckpoint(run.folder.path()); }).code() == Code::kCheckpoint);
}

TEST_CASE("a damaged list of the best is rebuilt from the evaluations") {
  Checkpoints run;
  run.Add(10, 0.7F);
  run.Add(20, 0.5F);
  run.Add(30, 0.6F);
  const std::string path = run.folder.File("best");
  const std::string good = ReadFile(path);
  const auto with = [&](size_t at) {  // another letter within the file's text
    std::string bytes = good;
    bytes[at] = 'x';
    return bytes;
  };
  for (const std::string& bytes :
       {std::string(), good.substr(3), good.substr(0, 20), with(good.find("model.")),
        with(good.find("model.ckpt-30")), with(good.rfind("model.ckpt-10"))}) {
    WriteFileAtomically(path, bytes, false);
    CHECK(IsKeptAsBest(run.folder.path(), run.Prefix(30)));
    Home home;
    BestCheckpoints(run.folder.path(), run.keep, "eval", false).Mend(30, home.log);
    CHECK(ReadFile(path) == good);
    CHECK(
        home.Logged("best: is damaged; rebuilt it from the evaluations: it names "
                    "model.ckpt-30, model.ckpt-10"));
  }
  Home home;
  BestCheckpoints(run.folder.path(), run.keep, "eval", false).Mend(30, home.log);
  CHECK(home.lines.empty());
}

TEST_CASE("a damaged list of the best stays until the new one is complete") {
  Checkpoints run;
  run.Add(10, 0.7F);
  run.Add(20, 0.5F);
  const std::string path = run.folder.File("best");
  const std::string good = ReadFile(path);
  WriteFileAtomically(path, "", false);
  const std::string temporary = fmt::format("{}.tmp.{}", path, ::getpid());
  MakeDirectories(temporary);  // at the path of the new file
  Home home;
  const auto mend = [&] {
    BestCheckpoints(run.folder.path(), run.keep, "eval", false).Mend(20, home.log);
  };
  CHECK_THROWS_AS(mend(), const Error&);
  CHECK(FileExists(path));
  RemoveTree(temporary);
  mend();
  CHECK(ReadFile(path) == good);
}

}  // namespace tpuest
