#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>

#include "tests/config/sample_job.h"

namespace tpuest::config {
namespace {

// The faults of one more line after a valid beginning, without the place.
std::string FaultOf(const std::string& line) {
  const Outcome outcome = ReadSample("version: 1\n" + line + "\n");
  std::string text;
  for (const Fault& fault : outcome.faults) {
    text += fault.message + (fault.hint.empty() ? "" : " (" + fault.hint + ")") + "\n";
  }
  return text;
}

Sample JobOf(const std::string& line) {
  const Outcome outcome = ReadSample("version: 1\n" + line + "\n", {}, "/jobs/job.yaml");
  CHECK(FaultLines(outcome) == "");
  return outcome.job;
}

TEST_CASE("every kind of field is read") {
  const Sample job = JobOf(
      "name: mnist\n"
      "mode: evaluate\n"
      "verbose: false\n"
      "batch: 1e3\n"
      "scale: 1/255\n"
      "params: {lr: 0.05, sizes: [1, 2], word: abc, quoted: \"1\", none: null}\n"
      "run: {model_dir: null, save_every: 2ep, cores: {shards: 8, per_loop: 60s}}\n"
      "inputs:\n"
      "  train:\n"
      "    files: [a, /b]\n"
      "    map: [{op: crop, size: [2, 3]}, {op: scale, by: -0.5}, scale]\n"
      "    cache: true\n"
      "optimizer: {type: Momentum, rate: {type: decay, steps: 10}, momentum: .5}\n"
      "eval: {input: train, steps: null}\n"
      "rates: [1e-4, 3, .inf]\n"
      "extra: {a: [x, \"y, z\"], b: ~}");
  CHECK(job.name == "mnist");
  CHECK(job.mode == "evaluate");
  CHECK_FALSE(job.verbose);
  CHECK(job.batch == 1000);
  CHECK(job.scale == 1.0 / 255);
  CHECK(job.params.at("lr").text == "0.05");
  CHECK(job.params.at("sizes").text == "[1, 2]");
  CHECK(job.params.at("word").text == "abc");
  CHECK(job.params.at("quoted").text == "\"1\"");
  CHECK(job.params.at("none").text == "null");
  CHECK_FALSE(job.run.model_dir.has_value());
  CHECK(job.run.save_every == Period{2, Period::Unit::kEpochs});
  CHECK(job.run.keep == 5);
  CHECK(job.run.cores.shards == 8);
  CHECK(std::get<Period>(job.run.cores.per_loop) == Period{60, Period::Unit::kSeconds});
  const Input& train = job.inputs.at("train");
  CHECK(train.files == std::vector<std::string>{"/jobs/a", "/b"});
  REQUIRE(train.map.size() == 3);
  CHECK(std::get<Crop>(train.map[0]).size == std::vector<int>{2, 3});
  CHECK(std::get<Scale>(train.map[1]).by == -0.5);
  CHECK(std::get<Scale>(train.map[2]).by == 1.0);
  CHECK(std::get<bool>(train.cache));
  CHECK(train.place.line == 10);
  CHECK(train.place.column == 3);
  const Momentum& momentum = std::get<Momentum>(*job.optimizer);
  CHECK(std::get<Decay>(momentum.rate) == Decay{1.0, 10});
  CHECK(momentum.momentum == 0.5);
  CHECK_FALSE(std::get<Evaluation>(job.eval).steps.has_value());
  CHECK(job.rates == std::vector<double>{1e-4, 3, INFINITY});
  CHECK(job.extra.text == "{a: [x, \"y, z\"], b: null}");
}

TEST_CASE("integers") {
  CHECK(JobOf("batch: -3").batch == -3);
  CHECK(JobOf("batch: +3").batch == 3);
  CHECK(JobOf("batch: 1.5e3").batch == 1500);
  CHECK(JobOf("batch: 0x1f").batch == 31);
  CHECK(JobOf("batch: 0o17").batch == 15);
  CHECK(JobOf("batch: 9223372036854775807").batch == INT64_MAX);
  CHECK(JobOf("batch: -9223372036854775808").batch == INT64_MIN);
  CHECK(JobOf("run: {keep: 255}").run.keep == 255);

  CHECK(FaultOf("batch: 010") == "batch: expected an integer, found '010' (did you mean '10'?)\n");
  CHECK(FaultOf("batch: 1e-4") == "batch: expected an integer, found '1e-4'\n");
  CHECK(FaultOf("batch: 3.0") == "batch: expected an integer, found '3.0'\n");
  CHECK(FaultOf("batch: 1/2") == "batch: expected an integer, found '1/2'\n");
  CHECK(FaultOf("batch: abc") == "batch: expected an integer, found 'abc'\n");
  CHECK(FaultOf("batch: 1_000") ==
        "batch: expected an integer, found '1_000' (did you mean '1000'?)\n");
  CHECK(FaultOf("batch: \"3\"") ==
        "batch: expected an integer, found the string \"3\" (did you mean 3 without quotes?)\n");
  CHECK(FaultOf("batch: 9223372036854775808") ==
        "batch: expected an integer from -9223372036854775808 to 9223372036854775807, found "
        "'9223372036854775808'\n");
  CHECK(FaultOf("batch: 1e30") == "batch: expected an integer, found '1e30'\n");
  CHECK(FaultOf("batch: 99999999999999999999") ==
        "batch: expected an integer, found '99999999999999999999' (the number does not fit in 64 "
        "bits)\n");
  CHECK(FaultOf("run: {keep: 256}") ==
        "run.keep: expected an integer from 0 to 255, found '256'\n");
  CHECK(FaultOf("run: {keep: -1}") == "run.keep: expected an integer from 0 to 255, found '-1'\n");
  CHECK(FaultOf("batch: [1]") == "batch: expected an integer, found a list\n");
  CHECK(FaultOf("batch: null") == "batch: expected an integer, found null\n");
  CHECK(FaultOf("batch:") == "batch: expected an integer, found nothing\n");
}

TEST_CASE("numbers") {
  CHECK(JobOf("scale: 1e-4").scale == 1e-4);
  CHECK(JobOf("scale: .5").scale == 0.5);
  CHECK(JobOf("scale: 5.").scale == 5.0);
  CHECK(JobOf("scale: -1/3").scale == -1.0 / 3);
  CHECK(JobOf("scale: 1/127.5").scale == 1 / 127.5);
  CHECK(JobOf("scale: 0x10").scale == 16);
  CHECK(JobOf("scale: -.inf").scale == -INFINITY);
  CHECK(std::isnan(JobOf("scale: .nan").scale));

  CHECK(FaultOf("scale: 010.5") ==
        "scale: expected a number, found '010.5' (did you mean '10.5'?)\n");
  CHECK(FaultOf("scale: inf") == "scale: expected a number, found 'inf' (did you mean '.inf'?)\n");
  CHECK(FaultOf("scale: nan") == "scale: expected a number, found 'nan' (did you mean '.nan'?)\n");
  CHECK(FaultOf("scale: 1/0") == "scale: expected a number, found '1/0'\n");
  CHECK(FaultOf("scale: 1e999") == "scale: expected a number, found '1e999'\n");
  CHECK(FaultOf("scale: 1e") == "scale: expected a number, found '1e'\n");
  CHECK(FaultOf("scale: true") == "scale: expected a number, found 'true'\n");
}

TEST_CASE("only true and false are booleans") {
  CHECK_FALSE(JobOf("verbose: false").verbose);
  for (const char* const word : {"yes", "on", "True", "TRUE", "1"}) {
    CHECK(FaultOf(std::string("verbose: ") + word) ==
          std::string("verbose: expected true or false, found '") + word +
              "' (did you mean 'true'?)\n");
  }
  CHECK(FaultOf("verbose: off") ==
        "verbose: expected true or false, found 'off' (did you mean 'false'?)\n");
  CHECK(FaultOf("verbose: maybe") == "verbose: expected true or false, found 'maybe'\n");
}

TEST_CASE("periods") {
  CHECK(JobOf("run: {save_every: 500}").run.save_every == Period{500, Period::Unit::kSteps});
  CHECK(JobOf("run: {save_every: 1e4}").run.save_every == Period{10000, Period::Unit::kSteps});
  CHECK(JobOf("run: {save_every: \"90s\"}").run.save_every == Period{90, Period::Unit::kSeconds});
  CHECK(JobOf("run: {save_every: 10m}").run.save_every == Period{600, Period::Unit::kSeconds});
  CHECK(JobOf("run: {save_every: 0.5ep}").run.save_every == Period{0.5, Period::Unit::kEpochs});
  const std::string expected =
      "run.save_every: expected a period such as 500, 2ep, 90s, 10m or 1h, found ";
  CHECK(FaultOf("run: {save_every: 2 days}") == expected + "'2 days'\n");
  CHECK(FaultOf("run: {save_every: 010}") == expected + "'010' (did you mean '10'?)\n");
  CHECK(FaultOf("run: {save_every: \"5\"}") ==
        expected + "the string \"5\" (did you mean 5 without quotes?)\n");
}

TEST_CASE("strings take any scalar literally, and only their allowed words") {
  CHECK(JobOf("name: 010").name == "010");
  CHECK(JobOf("name: true").name == "true");
  CHECK(JobOf("name: \"\"").name.empty());
  CHECK(JobOf("name: |\n  two\n  lines").name == "two\nlines\n");
  CHECK(FaultOf("name: [a]") == "name: expected a string, found a list\n");
  CHECK(FaultOf("name: null") == "name: expected a string, found null\n");
  CHECK(FaultOf("mode: trian") ==
        "mode: expected one of 'train', 'evaluate', found 'trian' (did you mean 'train'?)\n");
  CHECK(FaultOf("mode: fly") == "mode: expected one of 'train', 'evaluate', found 'fly'\n");
}

TEST_CASE("lists and sections") {
  CHECK(FaultOf("rates: 3") == "rates: expected a list, found '3' (did you mean '[3]'?)\n");
  CHECK(FaultOf("rates: [1, x, 010]") ==
        "rates[1]: expected a number, found 'x'\n"
        "rates[2]: expected a number, found '010' (did you mean '10'?)\n");
  CHECK(FaultOf("run: 3") == "run: expected a section of keys, found '3'\n");
  CHECK(FaultOf("run: null") == "run: expected a section of keys, found null\n");
  CHECK(FaultOf("params: [1]") ==
        "params: expected a section of keys, found a list (write {} for an empty section)\n");
  // All keys of the section are commented out.
  CHECK(JobOf("run:\nparams:").run == Run{});
}

TEST_CASE("unknown keys come with what was probably meant") {
  CHECK(FaultOf("bacth: 3") == "unknown key 'bacth' at the top level (did you mean 'batch'?)\n");
  CHECK(FaultOf("run: {modeldir: x}") ==
        "unknown key 'modeldir' in run (did you mean 'model_dir'?)\n");
  CHECK(FaultOf("run: {shards: 3}") ==
        "unknown key 'shards' in run ('shards' belongs to run.cores)\n");
  CHECK(FaultOf("model_dir: x") ==
        "unknown key 'model_dir' at the top level ('model_dir' belongs to run)\n");
  CHECK(FaultOf("run: {cores: {batch: 3}}") ==
        "unknown key 'batch' in run.cores ('batch' belongs to the top level)\n");
  CHECK(FaultOf("run: {cores: {frobnicate: 3}}") ==
        "unknown key 'frobnicate' in run.cores (known here: shards, per_loop)\n");
  CHECK(FaultOf("optimizer: {type: Sgd, momentum: 1}") ==
        "unknown key 'momentum' in optimizer ('momentum' is an option of Momentum, not of Sgd)\n");
}

TEST_CASE("a section that is present needs its required keys") {
  CHECK(FaultLines(ReadSample("name: x\n")) == "1:1 missing key 'version' at the top level\n");
  CHECK(FaultLines(ReadSample("version: 1\ninputs:\n  train: {repeat: 1}\n")) ==
        "3:3 missing key 'files' in inputs.train\n");
  CHECK(FaultOf("optimizer: Momentum") ==
        "missing key 'momentum' in optimizer (momentum: fraction kept)\n");
}

TEST_CASE("a section of several types is identified by its type") {
  CHECK(std::get<Sgd>(*JobOf("optimizer: Sgd").optimizer).rate == 0.1);
  CHECK(
      std::get<Momentum>(*JobOf("optimizer: {type: HeavyBall, momentum: 1}").optimizer).momentum ==
      1);
  CHECK(std::get<Sgd>(*JobOf("optimizer: {type: \"${X:-Sgd}\"}").optimizer).rate == 0.1);
  CHECK_FALSE(JobOf("optimizer: null").optimizer.has_value());
  CHECK(FaultOf("optimizer: {type: Sdg}") ==
        "optimizer: unknown type 'Sdg' (did you mean 'Sgd'?)\n");
  CHECK(FaultOf("optimizer: Adam") ==
        "optimizer: unknown type 'Adam' (one of 'Sgd', 'Momentum')\n");
  CHECK(FaultOf("optimizer: {rate: 1}") ==
        "missing key 'type' in optimizer (one of 'Sgd', 'Momentum')\n");
  CHECK(FaultOf("optimizer: [Sgd]") == "optimizer: expected a section with 'type', found a list\n");
  CHECK(FaultOf("inputs: {a: {files: [b], map: [{op: corp}]}}") ==
        "inputs.a.map[0]: unknown op 'corp' (did you mean 'crop'?)\n");
}

TEST_CASE("a value of several types is identified by its kind") {
  const auto input = [](const std::string& text) {
    return JobOf("inputs: {a: {files: [b], " + text + "}}").inputs.at("a");
  };
  CHECK(std::get<int64_t>(input("shuffle: 1e3").shuffle) == 1000);
  CHECK(std::get<std::string>(input("shuffle: off").shuffle) == "off");
  CHECK(std::get<bool>(input("cache: true").cache));
  CHECK(std::get<std::string>(input("cache: \"true\"").cache) == "true");
  CHECK(std::get<int64_t>(JobOf("run: {cores: {per_loop: 7}}").run.cores.per_loop) == 7);
  CHECK(std::get<std::string>(JobOf("run: {cores: {per_loop: auto}}").run.cores.per_loop) ==
        "auto");
  CHECK(FaultOf("run: {cores: {per_loop: atuo}}") ==
        "run.cores.per_loop: expected an integer, a period or 'auto', found 'atuo' (did you mean "
        "'auto'?)\n");
  CHECK(FaultOf("run: {cores: {per_loop: [1]}}") ==
        "run.cores.per_loop: expected an integer, a period or 'auto', found a list\n");
  CHECK(std::get<double>(std::get<Momentum>(
                             *JobOf("optimizer: {type: Momentum, rate: 3, momentum: 1}").optimizer)
                             .rate) == 3.0);
}

TEST_CASE("a section, or several of them by name") {
  const Sample one = JobOf("eval: {input: a}");
  CHECK(std::get<Evaluation>(one.eval).input == "a");
  const Sample several = JobOf("eval: {x: {input: a}, y: {input: b, steps: 3}}");
  const auto& named = std::get<std::map<std::string, Evaluation>>(several.eval);
  CHECK(named.at("x").steps == 100);
  CHECK(named.at("y").steps == 3);
  CHECK(FaultOf("eval: {inptu: a}") ==
        "missing key 'input' in eval (input: one of inputs)\n"
        "unknown key 'inptu' in eval (did you mean 'input'?)\n");
}

TEST_CASE("variables are substituted when a value is read") {
  const Sample job = JobOf(
      "name: run_${params.n}\n"
      "batch: \"${params.n}\"\n"
      "scale: ${params.rate}\n"
      "params: {n: 4, rate: 1/8, again: \"${params.n}${params.n}\"}\n"
      "run: {model_dir: \"${DATA}/${name}/$${name}\", save_every: \"${COUNT}ep\"}\n"
      "rates: [\"${NOPE:-3}\", \"${EMPTY:-4}\", \"${A:-${B:-5}}\", \"${COUNT:-1}\"]");
  CHECK(job.name == "run_4");
  CHECK(job.batch == 4);
  CHECK(job.scale == 0.125);
  CHECK(job.params.at("again").text == "44");
  CHECK(job.run.model_dir == "/data/run_4/${name}");
  CHECK(job.run.save_every == Period{7, Period::Unit::kEpochs});
  CHECK(job.rates == std::vector<double>{3, 4, 5, 7});
  // The name of the file replaces a missing name of the job.
  CHECK(JobOf("run: {model_dir: \"runs/${name}\"}").run.model_dir == "runs/job");
  CHECK_FALSE(JobOf("run: {model_dir: \"${NOPE:-null}\"}").run.model_dir.has_value());
}

TEST_CASE("unknown variables are faults") {
  CHECK(FaultOf("name: ${NOPE}") ==
        "name: unknown variable 'NOPE' (set it in the environment, or write ${NOPE:-default})\n");
  CHECK(FaultOf("params: {rate: 1}\nname: ${params.rat}") ==
        "name: unknown variable 'params.rat' (did you mean '${params.rate}'?)\n");
  CHECK(FaultOf("name: ${params.x}") == "name: unknown variable 'params.x' (add x to 'params:')\n");
  CHECK(FaultOf("name: ${run}\nrun: {keep: 1}") == "name: 'run' is not a scalar\n");
  CHECK(FaultOf("name: \"${NOPE\"") == "name: '${' lacks its '}' (write $${ for a literal ${)\n");
  CHECK(FaultOf("name: ${mode}\nmode: ${name}") ==
        "name: its variables refer to each other in a cycle\n"
        "mode: its variables refer to each other in a cycle\n");
  CHECK(FaultOf("batch: \"${DATA}\"") ==
        "batch: expected an integer, found '/data', the value of ${DATA}\n");
}

TEST_CASE("the environment is the process's") {
  CHECK(ProcessEnvironment("PATH").has_value());
  CHECK_FALSE(ProcessEnvironment("TPUEST_NO_SUCH_VARIABLE").has_value());
}

TEST_CASE("input paths are relative to the file that names them") {
  const auto job = [](const std::string& path) {
    return ReadSample(
               "version: 1\ninputs: {a: {files: [x/*.rec, /abs, \"\"], vocabulary: ../v}}\n"
               "run: {model_dir: runs}\n",
               {}, path)
        .job;
  };
  CHECK(job("configs/a.yaml").inputs.at("a").files ==
        std::vector<std::string>{"configs/x/*.rec", "/abs", ""});
  CHECK(job("configs/a.yaml").inputs.at("a").vocabulary == "v");
  CHECK(job("configs/a.yaml").run.model_dir == "runs");
  CHECK(job("a.yaml").inputs.at("a").files[0] == "x/*.rec");
}

TEST_CASE("all faults are reported at once, in the order of the lines") {
  const Outcome outcome = ReadSample(
      "rates: 3\n"
      "nmae: x\n"
      "batch: 010\n"
      "run: {keep: 300, keep: 1}\n"
      "scale: [\n1]\n");
  CHECK(FaultLines(outcome) ==
        "1:1 missing key 'version' at the top level\n"
        "1:8 rates: expected a list, found '3'\n"
        "2:1 unknown key 'nmae' at the top level\n"
        "3:8 batch: expected an integer, found '010'\n"
        "4:13 run.keep: expected an integer from 0 to 255, found '300'\n"
        "4:18 duplicate key 'keep'\n"
        "5:8 scale: expected a number, found a list\n");
}

}  // namespace
}  // namespace tpuest::config
