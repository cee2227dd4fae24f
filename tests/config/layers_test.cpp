#include <doctest/doctest.h>

#include "core/base/process/files.h"
#include "tests/config/sample_job.h"
#include "tests/temporary_folder.h"

namespace tpuest::config {
namespace {

// A folder with files, whose jobs are loaded by name.
class Files {
 public:
  void Add(const std::string& name, const std::string& text) const {
    WriteFileAtomically(folder_.File(name), text, /*fsync=*/false);
  }
  [[nodiscard]] std::string Path(const std::string& name) const { return folder_.File(name); }

  // Reads the job `name` with the folder's set_files.
  [[nodiscard]] Loaded<Sample> Load(const std::string& name, Layers layers = {}) const {
    for (std::string& file : layers.set_files) file = folder_.File(file);
    Sources sources;
    return LoadJob<Sample>(folder_.File(name), layers, sources);
  }
  // The faults as the user sees them, without the folder's path.
  [[nodiscard]] std::string Refused(const std::string& name, Layers layers = {}) const {
    for (std::string& file : layers.set_files) file = folder_.File(file);
    Sources sources;
    try {
      std::ignore = LoadJob<Sample>(folder_.File(name), layers, sources);
    } catch (const Error& error) {
      std::string text = Render(error.faults(), sources);
      const std::string folder = folder_.path() + "/";
      for (size_t at = text.find(folder); at != std::string::npos; at = text.find(folder)) {
        text.erase(at, folder.size());
      }
      return text;
    }
    return "";
  }

 private:
  TemporaryFolder folder_;
};

TEST_CASE("a job's keys override those of its base files, whose first is the lowest") {
  const Files files;
  files.Add("low.yaml", "version: 1\nbatch: 1\nrun: {keep: 1, model_dir: low}\nrates: [1, 2]\n");
  files.Add("high.yaml", "batch: 2\nrun: {keep: 2}\n");
  files.Add("job.yaml", "base: [low.yaml, high.yaml]\nrun: {cores: {shards: 4}}\nrates: [3]\n");
  const Loaded<Sample> loaded = files.Load("job.yaml");
  CHECK(loaded.job.batch == 2);
  CHECK(loaded.job.run.keep == 2);
  CHECK(loaded.job.run.model_dir == "low");
  CHECK(loaded.job.run.cores.shards == 4);
  CHECK(loaded.job.rates == std::vector<double>{3});
}

TEST_CASE(
    "a base file may have its own, is named by the job's folder, and its inputs stand in it") {
  const Files files;
  MakeDirectories(files.Path("common"));
  files.Add("common/lowest.yaml", "version: 1\nbatch: 7\n");
  files.Add("common/base.yaml", "base: lowest.yaml\ninputs: {train: {files: [a.csv]}}\n");
  files.Add("job.yaml", "base: common/base.yaml\n");
  const Loaded<Sample> loaded = files.Load("job.yaml");
  CHECK(loaded.job.batch == 7);
  CHECK(loaded.job.inputs.at("train").files.at(0) == files.Path("common/a.csv"));
}

TEST_CASE("a section of another type takes no key of the section below") {
  const Files files;
  files.Add("base.yaml", "version: 1\noptimizer: {type: Momentum, momentum: 0.9}\n");
  files.Add("other.yaml", "base: base.yaml\noptimizer: {type: Sgd, rate: 0.5}\n");
  files.Add("same.yaml", "base: base.yaml\noptimizer: {type: Momentum, rate: 0.5}\n");
  CHECK(std::get<Sgd>(*files.Load("other.yaml").job.optimizer).rate == 0.5);
  CHECK(std::get<Momentum>(*files.Load("same.yaml").job.optimizer).momentum == 0.9);
}

TEST_CASE(
    "--set-file overrides the job, KEY=VALUE overrides both; overridden values are recorded") {
  const Files files;
  files.Add("base.yaml", "batch: 1\n");
  files.Add("job.yaml", "version: 1\nbase: base.yaml\nbatch: 2\n");
  files.Add("a.yaml", "batch: 3\nname: a\n");
  files.Add("b.yaml", "batch: 4\n");
  const Loaded<Sample> loaded =
      files.Load("job.yaml", {.set_files = {"a.yaml", "b.yaml"}, .overrides = {{"batch=5"}}});
  CHECK(loaded.job.batch == 5);
  CHECK(loaded.job.name == "a");
  std::vector<std::string> earlier;
  for (const Covered& covered : FindNode(loaded.tree, "batch")->earlier) {
    earlier.push_back(covered.text + " " + BaseName(covered.origin));
  }
  CHECK(earlier ==
        std::vector<std::string>{"1 base.yaml:1", "2 job.yaml:3", "3 a.yaml:1", "4 b.yaml:1"});
}

TEST_CASE("a base that is missing, not a file, or its own base is refused at its line") {
  const Files files;
  files.Add("none.yaml", "version: 1\nbase: bse.yaml\n");
  files.Add("base.yaml", "version: 1\nbase: circle.yaml\n");
  files.Add("circle.yaml", "base: base.yaml\n");
  files.Add("wrong.yaml", "version: 1\nbase: {a: b}\n");
  CHECK(files.Refused("none.yaml") ==
        "none.yaml:2:7: error: the file 'bse.yaml' does not exist\n"
        "    2 | base: bse.yaml\n"
        "      |       ^^^^^^^^ did you mean 'base.yaml'?\n");
  CHECK(files.Refused("circle.yaml") ==
        "base.yaml:2:7: error: circle.yaml is a base of itself\n"
        "    2 | base: circle.yaml\n"
        "      |       ^^^^^^^^^^^\n"
        "      = remove `base` from one of the files\n");
  CHECK(files.Refused("wrong.yaml") ==
        "wrong.yaml:2:1: error: base: expected a file or a list of files\n"
        "    2 | base: {a: b}\n"
        "      | ^^^^\n"
        "      = base: [common.yaml]\n");
}

TEST_CASE("a fault of a base file is reported in that file; a base cannot be set by an override") {
  const Files files;
  files.Add("base.yaml", "version: 1\nbach: 8\n");
  files.Add("job.yaml", "base: base.yaml\n");
  files.Add("plain.yaml", "version: 1\n");
  CHECK(files.Refused("job.yaml") ==
        "base.yaml:2:1: error: unknown key 'bach' at the top level\n"
        "    2 | bach: 8\n"
        "      | ^^^^ did you mean 'batch'?\n");
  CHECK(files.Refused("plain.yaml", {.overrides = {{"base=base.yaml"}}}).find("unknown key") !=
        std::string::npos);
}

}  // namespace
}  // namespace tpuest::config
