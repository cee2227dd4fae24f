// Folds of an input's records: every record is in exactly one fold, for any kind of source.

#include "data/pipeline/fold.h"

#include <doctest/doctest.h>

#include <algorithm>

namespace tpuest::data {
namespace {

// The numbers 0, 1, ..., read by index or in order.
class NumberSource final : public IndexedSource {
 public:
  explicit NumberSource(int64_t size) : IndexedSource({}, {}), size_(size) {}
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] Provenance From(int64_t index) const override { return {0, index}; }
  void Read(int64_t index, Row& row) const override { row.number = index; }

 private:
  int64_t size_;
};

class NumberStream final : public StreamedSource {
 public:
  explicit NumberStream(int64_t size) : StreamedSource({}, {}), size_(size) {}
  void Rewind() override { next_ = 0; }
  [[nodiscard]] bool Next(std::string_view& /*bytes*/, Provenance& from) override {
    if (next_ == size_) return false;
    from.record = next_++;
    return true;
  }

 private:
  int64_t size_;
  int64_t next_ = 0;
};

std::vector<int64_t> Indexed(int64_t records, const FoldPart& part) {
  const AnySource any = TakeFold(std::make_shared<NumberSource>(records), part, "source");
  const auto& source = std::get<std::shared_ptr<IndexedSource>>(any);
  std::vector<int64_t> found;
  for (int64_t i = 0; i < source->size(); ++i) {
    Row row;
    source->Read(i, row);
    found.push_back(row.number);
  }
  return found;
}

std::vector<int64_t> Streamed(int64_t records, const FoldPart& part) {
  AnySource any = TakeFold(std::make_unique<NumberStream>(records), part, "source");
  auto& source = std::get<std::unique_ptr<StreamedSource>>(any);
  std::vector<int64_t> found;
  std::string_view bytes;
  Provenance from;
  source->Rewind();
  while (source->Next(bytes, from)) found.push_back(from.record);
  return found;
}

using RecordNumbers = std::vector<int64_t>;

}  // namespace

TEST_CASE("every third record is a fold; the rest is trained on, in order") {
  CHECK(Indexed(8, {{2, 3}, true}) == RecordNumbers{1, 4, 7});
  CHECK(Indexed(8, {{2, 3}, false}) == RecordNumbers{0, 2, 3, 5, 6});
  CHECK(Indexed(8, {{3, 3}, true}) == RecordNumbers{2, 5});
  CHECK(Indexed(7, {{1, 2}, false}) == RecordNumbers{1, 3, 5});
}

TEST_CASE("the folds of any number of records are all of them, once") {
  for (const int64_t records : {5, 12, 17}) {
    for (const int64_t count : {2, 3, 5}) {
      RecordNumbers all;
      for (int64_t index = 1; index <= count; ++index) {
        const FoldOptions fold{index, count};
        const RecordNumbers held_out = Indexed(records, {fold, true});
        const RecordNumbers rest = Indexed(records, {fold, false});
        CHECK(static_cast<int64_t>(held_out.size() + rest.size()) == records);
        CHECK(Streamed(records, {fold, true}) == held_out);
        CHECK(Streamed(records, {fold, false}) == rest);
        all.insert(all.end(), held_out.begin(), held_out.end());
      }
      std::sort(all.begin(), all.end());
      for (int64_t i = 0; i < records; ++i) CHECK(all[static_cast<size_t>(i)] == i);
    }
  }
}

TEST_CASE("a fold without records is refused") {
  try {
    std::ignore = TakeFold(std::make_shared<NumberSource>(2), {{3, 3}, true}, "input_fns.a.source");
    FAIL("nothing was thrown");
  } catch (const Error& error) {
    CHECK(error.code() == Code::kData);
    CHECK(error.message() == "fold 3 of 3 is empty: the number of records is 2");
  }
}

}  // namespace tpuest::data
