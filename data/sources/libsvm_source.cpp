// Files of libsvm rows, and files of their weights.

#include <algorithm>
#include <utility>

#include "core/base/process/files.h"
#include "data/at_least.h"
#include "data/sources/libsvm_rows.h"
#include "data/sources/line_files.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

constexpr std::string_view kWeightEnding = ".weight";
constexpr char kComment = '#';

class LibsvmFiles final : public IndexedSource {
 public:
  LibsvmFiles(LineFiles lines, std::optional<LineFiles> weights, const LibsvmRows& rows,
              const std::string& key)
      : IndexedSource(rows.Specs(key), lines.paths()),
        lines_(std::move(lines)),
        weights_(std::move(weights)),
        rows_(rows) {}
  [[nodiscard]] int64_t size() const override { return lines_.size(); }
  [[nodiscard]] Provenance From(int64_t index) const override { return lines_.FromOf(index); }
  void Read(int64_t index, Row& row) const override {
    row.from = From(index);
    const std::optional<LibsvmFault> fault = rows_.Read(lines_.Line(index), Weight(index), row);
    if (!fault) return;
    throw Error(Code::kData, fault->message, fault->hint).At(lines_.PlaceOf(index, fault->offset));
  }

 private:
  [[nodiscard]] float Weight(int64_t index) const {
    if (!weights_) return 1;
    const std::string_view line = weights_->Line(index);
    const size_t begin = line.find_first_not_of(" \t\r");
    const size_t end = line.find_last_not_of(" \t\r") + 1;
    const std::string_view word = line.substr(begin, end - begin);
    if (const std::optional<float> weight = LibsvmNumber(word)) return *weight;
    throw Error(Code::kData, fmt::format("weight: expected a number, found '{}'", word))
        .At(weights_->PlaceOf(index, begin));
  }

  LineFiles lines_;
  std::optional<LineFiles> weights_;
  LibsvmRows rows_;
};

std::vector<std::string> FindRows(const LibsvmSource& options, const std::string& key) {
  std::vector<std::string> names = ListOf(options.filenames);
  if (names == std::vector<std::string>{"-"}) return names;
  return FindFiles(names, key + ".file");
}

// The files of weights, one per file of `files`, or none.
std::vector<std::string> FindWeights(const LibsvmSource& options,
                                     const std::vector<std::string>& files,
                                     const std::string& key) {
  if (options.weight_is_one) return {};
  std::vector<std::string> weights;
  if (options.weights) {
    const std::vector<std::string> names = ListOf(*options.weights);
    if (names.empty()) return {};
    weights = FindFiles(names, key + ".weights");
  } else {
    for (const std::string& file : files) {
      std::string path = file + std::string(kWeightEnding);
      if (file != "-" && FileExists(path)) weights.push_back(std::move(path));
    }
    if (weights.empty()) return {};
  }
  if (weights.size() == files.size()) return weights;
  throw Error(Code::kData,
              fmt::format("{} files of weights for {} files of rows, the first is {}",
                          weights.size(), files.size(), weights.front()),
              "weights names one for each file, in their order; [] reads none")
      .Key(key + ".weights");
}

LineFiles OpenLines(const std::vector<std::string>& paths, const std::string& compression_type) {
  std::vector<std::unique_ptr<FileBytes>> files;
  for (const std::string& path : paths) {
    files.push_back(std::make_unique<FileBytes>(path, compression_type));
  }
  return LineFiles(std::move(files), /*skips_blank=*/true, kComment);
}

void CheckSizes(const LineFiles& lines, const LineFiles& weights) {
  const std::vector<std::string> paths = lines.paths();
  const std::vector<std::string> weight_paths = weights.paths();
  for (size_t i = 0; i < paths.size(); ++i) {
    if (lines.SizeOf(i) == weights.SizeOf(i)) continue;
    throw Error(Code::kData,
                fmt::format("{}: expected {} weights, one for each row of {}, found {}",
                            weight_paths[i], lines.SizeOf(i), paths[i], weights.SizeOf(i)));
  }
}

// The type of all labels: int64 if each is an integer.
DType LabelType(const LibsvmSource& options, const LineFiles& lines) {
  if (options.label_dtype) return *DTypeFromName(*options.label_dtype);
  for (int64_t i = 0; i < lines.size(); ++i) {
    if (LibsvmLabelType(lines.Line(i)) == DType::kFloat) return DType::kFloat;
  }
  return DType::kInt64;
}

void CheckOptions(const LibsvmSource& options, const std::string& key) {
  CheckRange(options, key);
  if (options.base != 0 && options.base != 1) {
    throw Error(Code::kUsage, fmt::format("base is {}; expected 0 or 1", options.base))
        .Key(key + ".base");
  }
  ExpectAtLeast(options.size, 1, key, "size");
}

}  // namespace

std::shared_ptr<IndexedSource> OpenLibsvm(const LibsvmSource& options, const std::string& key) {
  CheckOptions(options, key);
  const std::vector<std::string> paths = FindRows(options, key);
  LineFiles lines = OpenLines(paths, options.compression_type);
  std::optional<LineFiles> weights;
  const std::vector<std::string> weight_paths = FindWeights(options, paths, key);
  if (!weight_paths.empty()) {
    weights.emplace(OpenLines(weight_paths, "auto"));
    CheckSizes(lines, *weights);
  }
  const bool has_weight = weights.has_value() || options.weight_is_one;
  const LibsvmRows rows(options, LabelType(options, lines), has_weight);
  return std::make_shared<LibsvmFiles>(std::move(lines), std::move(weights), rows, key);
}

std::optional<std::vector<TensorSpec>> KnownLibsvmColumns(const LibsvmSource& options,
                                                          const std::string& key) {
  CheckOptions(options, key);
  if (!options.label_dtype || (!options.weights && !options.weight_is_one)) return std::nullopt;
  const bool has_weight = options.weight_is_one || !ListOf(*options.weights).empty();
  return LibsvmRows(options, *DTypeFromName(*options.label_dtype), has_weight).Specs(key);
}

}  // namespace tpuest::data
