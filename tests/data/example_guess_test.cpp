#include "data/examples/example_guess.h"

#include <doctest/doctest.h>

#include <vector>

#include "core/base/error.h"

namespace tpuest::data {
namespace {

std::string Passenger(std::vector<float> fares, bool has_name) {
  ExampleWriter writer;
  writer.Int("age", 30);
  writer.Floats("fares", fares);
  if (has_name) writer.Bytes("name", "x");
  return writer.Finish();
}

TEST_CASE("as many values in every example are a FixedLenFeature, other lists a VarLenFeature") {
  ExampleGuess guess;
  guess.Add(Passenger({1, 2}, true));
  guess.Add(Passenger({3, 4}, false));
  CHECK(guess.Text() ==
        "parse_example:\n"
        "  age: {type: FixedLenFeature, shape: [], dtype: int64}\n"
        "  fares: {type: FixedLenFeature, shape: [2], dtype: float32}\n"
        "  name: {type: VarLenFeature, dtype: string}  # in 1 of 2 records\n");
  guess.Add(Passenger({5}, true));
  CHECK(guess.Text().find("  fares: {type: VarLenFeature, dtype: float32}  # 1 to 2 values\n") !=
        std::string::npos);
}

TEST_CASE("a feature of several types says so, and one without values is left out") {
  ExampleGuess guess;
  ExampleWriter writer;
  writer.Int("a", 1);
  writer.Floats("empty", {});
  guess.Add(writer.Finish());
  writer.Floats("a", std::vector<float>{1.5F});
  guess.Add(writer.Finish());
  CHECK(guess.Text() ==
        "parse_example:\n"
        "  a: {type: FixedLenFeature, shape: [], dtype: int64}  # lists of several types; only one "
        "can be read\n");
}

TEST_CASE("what is no tf.Example is refused") {
  ExampleGuess guess;
  CHECK_THROWS_AS(guess.Add("no example"), Error);
}

}  // namespace
}  // namespace tpuest::data
