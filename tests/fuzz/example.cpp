// tf.Examples: read, parsed as declared features, and used to guess features.

#include "core/io/examples/example.h"

#include "data/examples/example_guess.h"
#include "data/examples/example_parser.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/targets.h"

namespace tpuest::fuzz {
namespace {

void Copy(const FeatureView& feature) {
  // A value is a byte or more.
  Check(feature.count <= feature.list.size(), "more values than bytes");
  if (feature.kind == FeatureKind::kBytes) {
    std::vector<std::string_view> values(feature.count);
    feature.CopyBytes(values);
  } else if (feature.kind == FeatureKind::kFloat) {
    std::vector<float> values(feature.count);
    feature.CopyFloats(values);
  } else if (feature.kind == FeatureKind::kInt64) {
    std::vector<int64_t> values(feature.count);
    feature.CopyInts(values);
  }
}

// Features of each kind, with the names in the seeds.
const data::ExampleParser& Parser() {
  static const data::ExampleParser parser(
      {
          {"label",
           data::FixedLenFeature{.shape = {}, .dtype = "int64", .default_value = Raw{"7"}}},
          {"image",
           data::FixedLenFeature{.shape = {}, .dtype = "string", .default_value = Raw{"x"}}},
          {"x",
           data::FixedLenFeature{.shape = {2}, .dtype = "float32", .default_value = Raw{"[1, 2]"}}},
          {"ids", data::VarLenFeature{.dtype = "int64"}},
          {"words", data::VarLenFeature{.dtype = "string"}},
          {"weights", data::VarLenFeature{.dtype = "float32"}},
      },
      "parse_example");
  return parser;
}

void Look(const data::Values& values, DType dtype) {
  volatile size_t seen = 0;  // keeps the compiler from removing the reads
  for (int64_t i = 0; i < values.count; ++i) {
    if (dtype == DType::kString) {
      const auto& text = static_cast<const std::string_view*>(values.data)[i];
      if (!text.empty()) seen = seen + static_cast<unsigned char>(text.back());
    } else {
      seen = seen +
             static_cast<const unsigned char*>(values.data)[static_cast<size_t>(i) * SizeOf(dtype)];
    }
  }
}

}  // namespace

void RunExample(std::string_view input) {
  Takes([&] { ParseExample(input, Copy); });
  Takes([&] {
    data::ParsedExample parsed;
    Parser().Parse(input, parsed);
    for (size_t i = 0; i < parsed.values.size(); ++i) {
      Look(parsed.values[i], Parser().columns()[i].dtype);
    }
  });
  data::ExampleGuess guess;
  guess.Add(input);
  (void)guess.Text();
}

}  // namespace tpuest::fuzz
