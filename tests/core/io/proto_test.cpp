#include "core/io/proto.h"

#include "core/io/protos.h"
#include "tests/core/io/testdata.h"

namespace tpuest {
namespace {

Tensor RoundTrip(const Tensor& tensor) {
  pb::TensorProto proto;
  ToProto(tensor, proto);
  return FromProto(proto, "t");
}

}  // namespace

TEST_CASE("tensors of every dtype pass through their message") {
  for (const DType dtype :
       {DType::kFloat, DType::kDouble, DType::kInt32, DType::kUint8, DType::kInt16, DType::kInt8,
        DType::kInt64, DType::kBool, DType::kBfloat16, DType::kUint16, DType::kHalf, DType::kUint32,
        DType::kUint64}) {
    CAPTURE(NameOf(dtype));
    for (const Shape& shape : {Shape{}, Shape{3}, Shape{2, 2}, Shape{0, 4}}) {
      Tensor tensor(dtype, shape);
      auto* const bytes = static_cast<unsigned char*>(tensor.raw());
      for (size_t i = 0; i < tensor.bytes(); ++i) {
        bytes[i] = static_cast<unsigned char>(dtype == DType::kBool ? i % 2 : 0x35 + i);
      }
      CHECK(SameBits(RoundTrip(tensor), tensor));
    }
  }
  const Tensor strings = Tensor::Strings({2}, {std::string("a\0b", 3), ""});
  CHECK(SameBits(RoundTrip(strings), strings));
}

TEST_CASE("the last value of a list fills the rest of the tensor") {
  pb::TensorProto proto;
  FromText("dtype: DT_FLOAT tensor_shape { dim { size: 4 } } float_val: 1 float_val: 2", proto, "t",
           Code::kData);
  CHECK(SameBits(FromProto(proto, "t"), Tensor::Of<float>({4}, {1, 2, 2, 2})));
  FromText("dtype: DT_INT64 tensor_shape { dim { size: 2 } }", proto, "t", Code::kData);
  CHECK(SameBits(FromProto(proto, "t"), Tensor::Of<int64_t>({2}, {0, 0})));
}

TEST_CASE("a tensor of one value is written as that value") {
  pb::TensorProto proto;
  ToProto(Tensor(DType::kFloat, {100, 100}), proto);
  CHECK(ToBytes(proto).size() < 30);
  const Tensor zeros = FromProto(proto, "zeros");
  CHECK(SameBits(zeros, Tensor(DType::kFloat, {100, 100})));
  Tensor almost(DType::kInt64, {3});
  almost.data<int64_t>()[2] = 1;
  ToProto(almost, proto);
  CHECK(SameBits(FromProto(proto, "almost"), almost));
}

TEST_CASE("bytes of bools other than 0 and 1 are read as true") {
  pb::TensorProto proto;
  FromText("dtype: DT_BOOL tensor_shape { dim { size: 4 } } tensor_content: '\\000\\001\\200\\002'",
           proto, "t", Code::kData);
  const Tensor read = FromProto(proto, "t");
  const auto* const bytes = static_cast<const char*>(read.raw());
  CHECK(std::string(bytes, 4) == std::string("\0\1\1\1", 4));
}

TEST_CASE("a tensor message whose bytes do not fit its shape is refused") {
  pb::TensorProto proto;
  FromText("dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: 'abcd'", proto, "t",
           Code::kData);
  CHECK(ErrorOf([&] { static_cast<void>(FromProto(proto, "node \"w\"")); }).message ==
        "node \"w\": float32 [2] takes 8 bytes, 4 found");
  FromText("dtype: DT_FLOAT tensor_shape { dim { size: -1 } }", proto, "t", Code::kData);
  CHECK(ErrorOf([&] { static_cast<void>(FromProto(proto, "w")); }).message ==
        "w: no host tensor of shape [?]");
  FromText("dtype: DT_COMPLEX64", proto, "t", Code::kData);
  CHECK(ErrorOf([&] { static_cast<void>(FromProto(proto, "w")); }).message ==
        "w: no host tensor of DT_COMPLEX64");
}

TEST_CASE("a text's messages of any type are found under TensorFlow's names") {
  pb::CollectionDef assets;
  const std::string text =
      "any_list { value { [type.googleapis.com/tensorflow.AssetFileDef] {"
      " tensor_info { name: 'path:0' } filename: 'words.txt' } } }";
  FromText(text, assets, "t", Code::kData);
  REQUIRE(assets.any_list().value_size() == 1);
  CHECK(assets.any_list().value(0).type_url() == "type.googleapis.com/tensorflow.AssetFileDef");
  pb::AssetFileDef asset;
  FromBytes(assets.any_list().value(0).value(), asset, "t", Code::kData);
  CHECK(asset.tensor_info().name() == "path:0");
  CHECK(asset.filename() == "words.txt");
  const std::string other = "any_list { value { [type.googleapis.com/tensorflow.None] {} } }";
  CHECK(ErrorOf([&] { FromText(other, assets, "t", Code::kData); }).message.find("None") !=
        std::string::npos);
}

TEST_CASE("shapes keep unknown dimensions and unknown ranks") {
  for (const Shape& shape : {Shape{}, Shape{2, kUnknownDim}, Shape::UnknownRank()}) {
    pb::TensorShapeProto proto;
    ToProto(shape, proto);
    CHECK(FromProto(proto) == shape);
  }
}

TEST_CASE("bytes and text of a message with a map are the same every time") {
  const auto build = [](std::initializer_list<const char*> keys) {
    pb::NodeDef node;
    for (const char* const key : keys) (*node.mutable_attr())[key].set_type(pb::DT_FLOAT);
    return node;
  };
  const pb::NodeDef one = build({"a", "b", "T", "dtype", "shape"});
  const pb::NodeDef other = build({"shape", "dtype", "T", "b", "a"});
  CHECK(ToBytes(one) == ToBytes(other));
  CHECK(ToText(one) == ToText(other));
  CHECK(ToText(build({"T"})) == "attr {\n  key: \"T\"\n  value {\n    type: DT_FLOAT\n  }\n}\n");
}

TEST_CASE("bytes that are no message are refused by name") {
  pb::NodeDef node;
  CHECK(ErrorOf([&] { FromBytes("\xFF", node, "graph.pb", Code::kData); }).message ==
        "graph.pb: these 1 bytes are not a NodeDef");
}

TEST_CASE("a few bytes are no billion of strings") {
  pb::TensorProto proto;
  proto.set_dtype(pb::DT_STRING);
  proto.add_string_val("a");
  proto.mutable_tensor_shape()->add_dim()->set_size(1000);
  CHECK(FromProto(proto, "few").strings()[999] == "a");
  proto.mutable_tensor_shape()->mutable_dim(0)->set_size(1 << 30);
  CHECK_THROWS_WITH_AS((void)FromProto(proto, "many"),
                       "many: 1073741824 strings, of which 1 are there", Error);
}

}  // namespace tpuest
