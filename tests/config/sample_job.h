#pragma once
// A made-up job with every kind of field.

#include <doctest/doctest.h>

#include <array>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/config.h"

namespace tpuest::config {

struct Sgd {
  static constexpr std::string_view kType = "Sgd";
  double rate = 0.1;
  bool operator==(const Sgd&) const = default;

  template <class V>
  void Visit(V& v) {
    v("rate", rate, {.help = "learning rate"});
  }
};

struct Decay {
  static constexpr std::string_view kType = "decay";
  double start = 1.0;
  int64_t steps = 0;
  bool operator==(const Decay&) const = default;

  template <class V>
  void Visit(V& v) {
    v("start", start, {.help = "rate at step 0"});
    v("steps", steps, {.help = "steps until half", .required = true});
  }
};

struct Momentum {
  static constexpr std::string_view kType = "Momentum";
  static constexpr std::array<std::string_view, 1> kAliases = {"HeavyBall"};
  std::variant<double, Decay> rate = 0.1;
  double momentum = 0.9;
  bool operator==(const Momentum&) const = default;

  template <class V>
  void Visit(V& v) {
    v("rate", rate, {.help = "learning rate or a schedule"});
    v("momentum", momentum, {.help = "fraction kept", .required = true});
  }
};

struct Crop {
  static constexpr std::string_view kType = "crop";
  static constexpr std::string_view kTypeKey = "op";
  std::vector<int> size;
  bool operator==(const Crop&) const = default;

  template <class V>
  void Visit(V& v) {
    v("size", size, {.help = "rows, columns"});
  }
};

struct Scale {
  static constexpr std::string_view kType = "scale";
  static constexpr std::string_view kTypeKey = "op";
  double by = 1.0;
  bool operator==(const Scale&) const = default;

  template <class V>
  void Visit(V& v) {
    v("by", by, {.help = "factor"});
  }
};

struct Evaluation {
  std::string input;
  std::optional<int64_t> steps = 100;

  bool operator==(const Evaluation&) const = default;

  template <class V>
  void Visit(V& v) {
    v("input", input, {.help = "one of inputs", .required = true});
    v("steps", steps, {.help = "batches; null: all"});
  }
};

struct Input {
  std::vector<std::string> files;
  std::optional<std::string> vocabulary;
  std::vector<std::variant<Crop, Scale>> map;
  std::variant<std::string, int64_t> shuffle = "full";
  std::variant<bool, std::string> cache = false;
  int repeat = 1;
  Place place;

  bool operator==(const Input& o) const {
    return files == o.files && vocabulary == o.vocabulary && map == o.map && shuffle == o.shuffle &&
           cache == o.cache && repeat == o.repeat;
  }

  template <class V>
  void Visit(V& v) {
    v("files", files, {.help = "files or patterns", .required = true, .input_path = true});
    v("vocabulary", vocabulary, {.help = "a word a line", .input_path = true});
    v("map", map, {.help = "operations, in order"});
    v("shuffle", shuffle, {.help = "full, or a window", .values = {"full", "off"}});
    v("cache", cache, {.help = "false, memory, or a path"});
    v("repeat", repeat, {.help = "passes"});
  }
};

struct Cores {
  std::optional<int> shards;
  std::variant<int64_t, Period, std::string> per_loop = 2;
  bool operator==(const Cores&) const = default;

  template <class V>
  void Visit(V& v) {
    v("shards", shards, {.help = "replicas"});
    v("per_loop", per_loop, {.help = "steps a loop", .values = {"auto"}});
  }
};

struct Run {
  std::optional<std::string> model_dir;
  Period save_every{500, Period::Unit::kSteps};
  uint8_t keep = 5;
  Cores cores;
  bool operator==(const Run&) const = default;

  template <class V>
  void Visit(V& v) {
    v("model_dir", model_dir, {.help = "the run's folder"});
    v("save_every", save_every, {.help = "between checkpoints"});
    v("keep", keep, {.help = "checkpoints kept"});
    v("cores", cores, {.help = "replicas", .tpuest = true});
  }
};

struct Sample {
  int64_t version = 0;
  std::string name = "unnamed";
  std::string mode = "train";
  bool verbose = true;
  int64_t batch = 32;
  double scale = 1.0;
  std::map<std::string, Raw> params;
  Run run;
  std::map<std::string, Input> inputs;
  std::optional<std::variant<Sgd, Momentum>> optimizer;
  std::variant<Evaluation, std::map<std::string, Evaluation>> eval;
  std::vector<double> rates;
  Raw extra;
  bool operator==(const Sample&) const = default;

  template <class V>
  void Visit(V& v) {
    v("version", version, {.help = "of the schema", .required = true});
    v("name", name, {.help = "of the job"});
    v("mode", mode, {.help = "what to do", .values = {"train", "evaluate"}});
    v("verbose", verbose, {.help = "say more"});
    v("batch", batch, {.help = "examples"});
    v("scale", scale, {.help = "a factor"});
    v("params", params, {.help = "free"});
    v("run", run, {.help = "where and how often"});
    v("inputs", inputs, {.help = "pipelines by name"});
    v("optimizer", optimizer, {.help = "none by default"});
    v("eval", eval, {.help = "one or several"});
    v("rates", rates, {.help = "numbers"});
    v("extra", extra, {.help = "anything", .tpuest = true});
  }
};

// The outcome of reading a text: the job, or the faults as the user sees them.
struct Outcome {
  Sample job;
  Tree tree;
  std::vector<AppliedOverride> overrides;
  std::vector<Fault> faults;
  std::string rendered;
};

inline Outcome ReadSample(std::string_view text, const std::vector<Override>& overrides = {},
                          const std::string& file = "job.yaml") {
  Outcome outcome;
  Sources sources;
  try {
    outcome.tree.environment = [](const std::string& name) -> std::optional<std::string> {
      if (name == "DATA") return "/data";
      if (name == "COUNT") return "7";
      if (name == "EMPTY") return "";
      return std::nullopt;
    };
    outcome.overrides = ParseJobInto(text, file, {.overrides = overrides}, sources,
                                     ValueOf(outcome.job), outcome.tree);
  } catch (const Error& error) {
    CHECK(error.code() == Code::kUsage);
    outcome.faults = error.faults();
    outcome.rendered = Render(outcome.faults, sources);
  }
  return outcome;
}

// The faults as "line:column message", one per line.
inline std::string FaultLines(const Outcome& outcome) {
  std::string text;
  for (const Fault& fault : outcome.faults) {
    text += std::to_string(fault.place.line) + ":" + std::to_string(fault.place.column) + " " +
            fault.message + "\n";
  }
  return text;
}

}  // namespace tpuest::config
