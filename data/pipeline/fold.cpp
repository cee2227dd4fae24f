#include "data/pipeline/fold.h"

#include <fmt/format.h>

#include <utility>

namespace tpuest::data {
namespace {

bool Takes(const FoldPart& part, int64_t record) {
  return (record % part.fold.count == part.fold.index - 1) == part.held_out;
}

class FoldSource final : public IndexedSource {
 public:
  FoldSource(std::shared_ptr<IndexedSource> source, const FoldPart& part)
      : IndexedSource(source->columns(), source->files()),
        source_(std::move(source)),
        part_(part),
        size_(SizeOfFold(part, source_->size())) {}
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] Provenance From(int64_t index) const override {
    return source_->From(RecordOf(index));
  }
  void Read(int64_t index, Row& row) const override { source_->Read(RecordOf(index), row); }

 private:
  // The source's record for record `index` of this part. Without the fold, each round of `count`
  // records gives count - 1; records from the gap on are shifted by one.
  [[nodiscard]] int64_t RecordOf(int64_t index) const {
    const int64_t count = part_.fold.count;
    const int64_t hole = part_.fold.index - 1;
    if (part_.held_out) return index * count + hole;
    const int64_t within = index % (count - 1);
    return index / (count - 1) * count + within + (within >= hole ? 1 : 0);
  }

  std::shared_ptr<IndexedSource> source_;
  FoldPart part_;
  int64_t size_;
};

class FoldStream final : public StreamedSource {
 public:
  FoldStream(std::unique_ptr<StreamedSource> source, const FoldPart& part)
      : StreamedSource(source->columns(), source->files()),
        source_(std::move(source)),
        part_(part) {}
  void Rewind() override {
    source_->Rewind();
    record_ = 0;
  }
  [[nodiscard]] bool Next(std::string_view& bytes, Provenance& from) override {
    while (source_->Next(bytes, from)) {
      if (Takes(part_, record_++)) return true;
    }
    return false;
  }

  [[nodiscard]] std::shared_ptr<const RowDecoder> decoder() const override {
    return source_->decoder();
  }

 private:
  std::unique_ptr<StreamedSource> source_;
  FoldPart part_;
  int64_t record_ = 0;
};

}  // namespace

int64_t SizeOfFold(const FoldPart& part, int64_t records) {
  // The fold's records are index-1, index-1+count, ...: those below `records`, rounded up.
  const int64_t held_out = (records + part.fold.count - part.fold.index) / part.fold.count;
  return part.held_out ? held_out : records - held_out;
}

AnySource TakeFold(AnySource source, const FoldPart& part, const std::string& key) {
  auto* const indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source);
  if (indexed == nullptr) {
    return std::make_unique<FoldStream>(
        std::move(std::get<std::unique_ptr<StreamedSource>>(source)), part);
  }
  const int64_t records = (*indexed)->size();
  if (SizeOfFold(part, records) == 0) {
    throw Error(Code::kData, fmt::format("fold {} of {} is empty: the number of records is {}",
                                         part.fold.index, part.fold.count, records))
        .Key(key);
  }
  return std::make_shared<FoldSource>(std::move(*indexed), part);
}

}  // namespace tpuest::data
