#include "core/io/examples/example.h"

#include "core/io/proto.h"
#include "core/io/protos.h"
#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

// Features in the form of expected.json.
nlohmann::json Parsed(std::string_view bytes) {
  nlohmann::json features = nlohmann::json::object();
  ParseExample(bytes, [&](const FeatureView& feature) {
    nlohmann::json values = nlohmann::json::array();
    if (feature.kind == FeatureKind::kBytes) {
      std::vector<std::string_view> read(feature.count);
      feature.CopyBytes(read);
      for (const std::string_view value : read) values.push_back(std::string(value));
    } else if (feature.kind == FeatureKind::kFloat) {
      std::vector<float> read(feature.count);
      feature.CopyFloats(read);
      for (const float value : read) values.push_back(value);
    } else if (feature.kind == FeatureKind::kInt64) {
      std::vector<int64_t> read(feature.count);
      feature.CopyInts(read);
      for (const int64_t value : read) values.push_back(value);
    }
    const bool none = feature.kind == FeatureKind::kNone;
    features[std::string(feature.name)] = {{"kind", none ? "" : std::string(NameOf(feature.kind))},
                                           {"values", values}};
  });
  return features;
}

nlohmann::json WithBytes(nlohmann::json features) {
  for (auto& [name, feature] : features.items()) {
    if (feature["kind"] != "bytes_list") continue;
    for (nlohmann::json& value : feature["values"]) value = FromHex(value.get<std::string>());
  }
  return features;
}

// tag, length, bytes
std::string Field(char tag, const std::string& bytes) {
  return std::string(1, tag) + static_cast<char>(bytes.size()) + bytes;
}

std::string ExampleOf(const std::string& feature) {
  return Field(10, Field(10, Field(10, "x") + Field(18, feature)));
}

}  // namespace

TEST_CASE("TensorFlow's Examples are read, of every kind") {
  for (size_t i = 0; i < Expected("examples").size(); ++i) {
    CAPTURE(i);
    CHECK(Parsed(FromHex(Expected("records")[i])) == WithBytes(Expected("examples")[i]));
  }
  CHECK(Parsed("") == nlohmann::json::object());
}

TEST_CASE("lists of numbers are read packed, unpacked and mixed") {
  const std::string one = FromHex("0000803f");  // 1.0
  const std::string two = FromHex("00000040");
  CHECK(Parsed(ExampleOf(Field(18, Field(10, one + two))))["x"]["values"] ==
        nlohmann::json{1.0, 2.0});
  CHECK(Parsed(ExampleOf(Field(18, "\x0D" + one + "\x0D" + two)))["x"]["values"] ==
        nlohmann::json{1.0, 2.0});
  CHECK(Parsed(ExampleOf(Field(18, "\x0D" + two + Field(10, one))))["x"]["values"] ==
        nlohmann::json{2.0, 1.0});
  const std::string minus_one = std::string(9, '\xFF') + '\1';
  CHECK(Parsed(ExampleOf(Field(26, Field(10, "\x05" + minus_one))))["x"]["values"] ==
        nlohmann::json{5, -1});
  CHECK(
      Parsed(ExampleOf(Field(26, "\x08\x05\x08" + minus_one + Field(10, "\x07"))))["x"]["values"] ==
      nlohmann::json{5, -1, 7});
}

TEST_CASE("fields of no known number are passed over") {
  const std::string strange = "\x58\x07" + Field(0x5A, "??");  // 11: a varint, then bytes
  const std::string feature = strange + Field(26, Field(10, "\x07") + strange) + strange;
  const std::string entry = strange + Field(10, "x") + Field(18, feature) + strange;
  CHECK(Parsed(strange + Field(10, strange + Field(10, entry)) + strange)["x"]["values"] ==
        nlohmann::json{7});
}

TEST_CASE("a malformed Example is reported with its byte") {
  const auto message = [](const std::string& bytes) {
    const Thrown thrown = ErrorOf([&] { Parsed(bytes); });
    CHECK(thrown.code == Code::kData);
    return thrown.message;
  };
  CHECK(message("\x0A\x05xyz") ==
        "tf.Example is malformed at byte 2: a length of 5 where 3 bytes are left");
  CHECK(message("\x0A") == "tf.Example is malformed at byte 1: a number that does not end");
  CHECK(message("\x0F") == "tf.Example is malformed at byte 1: a field of unknown kind 7");
  CHECK(message(ExampleOf(Field(18, Field(10, "abc")))) ==
        "tf.Example is malformed at byte 16: 3 bytes before it are no whole floats");
  CHECK(message(ExampleOf(Field(26, Field(10, "\x05\xFF")))) ==
        "tf.Example is malformed at byte 15: a number before it does not end");
  CHECK(message(ExampleOf(Field(26, Field(10, std::string(10, '\xFF') + '\1'))))
            .ends_with("a number before it does not end"));
}

TEST_CASE("reading another kind or count than there is, is our own mistake") {
  ExampleWriter writer;
  writer.Int("x", 3);
  ParseExample(writer.Finish(), [](const FeatureView& feature) {
    std::vector<float> one(1);
    CHECK_THROWS_AS(feature.CopyFloats(one), InternalError);
    std::vector<int64_t> two(2);
    CHECK_THROWS_AS(feature.CopyInts(two), InternalError);
  });
}

TEST_CASE("Examples are written with sorted names, as protobuf reads them") {
  ExampleWriter writer;
  const std::vector<std::string_view> words = {"a", "", "c"};
  writer.Ints("zeta", std::vector<int64_t>{-1, 300});
  writer.Bytes("words", words);
  writer.Floats("alpha", std::vector<float>{0.5F, -2});
  writer.Floats("none", std::vector<float>{});
  const std::string bytes = writer.Finish();
  std::vector<std::string> names;
  ParseExample(bytes, [&](const FeatureView& feature) { names.emplace_back(feature.name); });
  CHECK(names == std::vector<std::string>{"alpha", "none", "words", "zeta"});

  pb::Example example;
  FromBytes(bytes, example, "example", Code::kData);
  const auto& features = example.features().feature();
  CHECK(features.at("zeta").int64_list().value(0) == -1);
  CHECK(features.at("zeta").int64_list().value(1) == 300);
  CHECK(features.at("words").bytes_list().value_size() == 3);
  CHECK(features.at("alpha").float_list().value(1) == -2);
  CHECK(features.at("none").has_float_list());
  CHECK(ToBytes(example) == bytes);
}

TEST_CASE("an Example that TensorFlow wrote is written again to the same bytes") {
  for (const nlohmann::json& hex : Expected("records")) {
    const std::string theirs = FromHex(hex);
    if (theirs.empty()) continue;
    pb::Example example;
    FromBytes(theirs, example, "example", Code::kData);
    CHECK(ToBytes(example) == theirs);
  }
}

}  // namespace tpuest
