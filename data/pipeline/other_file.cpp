#include "data/pipeline/other_file.h"

#include <algorithm>
#include <set>

#include "core/base/process/files.h"
#include "core/io/images/image.h"
#include "data/examples/column_plan.h"
#include "data/examples/map_step.h"
#include "data/images/folder_list.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

// The images at a path: the path itself if it is an image file, or all images below a folder.
std::vector<std::string> ImagesAt(const std::string& path) {
  if (DirectoryExists(path)) {
    std::vector<std::string> unreadable;
    std::vector<std::string> files = ImagesBelow(path, true, unreadable);
    if (!unreadable.empty()) {
      throw Error(Code::kData, fmt::format("{}: permission denied", unreadable.front()),
                  "all images below the folder are predicted");
    }
    if (!files.empty()) return files;
    throw Error(Code::kData, fmt::format("{}: the folder has no images", path),
                "image names end in .bmp, .gif, .jpeg, .jpg or .png");
  }
  if (path == "-" || !FileExists(path) || KindOfOther(path)) return {};
  const MappedFile file(path);
  return ImageFormatOf(file.bytes()) ? std::vector{path} : std::vector<std::string>();
}

// The column of bytes that a needed map op decodes; empty if there is none.
std::string DecodedColumn(const std::vector<MapOptions>& map) {
  for (const MapOptions& step : map) {
    if (std::holds_alternative<DecodeImageMap>(step) ||
        std::holds_alternative<DecodeCenterCropMap>(step) ||
        std::holds_alternative<DecodeRandomCropMap>(step)) {
      return ColumnsOf(step).in;
    }
  }
  return "";
}

void UseAll(RecordRange& range) { range = RecordRange(); }

// The default of make_csv_dataset for a column with an inferred type: 0 or "".
CsvDefault DefaultOf(DType dtype) {
  CsvDefault made;
  made.dtype = NameOf(dtype);
  if (dtype == DType::kString) {
    made.default_value = std::string();
  } else {
    made.default_value = int64_t{0};
  }
  return made;
}

// Makes a source read all records of another file.
class FileSetter {
 public:
  // `key`: of the input_fn; `columns`: of the job's own files; `needed`: columns from which
  // features and id are computed. All outlive this object.
  FileSetter(const std::string& path, const std::string& key,
             const std::vector<TensorSpec>& columns, const std::set<std::string>& needed,
             const std::vector<std::string>& labels)
      : path_(path), key_(key), columns_(columns), needed_(needed), labels_(labels) {}

  void operator()(TFRecordSource& source) const {
    source.filenames = path_;
    source.compression_type = "auto";
    UseAll(source);
  }

  void operator()(TextLineSource& source) const { SetNames(source); }
  void operator()(FixedLengthSource& source) const { SetNames(source); }

  // Uses the types of the job's own file; any feature may be missing here.
  void operator()(JsonLinesSource& source) const {
    const bool is_inferred = source.features.empty();
    for (const TensorSpec& column : columns_) {
      if (!is_inferred) break;
      const std::string dtype(NameOf(column.dtype));
      if (!column.shape.fully_known()) {
        source.features[column.name] = VarLenFeature{.dtype = dtype};
        continue;
      }
      FixedLenFeature feature{.shape = column.shape.dims(), .dtype = dtype};
      feature.default_value = Raw{column.dtype == DType::kString ? "''" : "0"};
      source.features[column.name] = std::move(feature);
    }
    std::erase_if(source.features,
                  [&](const auto& feature) { return !needed_.contains(feature.first); });
    SetNames(source);
  }

  void operator()(LibsvmSource& source) const {
    for (const TensorSpec& column : columns_) {
      if (column.name == "label") source.label_dtype = NameOf(column.dtype);
      if (column.name == "weight") source.weight_is_one = true;
    }
    source.weights = FileNames(std::vector<std::string>());
    source.names_label = false;
    SetNames(source);
  }

  void operator()(NpzSource& source) const {
    for (const TensorSpec& column : columns_) source.arrays.try_emplace(column.name, column.name);
    std::erase_if(source.arrays, [&](const auto& array) { return !needed_.contains(array.first); });
    source.file = path_;
    UseAll(source);
  }

  void operator()(CsvSource& source) const {
    // Fixes every stated or inferred type by name, because the file's columns may be in another
    // order.
    for (size_t i = 0; i < columns_.size(); ++i) {
      source.defaults_by_name[columns_[i].name] =
          source.column_defaults ? (*source.column_defaults)[i] : DefaultOf(columns_[i].dtype);
    }
    source.file_pattern = path_;
    source.compression_type.reset();
    if (path_.ends_with(".gz")) source.compression_type = "GZIP";
    source.column_defaults.reset();
    source.label_name.reset();
    source.select_columns.emplace(needed_.begin(), needed_.end());
    source.may_lack = labels_;
    source.split.reset();
    UseAll(source);
  }

