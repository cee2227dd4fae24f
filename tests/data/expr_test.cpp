// Columns and filters that formulas compute.

#include "tests/data/fixture.h"
#include "tests/data/map_ops.h"

namespace tpuest::data {
namespace {

ExprMap Expr(const std::string& out, const std::string& value) {
  ExprMap expr;
  expr.out = out;
  expr.value.text = value;
  return expr;
}

InputFnOptions SevenRows() {
  InputFnOptions options = SlicesOf({{"x", {"[1.5, -2.0, 3.0, 4.0, 5.5, 6.0, 7.0]"}},
                                     {"n", {"[1, 2, 3, 4, 5, 6, 7]"}},
                                     {"v",
                                      {"[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12], "
                                       "[13, 14]]"}},
                                     {"word", {"[a, b, a, c, a, b, a]"}}});
  options.map = {CastTo("x", "float32"), CastTo("v", "float32")};
  return options;
}

Tensor ColumnOf(InputFnOptions options, const std::string& name,
                const Ask& ask = {.batch_size = 7}) {
  options.features = {name};
  return Open(options, ask)->Next()->features[0];
}

Thrown RefusedInput(InputFnOptions options) {
  return ErrorOf([&] { (void)MakeInputFn(options, "train"); });
}

}  // namespace

TEST_CASE("a formula makes a column of others, an example at a time") {
  InputFnOptions options = SevenRows();
  options.map.emplace_back(Expr("y", "x * 2 + cast(n, float32)"));
  options.map.emplace_back(Expr("best", "argmax(v)"));
  options.map.emplace_back(Expr("turned", "v[::-1] - mean(features['v'])"));
  options.map.emplace_back(Expr("is_a", "word == 'a'"));
  CHECK(Numbers(ColumnOf(options, "y")) == std::vector<double>{4, -2, 9, 12, 16, 18, 21});
  CHECK(Ints(ColumnOf(options, "best")) == std::vector<int64_t>(7, 1));
  const Tensor turned = ColumnOf(options, "turned");
  CHECK(turned.shape() == Shape({7, 2}));
  CHECK(Numbers(turned).front() == 0.5);
  CHECK(Ints(ColumnOf(options, "is_a")) == std::vector<int64_t>{1, 0, 1, 0, 1, 0, 1});
}

TEST_CASE("map steps read results of formulas, and formulas read results of map steps") {
  InputFnOptions options = SevenRows();
  options.map.emplace_back(Expr("y", "x + 1"));
  options.map.emplace_back(Rescale("y", 2, 0.5));
  options.map.emplace_back(Expr("x", "y - x"));
  options.map.emplace_back(CastTo("x", "int32"));
  CHECK(Ints(ColumnOf(options, "x")) == std::vector<int64_t>{4, 0, 5, 6, 8, 8, 9});
  // The label is computed by a formula, no feature is.
  options.features = {"n"};
  options.labels = "x";
  const std::optional<Batch> batch = Open(options, {.batch_size = 3})->Next();
  CHECK(Ints(batch->features[0]) == std::vector<int64_t>{1, 2, 3});
  CHECK(Ints(batch->labels.only()) == std::vector<int64_t>{4, 0, 5});
}

TEST_CASE("a short and a padded batch have the formula's rows") {
  InputFnOptions options = SevenRows();
  options.map.emplace_back(Expr("y", "x * 2"));
  options.features = {"y"};
  const auto stream = Open(options, {.batch_size = 5});
  CHECK(Numbers(stream->Next()->features[0]) == std::vector<double>{3, -4, 6, 8, 11});
  CHECK(Numbers(stream->Next()->features[0]) == std::vector<double>{12, 14});
  const auto padded = Open(options, {.batch_size = 5, .pad_last = true});
  (void)padded->Next();
  CHECK(Numbers(padded->Next()->features[0]) == std::vector<double>{12, 14, 12, 12, 12});
}

TEST_CASE("a formula that makes no column is refused") {
  InputFnOptions options = SevenRows();
  options.map.emplace_back(Expr("y", "z * 2"));
  CHECK(Has(RefusedInput(options).message, "there is no 'z'"));
  options.map.back() = Expr("y", "3");
  CHECK(Has(RefusedInput(options).message, "this is the same for every example"));
  InputFnOptions lists;
  lists.source = TFRecordSource{};
  std::get<TFRecordSource>(lists.source).filenames = {"none.tfrecord"};
  lists.parse_example["tags"] = VarLenFeature{.dtype = "int64"};
  lists.map.emplace_back(Expr("y", "tags + 1"));
  CHECK(Has(RefusedInput(lists).message,
            "\"tags\" is lists of any length, which formulas do not take"));
}

TEST_CASE("a filter leaves records out of the stream") {
  InputFnOptions options = SevenRows();
  options.filter.text = "x > 0 and word == 'a'";
  options.features = {"n"};
  CHECK(Flat(Take(*Open(options, {.batch_size = 2}))) == std::vector<int64_t>{1, 3, 5, 7});
  CHECK(Open(options)->epoch_size() == 4);
  options.filter.text = "n % 2 == 0";
  options.shuffle = Full();
  options.repeat = 2;
  std::vector<int64_t> twice = Flat(Take(*Open(options)));
  std::sort(twice.begin(), twice.end());
  CHECK(twice == std::vector<int64_t>{2, 2, 4, 4, 6, 6});
  options.filter.text = "n > 100";
  const Thrown none = ErrorOf([&] { (void)Open(options); });
  CHECK(none.code == Code::kData);
  CHECK(none.message == "the filter rejects all 7 records");
  CHECK(none.key == "input_fns.train.filter");
}

TEST_CASE("a filter of a stream and of indexed records keeps the same, whoever looks") {
  const TemporaryFolder folder;
  WriteValues(folder.File("a.gz"), 0, 5000, Compression::kGzip);
  WriteValues(folder.File("a"), 0, 5000);
  InputFnOptions streamed = ValuesOf({folder.File("a.gz")}, "GZIP");
  InputFnOptions indexed = ValuesOf({folder.File("a")});
  for (InputFnOptions* const options : {&streamed, &indexed}) {
    options->map.emplace_back(Expr("odd", "value % 3"));
    options->filter.text = "odd == 1";
    options->features = {"value"};
    options->num_parallel_calls = int64_t{3};
  }
  const Batches a = Take(*Open(streamed));
  CHECK(a == Take(*Open(indexed)));
  CHECK(Flat(a).size() == 1667);
  CHECK(Flat(a)[1] == 4);
}

TEST_CASE("a filter that is no truth, or depends on draws, is refused") {
  InputFnOptions options = SevenRows();
  options.filter.text = "x + 1";
  CHECK(RefusedInput(options).message ==
        "a filter is one truth an example, and this is float32 []");
  options.filter.text = "v > 1";
  CHECK(RefusedInput(options).message == "a filter is one truth an example, and this is bool [2]");
  DigitsSource digits;
  digits.count = 10;
  InputFnOptions images;
  images.source = digits;
  images.map.emplace_back(Expr("bright", "mean(cast(image, float32)) > 0.5"));
  images.filter.text = "bright";
  CHECK(RefusedInput(images).code == Code::kInternal);
}

}  // namespace tpuest::data
