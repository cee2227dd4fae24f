// Streams from which a process takes only its replicas' rows.

#include <atomic>

#include "data/sources/open_source.h"
#include "tests/data/fixture.h"

namespace tpuest::data {
namespace {

// The records of another source; counts the reads.
class CountingSource final : public IndexedSource {
 public:
  CountingSource(std::shared_ptr<IndexedSource> source, std::atomic<int64_t>& reads)
      : IndexedSource(source->columns(), source->files()),
        source_(std::move(source)),
        reads_(reads) {}
  [[nodiscard]] int64_t size() const override { return source_->size(); }
  [[nodiscard]] Provenance From(int64_t index) const override { return source_->From(index); }
  void Read(int64_t index, Row& row) const override {
    ++reads_;
    source_->Read(index, row);
  }

 private:
  std::shared_ptr<IndexedSource> source_;
  std::atomic<int64_t>& reads_;
};

InputFn Counted(const InputFnOptions& options, std::atomic<int64_t>& reads) {
  const auto wrap = [&reads](AnySource source) -> AnySource {
    return std::make_shared<CountingSource>(std::get<std::shared_ptr<IndexedSource>>(source),
                                            reads);
  };
  return MakeWrappedInputFn(options, "train", wrap, options);
}

std::vector<std::pair<int32_t, int64_t>> PlacesOf(const Batch& batch) {
  std::vector<std::pair<int32_t, int64_t>> places;
  for (const Provenance& from : batch.rows) places.emplace_back(from.file, from.record);
  return places;
}

// Takes rows `first` to first + count - 1 of batches of 6, and compares them with the whole
// batches.
void CheckPart(BatchStream& part, BatchStream& whole, int64_t first, int64_t count) {
  part.TakeRows(first, count);
  while (const std::optional<Batch> all = whole.Next()) {
    const std::optional<Batch> mine = part.Next();
    REQUIRE(mine.has_value());
    CHECK(mine->after == all->after);
    CHECK(mine->examples == all->examples);
    CHECK(PlacesOf(*mine) == PlacesOf(*all));
    if (all->examples < 6) {
      CHECK(mine->whole_rows == 0);
      CHECK(Ints(mine->features[0]) == Ints(all->features[0]));
      continue;
    }
    CHECK(mine->first_row == first);
    CHECK(mine->whole_rows == 6);
    CHECK(Ints(mine->features[0]) == Ints(all->features[0].Rows(first, first + count)));
  }
  CHECK(!part.Next().has_value());
}

}  // namespace

TEST_CASE("of each full batch the rows that are taken are read, and no others") {
  const TemporaryFolder folder;
  WriteValues(folder.path() + "/a", 0, 30);
  WriteValues(folder.path() + "/b", 30, 34);
  InputFnOptions options = ValuesOf({folder.path() + "/a", folder.path() + "/b"});
  options.shuffle = Full();
  options.repeat = 3;
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 2}, {2, 2}, {4, 2}, {3, 3}}) {
    std::atomic<int64_t> reads = 0;
    const InputContext context{.mode = Mode::kTrain, .batch_size = 6, .seed = 7, .threads = 2};
    const auto part = Counted(options, reads)(context);
    CheckPart(*part, *Open(options, {.batch_size = 6, .mode = Mode::kTrain}), first, count);
    CHECK(reads == 32 * count);  // 192 records are 32 batches
  }
}

TEST_CASE("a part of the rows begins anywhere, and a short last batch is whole") {
  for (const auto& shuffle :
       {std::optional<ShuffleOptions>(), std::optional(Full()), std::optional(Window(10))}) {
    InputFnOptions options = RangeOf(20);
    options.shuffle = shuffle;
    options.repeat = 2;
    const auto part = Open(options, {.batch_size = 6});
    const auto whole = Open(options, {.batch_size = 6});
    part->Seek({1, 1});
    whole->Seek({1, 1});
    CheckPart(*part, *whole, 2, 2);
  }
}

TEST_CASE("of a compressed file a part of the rows is parsed") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a.gz";
  WriteValues(path, 0, 20, Compression::kGzip);
  InputFnOptions options = ValuesOf({path}, "GZIP");
  options.cache = false;
  const auto part = Open(options, {.batch_size = 6});
  CheckPart(*part, *Open(options, {.batch_size = 6}), 4, 2);
}

TEST_CASE("lists are as long as a batch's longest one, so all rows are made") {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/a";
  {
    RecordWriter writer(path, Compression::kNone, false);
    ExampleWriter example;
    for (int64_t i = 0; i < 6; ++i) {
      example.Ints("value", std::vector<int64_t>(static_cast<size_t>(i + 1), i));
      writer.Write(example.Finish());
    }
    writer.Close();
  }
  InputFnOptions options = ValuesOf({path});
  options.parse_example["value"] = VarLenFeature{.dtype = "int64"};
  const auto stream = Open(options, {.batch_size = 6});
  stream->TakeRows(0, 2);
  const std::optional<Batch> batch = stream->Next();
  CHECK(batch->whole_rows == 0);
  CHECK(batch->features[0].shape().dim(0) == 6);
}

}  // namespace tpuest::data
