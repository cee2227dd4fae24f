#include <doctest/doctest.h>

#include "tests/config/sample_job.h"

namespace tpuest::config {
namespace {

std::string Row(const SchemaKey& key) {
  std::string text = key.path;
  if (!key.of_type.empty()) text += " (" + key.of_type + ")";
  text += " | " + key.type + " | " + key.default_text;
  if (key.required) text += " | required";
  if (key.tpuest) text += " | tpuest";
  return text;
}

TEST_CASE("the schema lists every key with type, default, and whose word it is") {
  std::string rows;
  for (const SchemaKey& key : Schema<Sample>()) rows += Row(key) + "\n";
  CHECK(rows ==
        "version | an integer |  | required\n"
        "name | a string | unnamed\n"
        "mode | one of 'train', 'evaluate' | train\n"
        "verbose | true or false | true\n"
        "batch | an integer | 32\n"
        "scale | a number | 1\n"
        "params | a section of keys | {}\n"
        "run | a section of keys | \n"
        "run.model_dir | a string or null | null\n"
        "run.save_every | a period such as 500, 2ep, 90s, 10m or 1h | 500\n"
        "run.keep | an integer | 5\n"
        "run.cores | a section of keys |  | tpuest\n"
        "run.cores.shards | an integer or null | null\n"
        "run.cores.per_loop | an integer, a period or 'auto' | 2\n"
        "inputs | a section of keys | {}\n"
        "inputs.<name>.files | a list |  | required\n"
        "inputs.<name>.vocabulary | a string or null | null\n"
        "inputs.<name>.map | a list of sections | []\n"
        "inputs.<name>.map[].size (crop) | a list | []\n"
        "inputs.<name>.map[].by (scale) | a number | 1\n"
        "inputs.<name>.shuffle | 'full', 'off' or an integer | full\n"
        "inputs.<name>.cache | true, false or a string | false\n"
        "inputs.<name>.repeat | an integer | 1\n"
        "optimizer | a section with 'type' or null | null\n"
        "optimizer.rate (Sgd) | a number | 0.1\n"
        "optimizer.rate (Momentum) | a number or a section with 'type' | 0.1\n"
        "optimizer.rate.start (decay) | a number | 1\n"
        "optimizer.rate.steps (decay) | an integer |  | required\n"
        "optimizer.momentum (Momentum) | a number |  | required\n"
        "eval | a section of keys | {input: \"\", steps: 100}\n"
        "eval.input | a string |  | required\n"
        "eval.steps | an integer or null | 100\n"
        "eval.<name>.input | a string |  | required\n"
        "eval.<name>.steps | an integer or null | 100\n"
        "rates | a list | []\n"
        "extra | a value | null | tpuest\n");
}

TEST_CASE("allowed words and types come with the key") {
  for (const SchemaKey& key : Schema<Sample>()) {
    if (key.path == "mode") CHECK(key.values == std::vector<std::string>{"train", "evaluate"});
    if (key.path == "optimizer") CHECK(key.values == std::vector<std::string>{"Sgd", "Momentum"});
    if (key.path == "batch") CHECK(key.help == "examples");
  }
}

struct Nested {
  int x = 1;
  std::vector<Nested> inner;

  template <class V>
  void Visit(V& v) {
    v("x", x);
    v("inner", inner);
  }
};

TEST_CASE("a struct inside itself is listed once and read at any depth") {
  std::string rows;
  for (const SchemaKey& key : Schema<Nested>()) rows += key.path + "\n";
  CHECK(rows == "x\ninner\n");
  CHECK(SectionsWithKey(*TypeOf<Nested>(), "x") == std::vector<std::string>{""});
  Sources sources;
  const Loaded<Nested> loaded =
      ParseJob<Nested>("inner: [{inner: [{x: 5}]}]\n", "t.yaml",
                       {.overrides = {{"inner.0.inner.0.inner=[{x: 6}]"}}}, sources);
  CHECK(loaded.job.inner.at(0).inner.at(0).x == 5);
  CHECK(loaded.job.inner.at(0).inner.at(0).inner.at(0).x == 6);
}

}  // namespace
}  // namespace tpuest::config
