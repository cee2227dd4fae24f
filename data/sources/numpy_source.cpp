// NumPy's files: one array per column; its first axis is the record.

#include <utility>

#include "core/base/text.h"
#include "core/io/zip/zip.h"
#include "data/sources/file_bytes.h"
#include "data/sources/npy.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

constexpr std::string_view kEnding = ".npy";
// Longest name of an array that becomes a column without being named.
constexpr size_t kMostNameBytes = 256;

// The first names, for a message, because an archive may have very many.
std::string Some(const std::vector<std::string>& names) {
  constexpr size_t kShown = 8;
  std::vector<std::string> some;
  for (const std::string& name : names) {
    if (some.size() < kShown) some.push_back(name.substr(0, kMostNameBytes));
  }
  return Join(some, ", ") + (names.size() > kShown ? ", ..." : "");
}

struct NumpyColumn {
  std::string name;
  NpyArray array;
  std::string key;  // of the job, for errors
  std::shared_ptr<const void> owner;
};

class NumpyRecords final : public IndexedSource {
 public:
  NumpyRecords(std::vector<NumpyColumn> columns, std::vector<std::string> files)
      : IndexedSource(Specs(columns), std::move(files)), numpy_(std::move(columns)) {}
  [[nodiscard]] int64_t size() const override { return numpy_.front().array.shape.dim(0); }
  [[nodiscard]] Provenance From(int64_t index) const override { return {0, index}; }
  void Read(int64_t index, Row& row) const override {
    row.from = From(index);
    row.columns.resize(numpy_.size());
    for (size_t i = 0; i < numpy_.size(); ++i) {
      const NpyArray& array = numpy_[i].array;
      const int64_t count = columns()[i].shape.elements();
      const size_t width =
          array.dtype == DType::kString ? sizeof(std::string_view) : SizeOf(array.dtype);
      const auto* const first = static_cast<const char*>(array.data);
      row.columns[i] = {first + static_cast<size_t>(index * count) * width, count};
    }
  }

 private:
  static std::vector<TensorSpec> Specs(const std::vector<NumpyColumn>& columns) {
    std::vector<TensorSpec> specs;
    for (const NumpyColumn& column : columns) {
      const std::vector<int64_t>& dims = column.array.shape.dims();
      specs.push_back({column.name, column.array.dtype,
                       Shape(std::vector<int64_t>(dims.begin() + 1, dims.end())), column.key});
    }
    return specs;
  }

  std::vector<NumpyColumn> numpy_;
};

std::shared_ptr<IndexedSource> Records(std::vector<NumpyColumn> columns,
                                       std::vector<std::string> files, const std::string& key) {
  if (columns.empty()) {
    throw Error(Code::kUsage, "arrays is empty; expected at least one column").Key(key + ".arrays");
  }
  const NumpyColumn& first = columns.front();
  for (const NumpyColumn& column : columns) {
    if (column.array.shape.dim(0) == first.array.shape.dim(0)) continue;
    throw Error(
        Code::kData,
        fmt::format("\"{}\" has {} rows, \"{}\" has {}; expected equal numbers", column.name,
                    column.array.shape.dim(0), first.name, first.array.shape.dim(0)),
        "list arrays of equal length under arrays:")
        .Key(column.key);
  }
  return std::make_shared<NumpyRecords>(std::move(columns), std::move(files));
}

std::string FileAt(const std::string& path, const std::string& key) {
  const std::vector<std::string> found = FindFiles({path}, key);
  if (found.size() == 1) return found.front();
  throw Error(Code::kUsage, fmt::format("\"{}\" names {} files; expected one", path, found.size()))
      .Key(key);
}

}  // namespace

std::shared_ptr<IndexedSource> OpenNpy(const NpySource& options, const std::string& key) {
  std::vector<NumpyColumn> columns;
  std::vector<std::string> files;
  for (const auto& [name, path] : options.arrays) {
    const std::string place = fmt::format("{}.arrays.{}", key, name);
    files.push_back(FileAt(path, place));
    auto file = std::make_shared<FileBytes>(files.back(), "auto");
    NpyArray array = ReadNpy(file->bytes(), files.back());
    columns.push_back({name, std::move(array), place, std::move(file)});
  }
  return Records(std::move(columns), std::move(files), key);
}

std::shared_ptr<IndexedSource> OpenNpz(const NpzSource& options, const std::string& key) {
  const std::string path = FileAt(options.file, key + ".file");
  const auto file = std::make_shared<FileBytes>(path, "");
  const ZipReader archive(path, file->bytes(), file);
  std::map<std::string, std::string> arrays = options.arrays;
  for (const std::string& member : archive.Names()) {
    if (!options.arrays.empty() || !member.ends_with(kEnding)) continue;
    if (member.size() > kMostNameBytes) {
      throw Error(Code::kData, fmt::format("{}: an array's name has {} bytes", path, member.size()),
                  "list the arrays to read under arrays:");
    }
    const std::string name = member.substr(0, member.size() - kEnding.size());
    arrays[name] = name;
  }
  std::vector<NumpyColumn> columns;
  for (const auto& [name, array] : arrays) {
    const std::string place = fmt::format("{}.arrays.{}", key, name);
    const std::string member = array + std::string(kEnding);
    if (!archive.Has(member)) {
      throw Error(Code::kData, fmt::format("{}: no array is named '{}'; found {}", path, array,
                                           Some(archive.Names())))
          .Key(place);
    }
    ZipData data = archive.Read(member);
    NpyArray read = ReadNpy(data.bytes, fmt::format("{}: {}", path, member));
    columns.push_back(
        {name, std::move(read), options.arrays.empty() ? key : place, std::move(data.owner)});
  }
  return Records(std::move(columns), {path}, key);
}

}  // namespace tpuest::data
