#include "tests/data/fixture.h"
#include "tests/data/map_ops.h"

namespace tpuest::data {
namespace {

// The column x of one batch.
Tensor Mapped(const std::string& rows, std::vector<MapOptions> ops) {
  InputFnOptions options = SlicesOf({{"x", {rows}}});
  options.map = std::move(ops);
  options.features = {"x"};
  const auto stream = Open(options, {.batch_size = 100});
  Tensor result = stream->Next()->features[0];
  CHECK(stream->spec().features[0].dtype == result.dtype());
  return result;
}

Thrown Refused(const std::string& rows, MapOptions op) {
  InputFnOptions options = SlicesOf({{"x", {rows}}});
  options.map = {std::move(op)};
  return ErrorOf([&] { (void)MakeInputFn(options, "train"); });
}

}  // namespace

TEST_CASE("cast converts as C++ does") {
  CHECK(Ints(Mapped("[1.7, -1.7]", {CastTo("x", "int32")})) == std::vector<int64_t>{1, -1});
  const Tensor half = Mapped("[1, 257]", {CastTo("x", "bfloat16")});
  CHECK(half.dtype() == DType::kBfloat16);
  CHECK(Numbers(half) == std::vector<double>{1, 256});
  CHECK(Ints(Mapped("[0, 3]", {CastTo("x", "bool")})) == std::vector<int64_t>{0, 1});
  const Thrown thrown = Refused("[1]", CastTo("x", "float31"));
  CHECK(thrown.code == Code::kUsage);
  CHECK(thrown.key == "input_fns.train.map[0]");
  CHECK(Has(thrown.message, "'float31'"));
}

TEST_CASE("rescaling makes floats of whole numbers and keeps other floats") {
  const Tensor floats = Mapped("[0, 255]", {Rescale("x", 1.0 / 255, -0.5)});
  CHECK(floats.dtype() == DType::kFloat);
  CHECK(Numbers(floats) ==
        std::vector<double>{-0.5, static_cast<float>(255 * static_cast<float>(1.0 / 255)) - 0.5F});
  const Tensor doubles = Mapped("[1.5]", {CastTo("x", "float64"), Rescale("x", 2, 1)});
  CHECK(doubles.dtype() == DType::kDouble);
  CHECK(Numbers(doubles) == std::vector<double>{4});
}

TEST_CASE("add stays in the column's type") {
  auto minus = On<AddMap>("x");
  minus.value = -1;
  CHECK(Ints(Mapped("[1, 10]", {minus})) == std::vector<int64_t>{0, 9});
  CHECK(Ints(Mapped("[1, 10]", {CastTo("x", "uint8"), minus})) == std::vector<int64_t>{0, 9});
  auto half = On<AddMap>("x");
  half.value = 0.5;
  CHECK(Numbers(Mapped("[1.0, 1.25]", {half})) == std::vector<double>{1.5, 1.75});
  CHECK(Has(Refused("[1]", half).message, "0.5 is not whole"));
}

TEST_CASE("normalize takes one mean, or one for each index of the last axis") {
  auto each = On<NormalizeMap>("x");
  each.mean = {1, 2};
  each.std = {2, 4};
  CHECK(Numbers(Mapped("[[3, 6], [1, 2]]", {each})) == std::vector<double>{1, 1, 0, 0});
  auto one = On<NormalizeMap>("x");
  one.mean = {1};
  one.std = {2};
  CHECK(Numbers(Mapped("[3, 1]", {one})) == std::vector<double>{1, 0});
  CHECK(Has(Refused("[[1, 2, 3]]", each).message, "mean has 2 values"));
  one.std = {0};
  CHECK(Has(Refused("[1]", one).message, "std holds 0"));
  one.std = {1, 2};
  CHECK(Has(Refused("[1]", one).message, "std has 2"));
}

TEST_CASE("one_hot leaves a row off where the index has no place") {
  auto op = On<OneHotMap>("x");
  op.depth = 3;
  const Tensor result = Mapped("[0, 2, 3, -1]", {op});
  CHECK(result.shape() == Shape({4, 3}));
  CHECK(Ints(result) == std::vector<int64_t>{1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0});
  op.on_value = 5;
  op.off_value = -5;
  op.dtype = "int32";
  CHECK(Ints(Mapped("[1]", {op})) == std::vector<int64_t>{-5, 5, -5});
  CHECK(Has(Refused("[0.5]", op).message, "expected whole numbers"));
  op.depth = 0;
  CHECK(Has(Refused("[1]", op).message, "depth is 0"));
}

TEST_CASE("reshape infers one dimension and refuses what does not fill") {
  auto op = On<ReshapeMap>("x");
  op.shape = {-1, 2};
  CHECK(Mapped("[[1, 2, 3, 4]]", {op}).shape() == Shape({1, 2, 2}));
  op.shape = {3};
  CHECK(Has(Refused("[[1, 2, 3, 4]]", op).message, "4 values do not fill shape [3]"));
  op.shape = {-1, -1};
  CHECK(Has(Refused("[[1, 2, 3, 4]]", op).message, "one dimension may be -1"));
  op.shape = {-1, 3};
  CHECK(Has(Refused("[[1, 2, 3, 4]]", op).message, "4 values do not fill"));
}

TEST_CASE("decode_raw reads numbers of any width in either byte order") {
  InputFnOptions options = SlicesOf({{"s", {"[\"abcd\", \"efgh\"]"}}});
  options.map = {Decode("s", "bytes", "uint8", {2, 2}), Decode("s", "words", "int16", {2})};
  auto big = Decode("s", "big", "int32", {});
  big.little_endian = false;
  options.map.emplace_back(big);
  options.features = {"big", "bytes", "words"};
  const std::optional<Batch> batch = Open(options)->Next();
  CHECK(Ints(batch->features[0]) == std::vector<int64_t>{0x61626364, 0x65666768});
  CHECK(batch->features[1].shape() == Shape({2, 2, 2}));
  CHECK(Ints(batch->features[1])[5] == 'f');
  CHECK(Ints(batch->features[2]) == std::vector<int64_t>{0x6261, 0x6463, 0x6665, 0x6867});
}

TEST_CASE("decode_raw of too few bytes names the record") {
  InputFnOptions options = SlicesOf({{"s", {"[\"abcd\", \"efg\"]"}}});
  options.map = {Decode("s", "x", "uint8", {4})};
  options.features = {"x"};
  const Thrown thrown = ErrorOf([&] { (void)Open(options)->Next(); });
  CHECK(thrown.code == Code::kData);
  CHECK(thrown.message ==
        "from_tensor_slices: record 1: feature \"s\": decode_raw expected 4 bytes (4 of uint8), "
        "found 3");
  CHECK(Has(Refused("[1]", Decode("x", "y", "uint8", {1})).message, "expected one string"));
  CHECK(Has(Refused("[a]", CastTo("x", "int32")).hint, "decode_raw"));
}

TEST_CASE("consecutive steps return the same as each step by itself") {
  // decode, cast, rescale, cast, one_hot: through the row's memory, scratch memory, and the row's
  // memory again.
  InputFnOptions options = SlicesOf({{"s", {"[\"\\0\\t\"]"}}});
  auto hot = On<OneHotMap>("x");
  hot.depth = 5;
  hot.dtype = "int64";
  auto plus = On<AddMap>("x");
  plus.value = 10;
  options.map = {Decode("s", "x", "uint8", {2}),
                 CastTo("x", "float32"),
                 Rescale("x", 0.25, 1),
                 CastTo("x", "int32"),
                 hot,
                 plus,
                 CastTo("x", "float32")};
  options.features = {"x"};
  // 0 -> 1, '\t' = 9 -> 3.25 -> 3.
  const std::optional<Batch> batch = Open(options)->Next();
  CHECK(batch->features[0].shape() == Shape({1, 2, 5}));
  CHECK(Ints(batch->features[0]) == std::vector<int64_t>{10, 11, 10, 10, 10, 10, 10, 10, 11, 10});
}

TEST_CASE("`out` leaves the input as it was, and columns are features, labels or id") {
  InputFnOptions options = SlicesOf({{"a", {"[1, 2]"}}, {"b", {"[3, 4]"}}, {"key", {"[x, y]"}}});
  auto plus = On<AddMap>("a", "c");
  plus.value = 10;
  options.map = {plus};
  options.labels = "b";
  options.id = "key";
  const auto stream = Open(options);
  REQUIRE(stream->spec().features.size() == 2);
  CHECK(stream->spec().features[0].name == "a");
  CHECK(stream->spec().features[1].name == "c");
  CHECK(stream->spec().labels.only().name == "b");
  const std::optional<Batch> batch = stream->Next();
  CHECK(Ints(batch->features[0]) == std::vector<int64_t>{1, 2});
  CHECK(Ints(batch->features[1]) == std::vector<int64_t>{11, 12});
  CHECK(Ints(batch->labels.only()) == std::vector<int64_t>{3, 4});
  CHECK(batch->forwarded.at("key").strings()[1] == "y");
}

TEST_CASE("a column that is not there is named with the nearest that is") {
  InputFnOptions options = SlicesOf({{"image", {"[1]"}}});
  options.features = {"imgae"};
  const Thrown thrown = ErrorOf([&] { (void)MakeInputFn(options, "train"); });
  CHECK(thrown.code == Code::kUsage);
  CHECK(thrown.key == "input_fns.train.features");
  CHECK(thrown.message == "no column is named 'imgae'; there are image");
  CHECK(thrown.hint == "did you mean 'image'?");
  options.features = {"image", "image"};
  CHECK(Has(ErrorOf([&] { (void)MakeInputFn(options, "train"); }).message, "listed twice"));
  options.features = {};
  options.labels = "image";
  CHECK(Has(ErrorOf([&] { (void)MakeInputFn(options, "train"); }).message, "no column is left"));
  auto op = On<AddMap>("imag");
  options.map = {op};
  CHECK(ErrorOf([&] { (void)MakeInputFn(options, "train"); }).key == "input_fns.train.map[0].in");
}

TEST_CASE("every column says which key of the job makes it") {
  InputFnOptions options = SlicesOf({{"x", {"[1, 2]"}}, {"y", {"[3, 4]"}}});
  options.map = {CastTo("x", "float32", "z"), CastTo("y", "int64")};
  const auto stream = Open(options);
  const auto& columns = stream->spec().features;
  CHECK(columns[0].key == "input_fns.train.source.values.x");
  CHECK(columns[1].key == "input_fns.train.map[1]");
  CHECK(columns[2].key == "input_fns.train.map[0]");
  CHECK(Open(RangeOf(4))->spec().features[0].key == "input_fns.train.source");
  const TemporaryFolder folder;
  WriteValues(folder.File("a"), 0, 3);
  CHECK(Open(ValuesOf({folder.File("a")}))->spec().features[0].key ==
        "input_fns.train.parse_example.value");
}

}  // namespace tpuest::data
