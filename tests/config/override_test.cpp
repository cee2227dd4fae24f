#include <doctest/doctest.h>

#include "tests/config/sample_job.h"

namespace tpuest::config {
namespace {

constexpr std::string_view kJob =
    "version: 1\n"
    "params: {lr: 0.05}\n"
    "run: {keep: 3}\n"
    "inputs:\n"
    "  train: {files: [a], map: [scale, {op: crop, size: [1, 2]}]}\n"
    "  test: {files: [b]}\n"
    "optimizer: {type: Momentum, rate: {type: decay, steps: 10}, momentum: 0.9}\n"
    "eval: {input: test}\n";

Outcome With(const std::vector<Override>& overrides) {
  return ReadSample(kJob, overrides, "/jobs/job.yaml");
}

// The faults of one override, as the user sees them.
std::string Refused(const std::string& text) { return With({{text}}).rendered; }

TEST_CASE("an override replaces the job's value, and the last override wins") {
  const Outcome outcome = With({{"batch=64"}, {"run.keep=9"}, {"batch=1e2"}, {"params.lr=1e-4"}});
  REQUIRE(outcome.rendered == "");
  CHECK(outcome.job.batch == 100);
  CHECK(outcome.job.run.keep == 9);
  CHECK(outcome.job.params.at("lr").text == "1e-4");
}

TEST_CASE("VALUE is a YAML flow value") {
  const Outcome outcome =
      With({{"rates=[1, 2]"}, {"eval={x: {input: a}, y: {input: b}}"}, {"optimizer=null"}});
  REQUIRE(outcome.rendered == "");
  CHECK(outcome.job.rates == std::vector<double>{1, 2});
  CHECK(std::get<std::map<std::string, Evaluation>>(outcome.job.eval).size() == 2);
  CHECK_FALSE(outcome.job.optimizer.has_value());
}

TEST_CASE("a key of type string takes VALUE literally") {
  CHECK(With({{"name=010"}}).job.name == "010");
  CHECK(With({{"name=a: [b], #c"}}).job.name == "a: [b], #c");
  CHECK(With({{"name="}}).job.name.empty());
  CHECK(With({{"name=\"q\\n\""}}).job.name == "q\n");
  CHECK(With({{"run.model_dir=x=y"}}).job.run.model_dir == "x=y");
  CHECK_FALSE(With({{"run.model_dir=null"}}).job.run.model_dir.has_value());
  CHECK(With({{"run.model_dir=runs/${name}"}}).job.run.model_dir == "runs/job");
}

TEST_CASE("a missing VALUE is refused except for a string") {
  CHECK(Refused("batch=") ==
        "command line: error: 'batch=': the value is missing\n"
        "      | batch=\n"
        "      | ^^^^^^\n"
        "      = KEY=null sets null, ~KEY restores the default\n");
  CHECK(Refused("optimizer= ") != "");
  CHECK(With({{"name="}}).rendered == "");
}

TEST_CASE("list items are named by index, and a bare type becomes a section") {
  const Outcome outcome = With({{"inputs.train.map.1.size=[8]"}, {"inputs.train.map[0].by=3"}});
  REQUIRE(outcome.rendered == "");
  CHECK(std::get<Crop>(outcome.job.inputs.at("train").map[1]).size == std::vector<int>{8});
  CHECK(std::get<Scale>(outcome.job.inputs.at("train").map[0]).by == 3);
  CHECK(Refused("inputs.train.map.2.by=3") ==
        "command line: error: 'inputs.train.map.2.by': the list has 2 items, counted from 0\n"
        "      | inputs.train.map.2.by=3\n"
        "      | ^^^^^^^^^^^^^^^^^^^^^\n");
}

TEST_CASE("sections that the job lacks are created") {
  const Outcome outcome = ReadSample(
      "version: 1\n", {{"optimizer.type=Sgd"}, {"optimizer.rate=0.5"}, {"inputs.a.files=[f]"}});
  REQUIRE(outcome.rendered == "");
  CHECK(std::get<Sgd>(*outcome.job.optimizer).rate == 0.5);
  CHECK(outcome.job.inputs.at("a").files == std::vector<std::string>{"f"});
}

TEST_CASE("a suffix that fits only one key path names it") {
  const Outcome outcome = With({{"shards=4"},
                                {"cores.per_loop=auto"},
                                {"momentum=0.5"},
                                {"train.repeat=2"},
                                {"lr=0.1"},
                                {"size=[4]"},
                                {"batch=8"}});
  REQUIRE(outcome.rendered == "");
  CHECK(outcome.job.run.cores.shards == 4);
  CHECK(std::get<Momentum>(*outcome.job.optimizer).momentum == 0.5);
  CHECK(outcome.job.inputs.at("train").repeat == 2);
  std::string log;
  for (const AppliedOverride& applied : outcome.overrides) {
    log += applied.given + " " + applied.path + "\n";
  }
  CHECK(log ==
        "shards run.cores.shards\n"
        "cores.per_loop run.cores.per_loop\n"
        "momentum optimizer.momentum\n"
        "train.repeat inputs.train.repeat\n"
        "lr params.lr\n"
        "size inputs.train.map[1].size\n"
        "batch batch\n");
}

TEST_CASE("a suffix of a key whose value is a parameter names the parameter") {
  const std::string job =
      "version: 1\nparams: {lr: 0.05}\noptimizer: {type: Sgd, rate: \"${params.lr}\"}\n";
  const Outcome outcome = ReadSample(job, {{"rate=0.25"}});
  REQUIRE(outcome.rendered == "");
  CHECK(std::get<Sgd>(*outcome.job.optimizer).rate == 0.25);
  CHECK(outcome.job.params.at("lr").text == "0.25");
  CHECK(outcome.overrides.at(0).path == "params.lr");
  // Here the whole path is the name of a key.
  const Outcome whole = ReadSample(job, {{"optimizer.rate=0.25"}});
  CHECK(std::get<Sgd>(*whole.job.optimizer).rate == 0.25);
  CHECK(whole.job.params.at("lr").text == "0.05");
}

TEST_CASE("a colon without a space after it is reported") {
  CHECK(Refused("optimizer={type:Sgd}").find("= put a space after the colon: type: Sgd\n") !=
        std::string::npos);
  CHECK(Refused("optimizer={type: Sgd, rate:3}").find("= put a space after the colon: rate: 3\n") !=
        std::string::npos);
  CHECK(Refused("optimizer={type: Sgd, a::: 3}").find("colon") == std::string::npos);
}

TEST_CASE("an ambiguous suffix lists the matching keys") {
  CHECK(Refused("repeat=2") ==
        "command line: error: 'repeat' matches more than one key\n"
        "      | repeat=2\n"
        "      | ^^^^^^\n"
        "      = write one of inputs.train.repeat, inputs.test.repeat\n");
  CHECK(Refused("steps=2") ==
        "command line: error: 'steps' matches more than one key\n"
        "      | steps=2\n"
        "      | ^^^^^\n"
        "      = write one of optimizer.rate.steps, eval.steps\n");
}

TEST_CASE("an unknown key comes with the nearest one") {
  CHECK(Refused("bacth=2") ==
        "command line: error: unknown key 'bacth'\n"
        "      | bacth=2\n"
        "      | ^^^^^ did you mean 'batch'?\n");
  CHECK(Refused("run.modeldir=x") ==
        "command line: error: unknown key 'run.modeldir'\n"
        "      | run.modeldir=x\n"
        "      | ^^^^^^^^^^^^ did you mean 'run.model_dir'?\n");
  CHECK(Refused("shard=2") ==
        "command line: error: unknown key 'shard'\n"
        "      | shard=2\n"
        "      | ^^^^^ did you mean 'run.cores.shards'?\n");
  CHECK(Refused("optimizer.type.x=2") ==
        "command line: error: unknown key 'optimizer.type.x'\n"
        "      | optimizer.type.x=2\n"
        "      | ^^^^^^^^^^^^^^^^\n");
}

TEST_CASE("a wrong VALUE is shown with its column") {
  CHECK(Refused("batch=many") ==
        "command line: error: batch: expected an integer, found 'many'\n"
        "      | batch=many\n"
        "      |       ^^^^\n");
  CHECK(Refused("shards=010") ==
        "command line: error: run.cores.shards: expected an integer, found '010'\n"
        "      | shards=010\n"
        "      |        ^^^ did you mean '10'?\n");
  CHECK(Refused("rates=1, 2") ==
        "command line: error: expected one value, found 2\n"
        "      | rates=1, 2\n"
        "      |       ^ did you mean '[1, 2]'?\n");
  CHECK(Refused("rates=[1") ==
        "command line: error: expected ',' or ']' here to continue or close the '[' before\n"
        "      | rates=[1\n"
        "      |         ^\n"
        "      = quote a value that contains '{', '[' or ','\n");
  CHECK(Refused("batch") ==
        "command line: error: expected KEY=VALUE, found 'batch'\n"
        "      | batch\n"
        "      | ^^^^^\n"
        "      = KEY+=ITEM appends to a list, ~KEY restores the default\n");
  CHECK_FALSE(Refused("rates=]").empty());
  CHECK_FALSE(Refused("=3").empty());
  CHECK_FALSE(Refused(".=3").empty());
  CHECK_FALSE(Refused("rates={a: *x}").empty());
}

TEST_CASE("a flag's value carries the flag's name") {
  const Outcome outcome = With({{"run.model_dir=runs/x", "--model-dir"}});
  CHECK(FindNode(outcome.tree, "run.model_dir")->origin.text == "--model-dir");
  CHECK(With({{"run.keep=x", "--keep"}}).rendered ==
        "--keep: error: run.keep: expected an integer, found 'x'\n"
        "      | run.keep=x\n"
        "      |          ^\n");
}

TEST_CASE("input paths of the command line stay unchanged") {
  const Outcome outcome = With({{"inputs.train.files=[x]"}});
  CHECK(outcome.job.inputs.at("train").files == std::vector<std::string>{"x"});
  CHECK(outcome.job.inputs.at("test").files == std::vector<std::string>{"/jobs/b"});
}

TEST_CASE("faults of the job come before the command line's") {
  const Outcome outcome = ReadSample("version: 1\nbatch: x\n", {{"scale=x"}, {"nope=1"}});
  CHECK(FaultLines(outcome) ==
        "2:8 batch: expected an integer, found 'x'\n"
        "1:7 scale: expected a number, found 'x'\n"
        "2:1 unknown key 'nope'\n");
}

TEST_CASE("KEY+=ITEM appends to the job's list, or to the default") {
  const Outcome outcome =
      With({{"rates+=1"}, {"rates+=2"}, {"files+=b"}, {"inputs.train.map+={op: scale, by: 2}"}});
  CHECK(outcome.rendered.find("'files' matches more than one key") != std::string::npos);
  const Outcome added = With({{"rates+=1"},
                              {"rates+=2"},
                              {"inputs.train.files+=b"},
                              {"inputs.train.map+={op: scale, by: 2}"}});
  REQUIRE(added.rendered == "");
  CHECK(added.job.rates == std::vector<double>{1, 2});
  CHECK(added.job.inputs.at("train").files == std::vector<std::string>{"/jobs/a", "b"});
  CHECK(std::get<Scale>(added.job.inputs.at("train").map.at(2)).by == 2);
  CHECK(Refused("batch+=1") ==
        "command line: error: 'batch' is not a list\n"
        "      | batch+=1\n"
        "      | ^^^^^\n"
        "      = batch=VALUE\n");
}

TEST_CASE("~KEY restores the default, also by a suffix") {
  const Outcome outcome = With({{"~keep"}, {"~optimizer"}, {"~inputs.train.map[0]"}, {"~batch"}});
  REQUIRE(outcome.rendered == "");
  CHECK(outcome.job.run.keep == 5);
  CHECK_FALSE(outcome.job.optimizer.has_value());
  CHECK(outcome.job.inputs.at("train").map.size() == 1);
  CHECK(outcome.overrides.at(0).path == "run.keep");
  CHECK(Refused("~kep") ==
        "command line: error: unknown key 'kep'\n"
        "      | ~kep\n"
        "      |  ^^^ did you mean 'run.keep'?\n");
  CHECK(Refused("~version").find("version") != std::string::npos);
  CHECK(Refused("~keep=3").find("expected KEY=VALUE, found '~keep=3'") != std::string::npos);
}

}  // namespace
}  // namespace tpuest::config
