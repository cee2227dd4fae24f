#include "data/sources/open_source.h"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <variant>

#include "data/csv/source.h"
#include "data/images/folder.h"
#include "data/sources/joined_source.h"

namespace tpuest::data {
namespace {

template <class... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <class... F>
Overloaded(F...) -> Overloaded<F...>;

SourceOptions OptionsOf(const PlainSource& source) {
  return std::visit([](const auto& options) { return SourceOptions(options); }, source);
}

std::shared_ptr<IndexedSource> OpenZip(const ZipSource& options, bool cached,
                                       const std::string& key, const DataErrors& errors) {
  if (options.datasets.empty()) {
    throw Error(Code::kUsage, "datasets is empty; expected sources").Key(key + ".datasets");
  }
  std::vector<std::shared_ptr<IndexedSource>> parts;
  std::vector<std::string> keys;
  for (size_t i = 0; i < options.datasets.size(); ++i) {
    keys.push_back(fmt::format("{}.datasets[{}]", key, i));
    AnySource source = OpenSource(OptionsOf(options.datasets[i]), cached, keys.back(), errors);
    auto* const indexed = std::get_if<std::shared_ptr<IndexedSource>>(&source);
    if (indexed == nullptr) {
      throw Error(Code::kUsage, "zip needs records that can be read in any order",
                  "cache: memory keeps the decompressed records")
          .Key(keys.back());
    }
    parts.push_back(std::move(*indexed));
  }
  return Zipped(std::move(parts), keys);
}

// True for sources whose records are in files.
bool IsOfFiles(const SourceOptions& options) {
  return !(std::holds_alternative<DigitsSource>(options) ||
           std::holds_alternative<ShapesSource>(options) ||
           std::holds_alternative<SlicesSource>(options) ||
           std::holds_alternative<RangeSource>(options));
}

}  // namespace

AnySource OpenSource(const SourceOptions& options, bool cached, const std::string& key,
                     const DataErrors& errors) {
  const auto slice = [&](std::shared_ptr<IndexedSource> source, const RecordRange& range) {
    return AnySource(Slice(std::move(source), range, key));
  };
  return std::visit(
      Overloaded{
          [&](const TFRecordSource& o) { return OpenTFRecords(o, cached, key); },
          [&](const CsvSource& o) { return slice(OpenCsv(o, key, errors), o); },
          [&](const TextLineSource& o) { return slice(OpenTextLines(o, key), o); },
          [&](const JsonLinesSource& o) { return slice(OpenJsonLines(o, key), o); },
          [&](const LibsvmSource& o) { return slice(OpenLibsvm(o, key), o); },
          [&](const FixedLengthSource& o) { return slice(OpenFixedLength(o, key), o); },
          [&](const NpySource& o) { return slice(OpenNpy(o, key), o); },
          [&](const NpzSource& o) { return slice(OpenNpz(o, key), o); },
          [&](const IdxSource& o) { return slice(OpenIdx(o, key), o); },
          [&](const DigitsSource& o) { return slice(OpenDigits(o, cached, key), o); },
          [&](const ImageFolderSource& o) {
            return slice(OpenImageFolder(o, cached, key, errors), o);
          },
          [&](const ShapesSource& o) { return slice(OpenShapes(o, key), o); },
          [&](const SlicesSource& o) { return slice(OpenSlices(o, key), o); },
          [&](const RangeSource& o) { return slice(OpenRange(o, key), o); },
          [&](const GeneratorSource& o) { return AnySource(OpenGenerator(o, key)); },
          [&](const SqlSource& o) { return slice(OpenSql(o, key), o); },
          [&](const ZipSource& o) { return slice(OpenZip(o, cached, key, errors), o); },
      },
      options);
}

bool ReadsStandardInput(const SourceOptions& options) {
  const auto is_pipe = [](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), "-") != names.end();
  };
  return std::visit(
      [&]<class Options>(const Options& o) {
        if constexpr (std::is_same_v<Options, TFRecordSource> ||
                      std::is_base_of_v<FilesSource, Options>) {
          return is_pipe(ListOf(o.filenames));
        } else if constexpr (std::is_same_v<Options, CsvSource>) {
          return is_pipe(ListOf(o.file_pattern));
        } else if constexpr (std::is_same_v<Options, ZipSource>) {
          return std::any_of(o.datasets.begin(), o.datasets.end(), [](const PlainSource& part) {
            return ReadsStandardInput(OptionsOf(part));
          });
        } else {
          return false;
        }
      },
      options);
}

std::optional<std::vector<TensorSpec>> KnownColumns(const SourceOptions& options,
                                                    const std::string& key) {
  // Opens sources without files, which costs nothing and checks their options. For IDX, the file's
  // header is needed to know the number of pixels.
  if (std::holds_alternative<TFRecordSource>(options)) return {{SerializedColumn()}};
  if (std::holds_alternative<TextLineSource>(options)) return {{TextColumn()}};
  if (std::holds_alternative<FixedLengthSource>(options)) return {{RecordColumn()}};
  if (const auto* json = std::get_if<JsonLinesSource>(&options))
    return KnownJsonColumns(*json, key);
  if (const auto* libsvm = std::get_if<LibsvmSource>(&options)) {
    return KnownLibsvmColumns(*libsvm, key);
  }
  if (const auto* folder = std::get_if<ImageFolderSource>(&options)) {
    return KnownImageColumns(*folder, key);
  }
  if (const auto* csv = std::get_if<CsvSource>(&options)) return KnownCsvColumns(*csv, key);
  if (const auto* generator = std::get_if<GeneratorSource>(&options)) {
    return GeneratorColumns(*generator, key);
  }
  if (IsOfFiles(options)) return std::nullopt;
  return std::get<std::shared_ptr<IndexedSource>>(OpenSource(options, false, key))->columns();
}

std::optional<int64_t> KnownSize(const SourceOptions& options, const std::string& key) {
  if (IsOfFiles(options)) return std::nullopt;
  return std::get<std::shared_ptr<IndexedSource>>(OpenSource(options, false, key))->size();
}

}  // namespace tpuest::data