  void operator()(IdxSource& source) const {
    // The first bytes, not the path, tell whether IDX is compressed.
    source.images = path_;
    source.labels.reset();
    UseAll(source);
  }

  template <class Source>
  void operator()(Source& /*source*/) const {
    throw Error(
        Code::kUsage, fmt::format("--input replaces a file, but {} reads no file", key_),
        fmt::format("its source is {}; set predict.input_fn to another input_fn", Source::kType))
        .Key(key_ + ".source");
  }

 private:
  void SetNames(FilesSource& source) const {
    source.filenames = path_;
    source.compression_type = "auto";
    UseAll(source);
  }

  const std::string& path_;
  const std::string& key_;
  const std::vector<TensorSpec>& columns_;
  const std::set<std::string>& needed_;
  const std::vector<std::string>& labels_;
};

// Changes a job's input_fn to read another file, without labels.
class OtherFile {
 public:
  OtherFile(InputFnOptions options, const std::string& path, const std::string& name)
      : options_(std::move(options)), path_(path), name_(name) {}

  InputFnOptions Make() {
    if (path_ == "-" && !TakesPipe()) {
      const std::string_view type =
          std::visit([](const auto& source) { return source.kType; }, options_.source);
      throw Error(Code::kUsage,
                  fmt::format("standard input must be CSV, lines, JSON lines or TFRecords, "
                              "and {} reads {}",
                              Key(), type),
                  "--input FILE");
    }
    // Features and types come from the job's own files, before the source is changed to the other
    // one.
    for (const auto& [head, column] : LabelsOf(options_)) labels_.push_back(column);
    const std::vector<TensorSpec> columns = Columns();
    SetFeatures(columns);
    KeepNeeded(columns);
    // Reads every row of that file.
    options_.filter = {};
    const std::vector<StageOptions> padding = PaddingStage();
    options_.stages.clear();
    // A file of kept records belongs to the job's own source.
    if (const auto* const cache = std::get_if<std::string>(&options_.cache);
        cache != nullptr && *cache != "memory") {
      options_.cache = false;
    }
    if (!SetImages()) {
      const std::string key = Key();
      const FileSetter set(path_, key, columns, needed_, labels_);
      std::visit([&](auto& source) { set(source); }, options_.source);
    }
    options_.labels.reset();
    options_.shuffle.reset();
    options_.repeat = 1;
    options_.drop_remainder = false;
    if (!padding.empty()) AddPadding(padding);
    return std::move(options_);
  }

 private:
  [[nodiscard]] std::string Key() const { return "input_fns." + name_; }
  // The stage that determines the padding of lists, if there is one.
  [[nodiscard]] std::vector<StageOptions> PaddingStage() const {
    for (size_t i = 0; i < options_.stages.size(); ++i) {
      if (!options_.stages[i].window) continue;
      throw Error(Code::kUsage, "--input FILE has single records, but the model needs windows",
                  "set predict.input_fn to an input_fn that makes windows")
          .Key(fmt::format("{}.stages[{}].window", Key(), i));
    }
    if (options_.stages.empty()) return {};
    const StageOptions& last = options_.stages.back();
    StageOptions stage;
    stage.padded_batch = last.padded_batch;
    if (const auto& bucket = last.bucket_by_sequence_length; bucket && !bucket->no_padding) {
      stage.padded_batch = PaddedBatchOptions{*bucket, std::nullopt};
    }
    if (!stage.padded_batch) return {};
    stage.padded_batch->batch_size.reset();
    return {stage};
  }
  // Stages replace map and repeat.
  void AddPadding(const std::vector<StageOptions>& padding) {
    if (!options_.map.empty()) options_.stages.push_back({.map = std::move(options_.map)});
    options_.map.clear();
    options_.repeat.reset();
    options_.stages.insert(options_.stages.end(), padding.begin(), padding.end());
  }
  [[nodiscard]] bool TakesPipe() const {
    return std::holds_alternative<CsvSource>(options_.source) ||
           std::holds_alternative<TextLineSource>(options_.source) ||
           std::holds_alternative<JsonLinesSource>(options_.source) ||
           std::holds_alternative<LibsvmSource>(options_.source) ||
           std::holds_alternative<TFRecordSource>(options_.source);
  }

