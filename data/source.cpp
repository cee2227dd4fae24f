#include "data/source.h"

#include <algorithm>

namespace tpuest {
namespace {

class SlicedSource final : public IndexedSource {
 public:
  SlicedSource(std::shared_ptr<IndexedSource> source, int64_t first, int64_t size)
      : IndexedSource(source->columns(), source->files()),
        source_(std::move(source)),
        first_(first),
        size_(size) {}
  [[nodiscard]] int64_t size() const override { return size_; }
  void Read(int64_t index, Row& row) const override { source_->Read(first_ + index, row); }

 private:
  std::shared_ptr<IndexedSource> source_;
  int64_t first_;
  int64_t size_;
};

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

}  // namespace

void CheckRange(const RecordRange& range, const std::string& key) {
  if (range.skip < 0) {
    throw Error(Code::kUsage, fmt::format("skip is {}; expected 0 or more", range.skip))
        .Key(key + ".skip");
  }
  if (range.take.value_or(-1) < -1) {
    throw Error(Code::kUsage,
                fmt::format("take is {}; expected 0 or more, or -1 for all", *range.take))
        .Key(key + ".take");
  }
}

std::shared_ptr<IndexedSource> Slice(std::shared_ptr<IndexedSource> source,
                                     const RecordRange& range, const std::string& key) {
  CheckRange(range, key);
  const int64_t all = source->size();
  const int64_t rest = std::max<int64_t>(all - range.skip, 0);
  const int64_t take = range.take.value_or(-1);
  const int64_t size = take < 0 ? rest : std::min(take, rest);
  if (size == 0) {
    throw Error(Code::kData, fmt::format("no records are left: {} in all, skip {}, take {}", all,
                                         range.skip, take < 0 ? "all" : std::to_string(take)))
        .Key(key);
  }
  if (size == all) return source;
  return std::make_shared<SlicedSource>(std::move(source), range.skip, size);
}

TensorSpec SerializedColumn() { return {"serialized", DType::kString, Shape()}; }

AnySource OpenSource(const SourceOptions& options, bool cached, const std::string& key) {
  const auto slice = [&](std::shared_ptr<IndexedSource> source, const RecordRange& range) {
    return AnySource(Slice(std::move(source), range, key));
  };
  return std::visit(Overloaded{
                        [&](const TFRecordSource& o) { return OpenTFRecords(o, cached, key); },
                        [&](const IdxSource& o) { return slice(OpenIdx(o, key), o); },
                        [&](const DigitsSource& o) { return slice(OpenDigits(o, cached, key), o); },
                        [&](const SlicesSource& o) { return slice(OpenSlices(o, key), o); },
                        [&](const RangeSource& o) { return slice(OpenRange(o, key), o); },
                    },
                    options);
}

std::optional<std::vector<TensorSpec>> KnownColumns(const SourceOptions& options,
                                                    const std::string& key) {
  if (std::holds_alternative<TFRecordSource>(options)) return {{SerializedColumn()}};
  if (std::holds_alternative<IdxSource>(options)) return std::nullopt;
  return std::get<std::shared_ptr<IndexedSource>>(OpenSource(options, false, key))->columns();
}

}  // namespace tpuest
