#include <doctest/doctest.h>

#include <cmath>

#include "config/config.h"
#include "config/flow_text.h"
#include "config/scalars.h"
#include "config/yaml_reader.h"
#include "tests/config/sample_job.h"

namespace tpuest::config {
namespace {

// Writes the value that was read, and reads the result.
Outcome Again(const Outcome& outcome) {
  return ReadSample(WriteResolved(outcome.job, outcome.tree), {}, "/elsewhere/resolved.yaml");
}

TEST_CASE("every value is written with its origin") {
  const Outcome outcome = ReadSample(
      "version: 1\n"
      "params: {lr: 0.05}\n"
      "run:\n"
      "  cores: {shards: 8}\n"
      "inputs:\n"
      "  train:\n"
      "    files: [/a, \"/b c\"]\n"
      "    map: [scale, {op: crop, size: [1, 2]}]\n"
      "optimizer: {type: HeavyBall, momentum: 0.1}\n",
      {{"batch=64"}, {"run.model_dir=runs/x", "--model-dir"}});
  REQUIRE(outcome.rendered == "");
  CHECK(WriteResolved(outcome.job, outcome.tree) ==
        "version: 1                              # job.yaml:1\n"
        "name: unnamed                           # default\n"
        "mode: train                             # default\n"
        "verbose: true                           # default\n"
        "batch: 64                               # command line\n"
        "scale: 1                                # default\n"
        "params:\n"
        "  lr: 0.05                              # job.yaml:2\n"
        "run:\n"
        "  model_dir: runs/x                     # --model-dir\n"
        "  save_every: 500                       # default\n"
        "  keep: 5                               # default\n"
        "  cores:\n"
        "    shards: 8                           # job.yaml:4\n"
        "    per_loop: 2                         # default\n"
        "inputs:\n"
        "  train:\n"
        "    files: [/a, /b c]                   # job.yaml:7\n"
        "    vocabulary: null                    # default\n"
        "    map:\n"
        "      - op: scale                       # job.yaml:8\n"
        "        by: 1                           # default\n"
        "      - op: crop                        # job.yaml:8\n"
        "        size: [1, 2]                    # job.yaml:8\n"
        "    shuffle: full                       # default\n"
        "    cache: false                        # default\n"
        "    repeat: 1                           # default\n"
        "optimizer:\n"
        "  type: Momentum                        # job.yaml:9\n"
        "  rate: 0.1                             # default\n"
        "  momentum: 0.1                         # job.yaml:9\n"
        "eval:\n"
        "  input: \"\"                             # default\n"
        "  steps: 100                            # default\n"
        "rates: []                               # default\n");
  CHECK(WriteShown(outcome.job, outcome.tree) ==
        "version: 1\n"
        "batch: 64\n"
        "params:\n"
        "  lr: 0.05\n"
        "run:\n"
        "  model_dir: runs/x\n"
        "  cores:\n"
        "    shards: 8\n"
        "inputs:\n"
        "  train:\n"
        "    files: [/a, /b c]\n"
        "    map:\n"
        "      - op: scale\n"
        "      - op: crop\n"
        "        size: [1, 2]\n"
        "optimizer:\n"
        "  type: Momentum\n"
        "  momentum: 0.1\n");
}

TEST_CASE("a written job reads back as the same job") {
  const Outcome outcome = ReadSample(
      "version: 1\n"
      "name: \"a: # b\\\"\\n\\te $${x} é\"\n"
      "verbose: false\n"
      "scale: 1/3\n"
      "params: {e: \"$${x}\", n: [1, {a: \"2\"}], z: null, \"yes\": no, \"1\": 1/3, \"\": x}\n"
      "run: {model_dir: \"~\", save_every: 1.5h, cores: {per_loop: 2ep}}\n"
      "inputs:\n"
      "  \"on\": {files: [/010, /a*b], map: [{op: crop, size: []}], shuffle: 3, cache: \"true\"}\n"
      "  \"1e3\": {files: [], vocabulary: /v, shuffle: \"off\"}\n"
      "optimizer: {type: Momentum, rate: {type: decay, start: 1e-7, steps: 1e6}, momentum: 3}\n"
      "eval: {a: {input: \"null\", steps: null}, b: {input: \"0x1\"}}\n"
      "rates: [0.1, 1e22, -.inf, 3]\n"
      "extra: [\"yes\", 1e-4, \"a, b\", plain word]\n");
  REQUIRE(outcome.rendered == "");
  const Outcome again = Again(outcome);
  CHECK(again.rendered == "");
  CHECK(again.job == outcome.job);
  CHECK(WriteShown(Again(again).job, Tree()) == WriteShown(again.job, Tree()));
  CHECK(outcome.job.name == "a: # b\"\n\te ${x} é");
}

TEST_CASE("the written defaults read back as the defaults") {
  const Outcome outcome = ReadSample("version: 1\n");
  const Outcome again = Again(outcome);
  CHECK(again.rendered == "");
  CHECK(again.job == outcome.job);
}

TEST_CASE("a whole double beside integers keeps its point, a string beside sections its quotes") {
  const std::variant<int64_t, double> number = 3.0;
  const std::variant<std::string, Sgd> word = "Sgd";
  const auto text = [](auto value) { return FlowText(ValueOf(value)); };
  CHECK(text(number) == "3.0");
  CHECK(text(3.0) == "3");
  CHECK(text(word) == "\"Sgd\"");
  CHECK(text(std::string("Sgd")) == "Sgd");
  CHECK(text(std::variant<std::string, Sgd>(Sgd{})) == "{type: Sgd, rate: 0.1}");
  CHECK(text(0.1) == "0.1");
  CHECK(text(1e-7) == "1e-07");
  CHECK(text(std::nan("")) == ".nan");
  CHECK(text(std::optional<int>()) == "null");
  CHECK(text(std::map<std::string, double>{{"a", 1}, {"no", 2}}) == "{a: 1, \"no\": 2}");
}

struct Saving {
  Given<int64_t> steps;
  Given<int64_t> secs;

