#include <doctest/doctest.h>

#include <fstream>

#include "tests/config/sample_job.h"
#include "tests/temporary_folder.h"

namespace tpuest::config {
namespace {

TEST_CASE("a fault looks like a compiler's") {
  Sources sources;
  std::string text;
  for (int line = 1; line < 14; ++line) text += "#\n";
  sources.Add("job.yaml", text + "    itertions_per_loop: 100\n");
  const Fault fault{"unknown key 'itertions_per_loop' in run_config.tpu_config",
                    "did you mean 'iterations_per_loop'?", "", Place{"job.yaml", 14, 5}, 18};
  CHECK(Render(fault, sources) ==
        "job.yaml:14:5: error: unknown key 'itertions_per_loop' in run_config.tpu_config\n"
        "   14 |     itertions_per_loop: 100\n"
        "      |     ^^^^^^^^^^^^^^^^^^ did you mean 'iterations_per_loop'?\n");
}

TEST_CASE("any other hint has a separate line") {
  Sources sources;
  sources.Add("job.yaml", "a: 1\nb: 2\ntrain_batch_size: 6\n");
  const Fault fault{"batch size 6", "nearest: train_batch_size=8", "", Place{"job.yaml", 3, 19}, 1};
  CHECK(Render(fault, sources) ==
        "job.yaml:3:19: error: batch size 6\n"
        "    3 | train_batch_size: 6\n"
        "      |                   ^\n"
        "      = nearest: train_batch_size=8\n");
  CHECK(Render(fault, Sources()) ==
        "job.yaml:3:19: error: batch size 6\n"
        "      = nearest: train_batch_size=8\n");
}

TEST_CASE("faults without a line, and several faults, are printed") {
  CHECK(Render(std::vector<Fault>{Fault{"one", "", "", {}, 0},
                                  Fault{"two", "did you mean 'x'?", "", Place{"f", 0, 0}, 0}},
               Sources()) == "error: one\nf: error: two\n      = did you mean 'x'?\n");
}

TEST_CASE("carets align under tabs and wide characters, and end with the line") {
  Sources sources;
  sources.Add("j", "é\tab: cd\nx\n");
  CHECK(Render(Fault{"m", "", "", Place{"j", 1, 3}, 2}, sources) ==
        "j:1:3: error: m\n    1 | é\tab: cd\n      |  \t^^\n");
  CHECK(Render(Fault{"m", "", "", Place{"j", 2, 1}, 99}, sources) ==
        "j:2:1: error: m\n    2 | x\n      | ^\n");
  CHECK(Render(Fault{"m", "", "", Place{"j", 2, 9}, 9}, sources) ==
        "j:2:9: error: m\n    2 | x\n      |         ^\n");
}

TEST_CASE("control sequences of terminals are not printed") {
  Sources sources;
  sources.Add("j", "a\x1b[31m\xff");
  CHECK(Render(Fault{"m", "", "", Place{"j", 1, 1}, 1}, sources) ==
        "j:1:1: error: m\n    1 | a?[31m?\n      | ^\n");
}

TEST_CASE("faults that name a key are reported at its place, in the job's order, each once") {
  Sources sources;
  const Loaded<Sample> loaded =
      ParseJob<Sample>("version: 1\nbatch: 3\nname: x\n", "job.yaml", {}, sources);
  const std::vector<Fault> faults = {{"second", "", "name", {}, 0},
                                     {"first", "", "batch", {}, 0},
                                     {"second", "", "name", {}, 0},
                                     {"elsewhere", "", "batch", {"data.csv", 7, 1}, 0}};
  const Error placed = Placed(Error(Code::kUsage, faults), sources);
  REQUIRE(placed.faults().size() == 3);
  CHECK(placed.faults()[0].message == "first");
  CHECK(placed.faults()[0].place.column == 8);
  CHECK(placed.faults()[1].place.line == 3);
  CHECK(placed.faults()[2].place.file == "data.csv");
  // Faults of other kinds stay as they were thrown: the first one introduces the rest.
  const Error other = Placed(Error(Code::kResource, faults), sources);
  REQUIRE(other.faults().size() == 4);
  CHECK(other.faults()[0].message == "second");
  CHECK(Placed(Error(Code::kUsage, faults), Sources()).faults()[0].place.line == 0);
}

TEST_CASE("a job is read from its file, and a missing one comes with the nearest name") {
  const TemporaryFolder folder;
  std::ofstream(folder.File("mnist_cnn.yaml")) << "version: 1\nname: ${name}_\n" << std::flush;
  std::ofstream(folder.File("ok.yaml")) << "version: 1\nrun: {model_dir: \"${name}\"}\n"
                                        << std::flush;
  Sources sources;
  const std::string path = folder.File("ok.yaml");
  const Loaded<Sample> loaded = LoadJob<Sample>(path, {.overrides = {{"batch=3"}}}, sources);
  CHECK(loaded.job.run.model_dir == "ok");
  CHECK(loaded.job.batch == 3);
  CHECK(*sources.Line(path, 1) == "version: 1");
  const auto error = [&](const std::string& name) -> std::string {
    try {
      return LoadJob<Sample>(folder.File(name), {}, sources).job.name;
    } catch (const Error& e) {
      CHECK(e.code() == Code::kUsage);
      return Render(e.faults(), sources);
    }
  };
  CHECK(error("mnist_cnm.yaml") == "error: the file '" + folder.File("mnist_cnm.yaml") +
                                       "' does not exist\n      = did you mean '" +
                                       folder.File("mnist_cnn.yaml") + "'?\n");
  CHECK(error("") ==
        "error: " + folder.path() + "/ is a folder\n      = name the job file in it\n");
  CHECK(error("mnist_cnn.yaml").find("in a cycle") != std::string::npos);
}

}  // namespace
}  // namespace tpuest::config
