#include "models/blocks/expand.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "config/flow_text.h"
#include "config/yaml_reader.h"

namespace tpuest::models {
namespace {

constexpr std::string_view kNet = R"(
models:
  net18: {depth: 18}
  net50: {depth: 50}
parameters: {depth: required, classes: 10, width: "${depth * 2}"}
blocks:
  pair:
    parameters: {units: required}
    layers:
      - {type: dense, units: "${units}"}
      - {type: activation, activation: relu}
layers:
  - {block: pair, repeat: 2, units: "${width + i}"}
  - {type: dense, units: "${classes}"}
head: {type: MultiClassHead, n_classes: "${classes}"}
)";

std::optional<ModelFile> Find(std::string_view type) {
  if (type != "net18" && type != "net50") return std::nullopt;
  return ModelFile{.name = "net.yaml", .text = kNet};
}

// The expanded model, one line per layer and key; or the faults, one per line.
std::string Written(const std::string& model) {
  config::Sources sources;
  Faults faults;
  config::Tree job;
  job.root = config::ParseYaml("params: {size: 5}\nmodel:\n" + model, "job.yaml",
                               {config::Origin::Kind::kJobFile, ""}, sources, faults);
  ExpandModel(job, Find, sources, faults);
  std::string text;
  for (const Fault& fault : faults.list()) {
    text += fmt::format("{}:{}: {} ({})\n", fault.place.line, fault.place.column, fault.message,
                        fault.hint);
  }
  if (!text.empty()) return text;
  for (const config::Node& child : job.root.Find("model")->children) {
    if (child.key != "layers") {
      text += fmt::format("{}: {}\n", child.key, config::FlowText(child));
      continue;
    }
    for (const config::Node& layer : child.children) {
      text +=
          fmt::format("{}:{} {}\n", layer.place.file, layer.place.line, config::FlowText(layer));
    }
  }
  return text;
}

TEST_CASE("a plain list of layers stays as it is, with the job's variables") {
  CHECK(Written(R"(  type: Sequential
  layers:
    - {type: dense, units: "${params.size}", name: "${name}_${X:-y}"}
)") == R"(type: Sequential
job.yaml:5 {type: dense, units: "${params.size}", name: "${name}_${X:-y}"}
)");
}

TEST_CASE(
    "repeat, if and formulas expand; a formula alone keeps its type, a formula inside a text "
    "becomes text") {
  CHECK(Written(R"(  layers:
    - {type: dense, repeat: 3, if: i != 1, units: "${4 * 2 ** i}", name: "dense${i}", activation: "${none if i == 0 else 'relu'}"}
    - {type: dense, repeat: [{u: 1, n: a}, {u: 2, n: b}], units: "${u}", name: "${n}"}
)") == R"(job.yaml:4 {type: dense, units: 4, name: dense0, activation: null}
job.yaml:4 {type: dense, units: 16, name: dense2, activation: relu}
job.yaml:5 {type: dense, units: 1, name: a}
job.yaml:5 {type: dense, units: 2, name: b}
)");
}

TEST_CASE("a block has parameters, its own labels, and the layer before it as `input`") {
  CHECK(Written(R"(  blocks:
    residual:
      parameters: {units: required, twice: "${2 * units}", shortcut: false}
      layers:
        - {type: dense, if: shortcut, inputs: input, units: "${units}", as: side}
        - {type: dense, inputs: input, units: "${twice}"}
        - {type: dense, units: "${units}", as: main}
        - {type: add, inputs: [main, "${'side' if shortcut else 'input'}"]}
  layers:
    - {type: flatten}
    - {block: residual, units: 4, shortcut: true}
    - {block: residual, units: 5, inputs: image}
)") == R"(job.yaml:12 {type: flatten}
job.yaml:7 {type: dense, inputs: "@0", units: 4}
job.yaml:8 {type: dense, inputs: "@0", units: 8}
job.yaml:9 {type: dense, units: 4}
job.yaml:10 {type: add, inputs: ["@3", "@1"]}
job.yaml:8 {type: dense, inputs: image, units: 10}
job.yaml:9 {type: dense, units: 5}
job.yaml:10 {type: add, inputs: ["@6", image]}
)");
}

TEST_CASE("blocks nest, and the first layer takes its block's inputs") {
  CHECK(Written(R"(  blocks:
    inner: {parameters: {n: required}, layers: [{type: dense, units: "${n}"}]}
    outer: {layers: [{block: inner, n: 1}, {block: inner, repeat: 2, n: "${10 + i}"}]}
    merge: {layers: [{type: add, inputs: [left, right]}]}
  layers:
    - {block: outer, inputs: a, as: x}
    - {block: merge, inputs: {left: x, right: b}}
)") == R"(job.yaml:4 {type: dense, units: 1, inputs: a}
job.yaml:4 {type: dense, units: 10}
job.yaml:4 {type: dense, units: 11}
job.yaml:6 {type: add, inputs: ["@2", b]}
)");
}

TEST_CASE("the sections of a repeat set the parameters of the block, except those set beside it") {
  const std::string block =
      "  blocks: {b: {parameters: {a: relu, u: required}, layers: [{type: dense, units: \"${u}\", "
      "activation: \"${a}\"}]}}\n";
  CHECK(Written(block + "  layers: [{block: b, repeat: [{a: tanh, u: 3}, {u: 4}]}]\n") ==
        "job.yaml:3 {type: dense, units: 3, activation: tanh}\n"
        "job.yaml:3 {type: dense, units: 4, activation: relu}\n");
  CHECK(Written(block + "  layers: [{block: b, u: \"${u * 2}\", repeat: [{u: 3}]}]\n") ==
        "job.yaml:3 {type: dense, units: 6, activation: relu}\n");
  CHECK(Written(block + "  layers: [{block: b, repeat: [{u: 3, uu: 4}]}]\n") ==
        "4:39: repeat gives 'uu', which the item does not use (parameters of its block: a, u)\n");
  CHECK(Written("  layers: [{type: dense, repeat: [{units: 3}]}]\n") ==
        "3:36: repeat gives 'units', which the item does not use (use it in the item: "
        "KEY: ${units})\n");
}

TEST_CASE("blocks see the model's parameters, unless their own have the name") {
  const std::string parameters = "  parameters: {u: 3, a: relu}\n";
  const std::string block =
      "  blocks: {b: {parameters: {a: tanh}, layers: [{type: dense, units: \"${u}\", activation: "
      "\"${a}\"}]}, c: {layers: [{block: b}]}}\n";
  CHECK(Written(parameters + block + "  layers: [{block: b}, {block: c}]\n") ==
        "job.yaml:4 {type: dense, units: 3, activation: tanh}\n"
        "job.yaml:4 {type: dense, units: 3, activation: tanh}\n");
}

TEST_CASE("a model file is a model of type Functional, with its head if the job has none") {
  CHECK(Written("  type: net18\n  classes: 3\n  precision: bfloat16\n") == R"(type: Functional
precision: bfloat16
net.yaml:10 {type: dense, units: 36}
net.yaml:11 {type: activation, activation: relu}
net.yaml:10 {type: dense, units: 37}
net.yaml:11 {type: activation, activation: relu}
net.yaml:14 {type: dense, units: 3}
head: {type: MultiClassHead, n_classes: 3}
)");
  CHECK(Written("  type: net50\n  width: 1\n  head: mine\n").find("MultiClassHead") ==
        std::string::npos);
}

TEST_CASE("a job's own model has parameters, which its other keys may name") {
  CHECK(Written(R"(  type: Functional
  parameters: {classes: 3, units: "${classes * 2}"}
  layers: [{type: dense, units: "${units}"}]
  head: {type: MultiClassHead, n_classes: "${classes}"}
)") == R"(type: Functional
job.yaml:5 {type: dense, units: 6}
head: {type: MultiClassHead, n_classes: 3}
)");
}

TEST_CASE("a model file can also be a layer") {
  CHECK(
      Written(R"(  layers:
    - {type: net18, name: base, trainable: false, classes: 2}
    - {type: dense, units: 1}
)") ==
      R"(job.yaml:4 {type: functional, name: base, trainable: false, layers: [{type: dense, units: 36}, {type: activation, activation: relu}, {type: dense, units: 37}, {type: activation, activation: relu}, {type: dense, units: 2}]}
job.yaml:5 {type: dense, units: 1}
)");
}

TEST_CASE("faults are reported at their line and column, all at once") {
  CHECK(Written(R"(  blocks:
    b: {parameters: {n: required, m: 1}, layers: [{type: dense, units: "${n + k}"}]}
  layers:
    - {block: c, n: 1}
    - {block: b, m: 2}
    - {block: b, n: 1, p: 2}
    - {type: dense, units: "${2 * }"}
    - {type: dense, repeat: -1}
    - {type: dense, if: 1 +}
    - {block: b, n: 3}
)") == R"(6:15: unknown block 'c' (there are: b)
7:15: block 'b' needs 'n' ()
8:24: block 'b' has no parameter 'p' (it has: n, m)
9:35: a value is missing at the end ()
10:29: repeat is -1, expected an integer from 0 to 10000 (write an integer, or a list of sections: [{filters: 16}, {filters: 32}])
11:28: a value is missing at the end ()
4:79: unknown parameter 'k' (there are: m, n)
)");
  CHECK(Written("  type: net50\n  clases: 3\n") ==
        "4:3: net50 has no parameter 'clases' (did you mean 'classes'?)\n");
}

TEST_CASE("a block that uses itself ends, and so does a model of too many layers") {
  CHECK(Written("  blocks: {a: {layers: [{block: a}]}}\n  layers: [{block: a}]\n") ==
        "3:33: block 'a' uses itself ()\n");
  const std::string many = Written(
      "  blocks: {a: {layers: [{type: x, repeat: 9000}]}}\n  layers: [{block: a, repeat: 9000}]\n");
  CHECK(many.starts_with("3:25: a model has at most 20000 layers"));
}

}  // namespace
}  // namespace tpuest::models