  template <class V>
  void Visit(V& v) {
    v("steps", steps, {.help = "steps between saves"});
    v("secs", secs, {.help = "seconds between saves"});
  }
};

TEST_CASE("an option that is not given is neither null nor a value") {
  Sources sources;
  const Loaded<Saving> loaded = ParseJob<Saving>("steps: null\n", "job.yaml", {}, sources);
  CHECK(loaded.job.steps.is_given());
  CHECK(!loaded.job.steps.has_value());
  CHECK(!loaded.job.secs.is_given());
  CHECK(WriteMinimal(loaded.job, loaded.tree) == "steps: null\n");
  const std::vector<SchemaKey> keys = Schema<Saving>();
  CHECK(keys.at(1).path == "secs");
  CHECK(keys.at(1).default_text.empty());
}

TEST_CASE("relative input paths are written as absolute paths, outputs unchanged") {
  const Outcome outcome =
      ReadSample("version: 1\nrun: {model_dir: runs}\ninputs: {a: {files: [x, \"-\", b]}}\n", {},
                 "configs/job.yaml");
  const std::string text = WriteShown(outcome.job, outcome.tree);
  CHECK(text.find("model_dir: runs\n") != std::string::npos);
  CHECK(text.find("files: [/") != std::string::npos);
  CHECK(text.find("/configs/x, \"-\", ") != std::string::npos);
}

TEST_CASE("strings that could be anything else are quoted") {
  for (const std::string_view plain : {"abc", "a b", "/x/y.z", "float32", "a-b_c", "1abc", "a=b"}) {
    CHECK(StringText(plain) == plain);
  }
  for (const std::string_view other :
       {"",     "1",     "010",   "1e4", "1/2", ".5",   "true", "Yes", "off",
        "null", "~",     "2ep",   "90s", "nan", "a: b", "a #b", " a",  "a ",
        "- a",  "[a]",   "{a}",   "&a",  "*a",  "!a",   "@a",   "a,b", "${x}",
        "'a'",  "\"a\"", "1_000", "é",   "---", "...",  "<<",   "?",   "99999999999999999999"}) {
    const std::string text = StringText(other);
    CHECK(text.front() == '"');
    Faults faults;
    Sources sources;
    const Node node = ParseYaml("k: [" + text + "]\n", "t", {}, sources, faults);
    CHECK(node.children.at(0).children.at(0).text == other);
  }
}

TEST_CASE("a node as flow text is the same node when read again") {
  const std::string text = "a: [1, \"1\", x, null, {b: \"c, d\", \"e f\": -.5}, \"\"]\n";
  Sources sources;
  Faults faults;
  const std::string flow = FlowText(ParseYaml(text, "t", {}, sources, faults));
  CHECK(flow == "{a: [1, \"1\", x, null, {b: \"c, d\", e f: -.5}, \"\"]}");
  CHECK(FlowText(ParseYaml(flow, "t", {}, sources, faults)) == flow);
}

}  // namespace
}  // namespace tpuest::config
