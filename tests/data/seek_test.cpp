#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

// Every feature and label of a batch.
struct Bits {
  std::vector<Tensor> tensors;
  StreamPosition after;
};

std::vector<Bits> All(BatchStream& stream) {
  std::vector<Bits> all;
  while (std::optional<Batch> batch = stream.Next()) {
    Bits bits{batch->features, batch->after};
    for (const auto& [head, label] : batch->labels) bits.tensors.push_back(label);
    for (Tensor& tensor : bits.tensors) tensor = tensor.Clone();
    all.push_back(std::move(bits));
  }
  return all;
}

bool Same(const Bits& a, const Bits& b) {
  if (a.after != b.after || a.tensors.size() != b.tensors.size()) return false;
  for (size_t i = 0; i < a.tensors.size(); ++i) {
    if (!SameBits(a.tensors[i], b.tensors[i])) return false;
  }
  return true;
}

// A stream that seeks to the position after each batch continues like the uninterrupted one.
void CheckSeeks(const InputFnOptions& options) {
  const Ask ask{.batch_size = 6, .threads = 2};
  const std::vector<Bits> whole = All(*Open(options, ask));
  REQUIRE(whole.size() > 3);
  const std::unique_ptr<BatchStream> stream = Open(options, ask);
  for (size_t i = 0; i < whole.size(); ++i) {
    stream->Seek(whole[i].after);
    const std::vector<Bits> rest = All(*stream);
    REQUIRE(rest.size() == whole.size() - i - 1);
    bool same = true;
    for (size_t k = 0; k < rest.size(); ++k) same = same && Same(rest[k], whole[i + 1 + k]);
    CHECK(same);
  }
  stream->Seek({});
  CHECK(All(*stream).size() == whole.size());
}

void CheckSeeksInEachOrder(InputFnOptions options) {
  options.repeat = 3;
  CheckSeeks(options);
  options.shuffle = Window(5);
  CheckSeeks(options);
  options.shuffle = Full();
  CheckSeeks(options);
}

}  // namespace

TEST_CASE("seeking is exact in a range, at every batch, in each order") {
  CheckSeeksInEachOrder(RangeOf(17));
}

TEST_CASE("seeking is exact after a filter, with columns that formulas compute") {
  InputFnOptions options = RangeOf(40);
  ExprMap square;
  square.out = "square";
  square.value.text = "value * value";
  options.map.emplace_back(square);
  options.filter.text = "square % 3 == 1";
  CheckSeeksInEachOrder(options);
}

TEST_CASE("seeking is exact in slices") {
  CheckSeeksInEachOrder(SlicesOf({{"x", {"[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]"}},
                                  {"name", {"[a, b, c, d, e, f, g, h, i, j, k]"}}}));
}

TEST_CASE("seeking is exact in digits, kept in memory or not") {
  DigitsSource source;
  source.count = 13;
  InputFnOptions options;
  options.source = source;
  options.labels = "label";
  CheckSeeksInEachOrder(options);
  options.cache = "memory";
  CheckSeeksInEachOrder(options);
}

TEST_CASE("seeking is exact over several TFRecord files") {
  const TemporaryFolder folder;
  WriteValues(folder.File("a-0"), 0, 7);
  WriteValues(folder.File("a-1"), 7, 9);
  CheckSeeksInEachOrder(ValuesOf({folder.File("a-*")}));
}

TEST_CASE("seeking is exact over several CSV files") {
  const TemporaryFolder folder;
  WriteFileAtomically(folder.File("a-0"), "x,y\n1,a\n2,b\n3,\"c\nd\"\n4,e\n5,f\n", false);
  WriteFileAtomically(folder.File("a-1"), "x,y\n6,g\n7,h\n8,i\n9,j\n10,k\n11,l\n", false);
  CsvSource source;
  source.file_pattern = folder.File("a-*");
  InputFnOptions options;
  options.source = source;
  CheckSeeksInEachOrder(options);
}

TEST_CASE("seeking is exact over several files of libsvm's rows") {
  const TemporaryFolder folder;
  std::string rows;
  for (int i = 0; i < 9; ++i) rows += fmt::format("{} {}:1 {}:2\n# none\n", i % 2, i, i + 3);
  WriteFileAtomically(folder.File("a-0"), rows, false);
  WriteFileAtomically(folder.File("a-1"), rows, false);
  LibsvmSource source;
  source.filenames = folder.File("a-*");
  InputFnOptions options;
  options.source = source;
  CheckSeeksInEachOrder(options);
}

TEST_CASE("seeking is exact in compressed files, which are read again") {
  const TemporaryFolder folder;
  WriteValues(folder.File("a-0"), 0, 7, Compression::kGzip);
  WriteValues(folder.File("a-1"), 7, 9, Compression::kZlib);
  InputFnOptions options = ValuesOf({folder.File("a-*")}, "auto");
  options.repeat = 3;
  CheckSeeks(options);
  options.shuffle = Window(5);
  CheckSeeks(options);
  options.shuffle = Full();
  options.cache = "memory";
  CheckSeeks(options);
}

TEST_CASE("seeking is exact with skip and take") {
  RangeSource source;
  source.stop = 40;
  source.skip = 5;
  source.take = 20;
  InputFnOptions options;
  options.source = source;
  CheckSeeksInEachOrder(options);
}

TEST_CASE("positions count whole epochs and the records of the one begun") {
  InputFnOptions options = RangeOf(5);
  options.repeat = 2;
  const std::unique_ptr<BatchStream> stream = Open(options);
  std::vector<StreamPosition> after;
  while (const std::optional<Batch> batch = stream->Next()) after.push_back(batch->after);
  CHECK(after == std::vector<StreamPosition>{{0, 4}, {1, 3}, {2, 0}});
}

TEST_CASE("compressed and plain files give the same positions and, in a window, the same order") {
  const TemporaryFolder folder;
  WriteValues(folder.File("plain"), 0, 23);
  WriteValues(folder.File("gz"), 0, 23, Compression::kGzip);
  InputFnOptions plain = ValuesOf({folder.File("plain")});
  InputFnOptions gz = ValuesOf({folder.File("gz")}, "GZIP");
  plain.shuffle = gz.shuffle = Window(6);
  plain.repeat = gz.repeat = 2;
  const std::vector<Bits> a = All(*Open(plain));
  const std::vector<Bits> b = All(*Open(gz));
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(Same(a[i], b[i]));
}

TEST_CASE("a position past the end of an epoch is an error, thrown by Next until sought again") {
  const TemporaryFolder folder;
  WriteValues(folder.File("gz"), 0, 5, Compression::kGzip);
  for (const InputFnOptions& options : {RangeOf(5), ValuesOf({folder.File("gz")}, "GZIP")}) {
    const std::unique_ptr<BatchStream> stream = Open(options);
    stream->Seek({0, 6});
    const Thrown thrown = ErrorOf([&] { (void)stream->Next(); });
    CHECK(thrown.code == Code::kData);
    CHECK(Has(thrown.message, "record 6 of an epoch, which has 5"));
    CHECK(ErrorOf([&] { (void)stream->Next(); }).message == thrown.message);
    stream->Seek({0, 4});
    CHECK(Take(*stream) == Batches{{4}});
  }
}

}  // namespace tpuest::data
