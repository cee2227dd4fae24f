// Archives that are written: read back here, and the same bytes each time.

#include "models/keras/keras_archive.h"

#include <fmt/format.h>

#include "core/io/hdf5/writer.h"
#include "core/io/zip/zip.h"
#include "tests/models/keras/testdata.h"

namespace tpuest {
namespace {

KerasArchive SmallArchive() {
  return {.config = {{"class_name", "Sequential"}, {"config", {{"name", "net"}}}},
          .objects = {{"layers/dense",
                       {Tensor::Of<float>({2, 1}, {0.5F, -1}), Tensor::Of<float>({1}, {3})}},
                      {"layers/dropout", {}},
                      {"layers/dense_1", {Tensor::Of<float>({1, 1}, {7})}}}};
}

TEST_CASE("a written archive is read back") {
  const KerasFile keras = KerasFile::Of("net.keras", KerasArchiveBytes(SmallArchive()));
  CHECK(keras.kind() == KerasFileKind::kArchive);
  CHECK(keras.config()["config"]["name"] == "net");
  CHECK(keras.keras_version() == "2.15.0");
  const std::vector<KerasObject>& denses = keras.root().layers.at("dense");
  REQUIRE(denses.size() == 2);
  REQUIRE(denses[0].weights.size() == 2);
  CHECK(SameBits(denses[0].weights[0].Read(), Tensor::Of<float>({2, 1}, {0.5F, -1})));
  CHECK(SameBits(denses[0].weights[1].Read(), Tensor::Of<float>({1}, {3})));
  CHECK(SameBits(denses[1].weights[0].Read(), Tensor::Of<float>({1, 1}, {7})));
  CHECK(keras.root().layers.at("dropout")[0].weights.empty());
}

TEST_CASE("the same archive has the same bytes, and members that unzip would find") {
  const std::string bytes = KerasArchiveBytes(SmallArchive());
  CHECK(bytes == KerasArchiveBytes(SmallArchive()));
  const ZipReader zip("net.keras", bytes, nullptr);
  CHECK(zip.Names() ==
        std::vector<std::string>{"config.json", "metadata.json", "model.weights.h5"});
  CHECK(zip.Read("metadata.json").bytes ==
        R"({"keras_version":"2.15.0","date_saved":"1980-01-01@00:00:00"})");
}

TEST_CASE("groups of more than one table and of more than one tree node are written and read") {
  constexpr int kCount = 700;  // 88 tables, 3 nodes, a node over them
  Hdf5Writer writer;
  for (int i = kCount; i-- > 0;) {
    writer.AddDataset(fmt::format("layers/dense_{}/vars/0", i), Tensor::Of<int32_t>({1}, {i}));
  }
  const std::string bytes = writer.Finish();
  const Hdf5Object layers = *Hdf5Object::Root("f", bytes, nullptr).Find("layers");
  CHECK(layers.Names().size() == kCount);
  for (int i = 0; i < kCount; ++i) {
    const auto found = layers.Find(fmt::format("dense_{}/vars/0", i));
    REQUIRE(found.has_value());
    CHECK(found->Read().data<int32_t>()[0] == i);
  }
}

TEST_CASE("every type of number is written and read unchanged, bfloat16 as float32") {
  const auto round_trip = [](const Tensor& tensor) {
    Hdf5Writer writer;
    writer.AddDataset("x", tensor);
    const std::string bytes = writer.Finish();
    return Hdf5Object::Root("f", bytes, nullptr).Find("x")->Read();
  };
  const Tensor values = Tensor::Of<float>({2, 3}, {0, 1, 2, 3, 100, 5});
  for (const DType dtype :
       {DType::kFloat, DType::kDouble, DType::kInt8, DType::kInt16, DType::kInt32, DType::kInt64,
        DType::kUint8, DType::kUint16, DType::kUint32, DType::kUint64}) {
    CHECK(SameBits(round_trip(values.Cast(dtype)), values.Cast(dtype)));
  }
  CHECK(SameBits(round_trip(values.Cast(DType::kBfloat16)), values));
  CHECK(SameBits(round_trip(Tensor::Scalar<float>(4)), Tensor::Scalar<float>(4)));
  CHECK(round_trip(Tensor(DType::kFloat, Shape({0, 3}))).shape() == Shape({0, 3}));
  const Tensor half(DType::kHalf, Shape({3}));
  CHECK(SameBits(round_trip(half), half));
}

}  // namespace
}  // namespace tpuest