  // The columns of the job's own files before the map steps. Opens only files without stated types;
  // bad records were reported when the job's own input was opened.
  [[nodiscard]] std::vector<TensorSpec> Columns() const {
    std::vector<TensorSpec> columns;
    for (const auto& [feature, options] : options_.parse_example) columns.push_back({feature});
    if (const auto& both = options_.parse_sequence_example) {
      for (const auto& [feature, options] : both->context_features) columns.push_back({feature});
      for (const auto& [feature, options] : both->sequence_features) columns.push_back({feature});
    }
    if (!columns.empty()) return columns;
    const std::string key = Key() + ".source";
    if (auto known = KnownColumns(options_.source, key)) return *std::move(known);
    const AnySource source =
        OpenSource(options_.source, false, key, {options_.data_errors.options, nullptr});
    return std::get<std::shared_ptr<IndexedSource>>(source)->columns();
  }

  [[nodiscard]] static std::string OutputOf(const MapOptions& step) {
    return ColumnsOf(step).out.value_or(ColumnsOf(step).in);
  }

  [[nodiscard]] bool IsLabel(const std::string& column) const {
    return std::find(labels_.begin(), labels_.end(), column) != labels_.end();
  }

  // Replaces an empty list of features by the columns that it means: all columns that are neither
  // labels nor id, including those of map steps. The new file may have other columns as well.
  void SetFeatures(const std::vector<TensorSpec>& columns) {
    if (!options_.features.empty()) return;
    std::set<std::string> names;
    for (const TensorSpec& column : columns) names.insert(column.name);
    for (const KeyedMap& step : MapOf(options_)) names.insert(OutputOf(*step.op));
    for (const std::string& name : names) {
      if (!IsLabel(name) && name != options_.id) options_.features.push_back(name);
    }
  }

  // Keeps the map steps and parsed features that features and id need. Goes from the last step
  // back: a step is needed if its result is needed, and then its input is needed as well.
  void KeepNeeded(const std::vector<TensorSpec>& columns) {
    std::set<std::string> all;
    for (const TensorSpec& column : columns) all.insert(column.name);
    const std::vector<KeyedMap> all_steps = MapOf(options_);
    for (const KeyedMap& step : all_steps) all.insert(OutputOf(*step.op));
    needed_.insert(options_.features.begin(), options_.features.end());
    if (options_.id) needed_.insert(*options_.id);
    needed_.insert(options_.forwarded.begin(), options_.forwarded.end());
    std::vector<MapOptions> steps;
    for (auto keyed = all_steps.rbegin(); keyed != all_steps.rend(); ++keyed) {
      const MapOptions* const step = keyed->op;
      if (needed_.erase(OutputOf(*step)) == 0) continue;
      needed_.merge(InputsOf(*step, all));
      steps.insert(steps.begin(), *step);
    }
    options_.map = std::move(steps);
    const auto is_not_needed = [&](const auto& feature) {
      return !needed_.contains(feature.first);
    };
    std::erase_if(options_.parse_example, is_not_needed);
    if (options_.parse_sequence_example) {
      std::erase_if(options_.parse_sequence_example->context_features, is_not_needed);
      std::erase_if(options_.parse_sequence_example->sequence_features, is_not_needed);
    }
  }

  // Makes the source read images; returns false if the source reads none, or the path is not an
  // image.
  bool SetImages() {
    ImageFolderSource images;
    if (const auto* folder = std::get_if<ImageFolderSource>(&options_.source)) {
      images = *folder;
      images.labels.reset();
      images.cache_file.clear();
      options_.cache = false;
      UseAll(images);
    } else if (const auto* shapes = std::get_if<ShapesSource>(&options_.source)) {
      images.image_size = {shapes->size, shapes->size};
      images.labels.reset();
      images.whole_numbers = true;
      options_.cache = false;
    } else if (std::holds_alternative<TFRecordSource>(options_.source)) {
      images.column_of_bytes = DecodedColumn(options_.map);
      if (images.column_of_bytes.empty()) return false;
    } else {
      return false;
    }
    images.files = ImagesAt(path_);
    if (images.files.empty()) {
      // Only TFRecords can replace TFRecords; images of a folder have no other form.
      if (std::holds_alternative<TFRecordSource>(options_.source)) return false;
      throw Error(Code::kData, fmt::format("{}: expected an image or a folder of images", path_));
    }
    if (!images.column_of_bytes.empty()) {
      options_.parse_example.clear();
      options_.parse_sequence_example.reset();
    }
    options_.source = std::move(images);
    return true;
  }

  InputFnOptions options_;
  const std::string& path_;
  const std::string& name_;
  std::vector<std::string> labels_;
  std::set<std::string> needed_;  // needed columns of the source
};

}  // namespace

InputFnOptions WithFile(InputFnOptions options, const std::string& path, const std::string& name) {
  return OtherFile(std::move(options), path, name).Make();
}

}  // namespace tpuest::data
