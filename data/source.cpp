#include "data/source.h"

#include <algorithm>

#include "core/base/files.h"
#include "core/base/text.h"
#include "data/csv_source.h"

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

bool IsPattern(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> FilesOf(const std::string& name, const std::string& key) {
  std::vector<std::string> found = Glob(name);
  if (!found.empty()) return found;
  throw Error(Code::kData,
              IsPattern(name)         ? fmt::format("no file matches \"{}\"", name)
              : DirectoryExists(name) ? fmt::format("{}: is a folder, expected a file", name)
                                      : fmt::format("{}: no such file", name),
              "relative names count from the job file's folder")
      .Key(key);
}

}  // namespace

std::vector<std::string> FindFiles(const std::vector<std::string>& names, const std::string& key) {
  if (names.empty()) {
    throw Error(Code::kUsage, fmt::format("{} is empty; expected at least one file or pattern",
                                          key.substr(key.rfind('.') + 1)))
        .Key(key);
  }
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    const std::vector<std::string> found = FilesOf(name, key);
    paths.insert(paths.end(), found.begin(), found.end());
  }
  return paths;
}

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

AnySource OpenSource(const SourceOptions& options, bool cached, const std::string& key,
                     const DataErrors& errors) {
  const auto slice = [&](std::shared_ptr<IndexedSource> source, const RecordRange& range) {
    return AnySource(Slice(std::move(source), range, key));
  };
  return std::visit(Overloaded{
                        [&](const TFRecordSource& o) { return OpenTFRecords(o, cached, key); },
                        [&](const CsvSource& o) { return slice(OpenCsv(o, key, errors), o); },
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
  if (const auto* csv = std::get_if<CsvSource>(&options)) return KnownCsvColumns(*csv, key);
  return std::get<std::shared_ptr<IndexedSource>>(OpenSource(options, false, key))->columns();
}

std::optional<int64_t> KnownSize(const SourceOptions& options, const std::string& key) {
  const bool is_file = std::holds_alternative<TFRecordSource>(options) ||
                       std::holds_alternative<IdxSource>(options) ||
                       std::holds_alternative<CsvSource>(options);
  if (is_file) return std::nullopt;
  return std::get<std::shared_ptr<IndexedSource>>(OpenSource(options, false, key))->size();
}

}  // namespace tpuest
