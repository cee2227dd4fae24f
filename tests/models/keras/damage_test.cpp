// Whatever is done to the bytes of Keras' files, they are read or refused with one clear error.

#include <fmt/format.h>

#include <functional>
#include <random>

#include "core/base/error.h"
#include "core/base/text.h"
#include "core/io/zip/zip.h"
#include "models/keras/keras_archive.h"
#include "tests/core/io/damaged.h"
#include "tests/models/keras/testdata.h"

namespace tpuest {
namespace {

void ReadAll(const std::vector<KerasWeight>& weights) {
  for (const KerasWeight& weight : weights) static_cast<void>(weight.Read());
}

void ReadObject(const KerasObject& object) {
  ReadAll(object.weights);
  for (const auto& [class_name, layers] : object.layers) {
    for (const KerasObject& layer : layers) ReadObject(layer);
  }
  for (const auto& [name, part] : object.parts) ReadObject(part);
}

void ReadWhole(const std::string& bytes) {
  const KerasFile file = KerasFile::Of("file", bytes);
  for (const KerasLayerWeights& layer : file.layers()) ReadAll(layer.weights);
  ReadAll(file.optimizer().weights);
  ReadObject(file.root());
}

// Whether it is refused; what refuses it must name the file, be of a file's code and be short.
bool IsRefused(const std::string& bytes) {
  try {
    ReadWhole(bytes);
  } catch (const Error& error) {
    CHECK(error.code() == Code::kData);
    CHECK(error.faults().size() == 1);
    CHECK(StartsWith(error.message(), "file: "));
    CHECK(error.message().size() < 1500);
    return true;
  }
  return false;
}

int Refusals(const std::string& whole, int count, unsigned seed) {
  std::mt19937 random(seed);
  int refused = 0;
  for (int i = 0; i < count; ++i) refused += static_cast<int>(IsRefused(Damaged(whole, random)));
  return refused;
}

TEST_CASE("damaged .h5 files are read or refused, without a crash") {
  for (const std::string file :
       {"k215_trainable.h5", "k39_nested.h5", "k39_packed.h5", "k215_by_object.weights.h5",
        "k39_tracked.weights.h5", "k39_latest.weights.h5"}) {
    const std::string whole = KerasTestFile(file);
    REQUIRE_FALSE(IsRefused(whole));
    CHECK_MESSAGE(Refusals(whole, 1200, 7) > 100, file);
  }
}

TEST_CASE("checksums reveal any damage to an archive") {
  for (const std::string file : {"k212_denses.keras", "k215_nested.keras", "k39_nested.keras"}) {
    const std::string whole = KerasTestFile(file);
    REQUIRE_FALSE(IsRefused(whole));
    // Dates, attributes and the like may be what they want.
    CHECK_MESSAGE(Refusals(whole, 800, 11) > 740, file);
  }
}

TEST_CASE(
    "damaged members of an archive with right checksums are read or refused, without a crash") {
  const std::string whole = KerasTestFile("k39_nested.keras");
  const ZipReader zip("file", whole, nullptr);
  const std::string config(zip.Read("config.json").bytes);
  const std::string weights(zip.Read("model.weights.h5").bytes);
  std::mt19937 random(13);
  int refused = 0;
  for (int i = 0; i < 800; ++i) {
    const bool in_config = i % 4 == 0;
    const std::string damaged = Damaged(in_config ? config : weights, random);
    refused += static_cast<int>(
        IsRefused(ZipArchive({{"config.json", in_config ? damaged : config},
                              {"model.weights.h5", in_config ? weights : damaged}})));
  }
  CHECK(refused > 100);
}

TEST_CASE("every cut of a file is refused") {
  const std::string keras =
      KerasArchiveBytes({.config = {{"class_name", "A"}, {"config", {}}},
                         .objects = {{"layers/dense", {Tensor::Scalar(1.0F)}}}});
  REQUIRE_FALSE(IsRefused(keras));
  for (size_t size = 0; size < keras.size(); ++size) CHECK(IsRefused(keras.substr(0, size)));
  const std::string h5 = KerasTestFile("k215_normalized.h5");
  for (size_t size = 0; size < h5.size(); size += 7) CHECK(IsRefused(h5.substr(0, size)));
}

}  // namespace
}  // namespace tpuest
