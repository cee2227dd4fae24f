#include "data/source.h"

#include <algorithm>

#include "core/base/process/files.h"
#include "core/base/text.h"

namespace tpuest::data {
namespace {

// Applies skip and take to another source. row.from stays that of the other source, so errors name
// the record's place in its file.
class SlicedSource final : public IndexedSource {
 public:
  SlicedSource(std::shared_ptr<IndexedSource> source, int64_t first, int64_t size)
      : IndexedSource(source->columns(), source->files()),
        source_(std::move(source)),
        first_(first),
        size_(size) {}
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] Provenance From(int64_t index) const override {
    return source_->From(first_ + index);
  }
  void Read(int64_t index, Row& row) const override { source_->Read(first_ + index, row); }

 private:
  std::shared_ptr<IndexedSource> source_;
  int64_t first_;
  int64_t size_;
};

bool IsPattern(const std::string& path) { return path.find_first_of("*?[") != std::string::npos; }

std::vector<std::string> FilesOf(const std::string& name, const std::string& key) {
  std::vector<std::string> found = Glob(name);
  if (!found.empty()) return found;
  const std::vector<std::string> others = GlobAll(name);
  std::string message = IsPattern(name) ? fmt::format("no file matches \"{}\"", name)
                                        : fmt::format("{}: no such file", name);
  if (!others.empty()) {
    const std::string_view kind = KindOfOther(others[0]).value_or("no file");
    message = IsPattern(name)
                  ? fmt::format("no file matches \"{}\"; {} is {}", name, others[0], kind)
                  : fmt::format("{}: is {}, expected a file", name, kind);
  }
  throw Error(Code::kData, std::move(message), "relative names count from the job file's folder")
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
  // As in TensorFlow, a skip beyond the end leaves no records, and a take beyond it takes all that
  // remain.
  const int64_t rest = std::max<int64_t>(all - range.skip, 0);
  const int64_t take = range.take.value_or(-1);
  const int64_t size = take < 0 ? rest : std::min(take, rest);
  // An epoch without records would never fill a batch.
  if (size == 0) {
    throw Error(Code::kData, fmt::format("no records are left: {} in all, skip {}, take {}", all,
                                         range.skip, take < 0 ? "all" : std::to_string(take)))
        .Key(key);
  }
  if (size == all) return source;
  return std::make_shared<SlicedSource>(std::move(source), range.skip, size);
}

TensorSpec SerializedColumn() { return {"serialized", DType::kString, Shape()}; }

}  // namespace tpuest::data
