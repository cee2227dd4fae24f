#include "data/pipeline/other_file.h"

#include <algorithm>
#include <set>

#include "core/base/process/files.h"
#include "core/io/images/image.h"
#include "data/examples/column_plan.h"
#include "data/examples/map_step.h"
#include "data/images/folder_list.h"
#include "data/sources/open_source.h"

namespace tpuest {
namespace {

class OtherFile {
 public:
  OtherFile(InputFnOptions options, const std::string& path, const std::string& name)
      : options_(std::move(options)), path_(path), name_(name) {}

  InputFnOptions Make() {
    if (path_ == "-" && !TakesPipe()) {
      throw Error(Code::kUsage,
                  fmt::format("standard input must be CSV, lines, JSON lines or TFRecords, "
                              "and {} reads {}",
                              Key(), Type()),
                  "--input FILE");
    }
    // Features and types are told from the job's own files, before the source is pointed at another
    // one.
    for (const auto& [head, column] : LabelsOf(options_)) labels_.push_back(column);
    const std::vector<TensorSpec> columns = Columns();
    SetFeatures(columns);
    KeepNeeded(columns);
    // Every row of that file is read.
    options_.filter = {};
    const std::vector<StageOptions> padding = PaddingStage();
    options_.stages.clear();
    // A file of records is the job's own's.
    if (const auto* const cache = std::get_if<std::string>(&options_.cache);
        cache != nullptr && *cache != "memory") {
      options_.cache = false;
    }
    if (!SetImages()) {
      std::visit([&](auto& source) { SetFile(source, columns); }, options_.source);
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
  // The stage that says how lists are filled up, if there is one.
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
  // Stages stand in the place of map and repeat.
  void AddPadding(const std::vector<StageOptions>& padding) {
    if (!options_.map.empty()) options_.stages.push_back({.map = std::move(options_.map)});
    options_.map.clear();
    options_.repeat.reset();
    options_.stages.insert(options_.stages.end(), padding.begin(), padding.end());
  }
  [[nodiscard]] std::string_view Type() const {
    return std::visit([](const auto& source) { return source.kType; }, options_.source);
  }

  [[nodiscard]] bool TakesPipe() const {
    return std::holds_alternative<CsvSource>(options_.source) ||
           std::holds_alternative<TextLineSource>(options_.source) ||
           std::holds_alternative<JsonLinesSource>(options_.source) ||
           std::holds_alternative<LibsvmSource>(options_.source) ||
           std::holds_alternative<TFRecordSource>(options_.source);
  }

  // The columns of the job's own files, before the map steps. Only files without stated types must
  // be opened for that; bad records were reported when the job's own input was opened.
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

  // Writes down what an empty list of features means: all columns that are neither labels nor id,
  // those that map steps make included. The new file may have other columns beside them.
  void SetFeatures(const std::vector<TensorSpec>& columns) {
    if (!options_.features.empty()) return;
    std::set<std::string> names;
    for (const TensorSpec& column : columns) names.insert(column.name);
    for (const KeyedMap& step : MapOf(options_)) names.insert(OutputOf(*step.op));
    for (const std::string& name : names) {
      if (!IsLabel(name) && name != options_.id) options_.features.push_back(name);
    }
  }

  // Keeps the map steps and parsed features that features and id are made of. From the last step
  // back: a step is needed if its result is, and then so is its input.
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

  // The images that the path names: a file that begins as one, or all below a folder.
  [[nodiscard]] std::vector<std::string> Images() const {
    if (DirectoryExists(path_)) {
      std::vector<std::string> unreadable;
      std::vector<std::string> files = ImagesBelow(path_, true, unreadable);
      if (!unreadable.empty()) {
        throw Error(Code::kData, fmt::format("{}: permission denied", unreadable.front()),
                    "all images below the folder are predicted");
      }
      if (!files.empty()) return files;
      throw Error(Code::kData, fmt::format("{}: the folder has no images", path_),
                  "image names end in .bmp, .gif, .jpeg, .jpg or .png");
    }
    if (path_ == "-" || !FileExists(path_) || KindOfOther(path_)) return {};
    const MappedFile file(path_);
    return ImageFormatOf(file.bytes()) ? std::vector{path_} : std::vector<std::string>();
  }

  // The column of bytes that a needed map op decodes; empty where there is none.
  [[nodiscard]] std::string DecodedColumn() const {
    for (const MapOptions& step : options_.map) {
      if (std::holds_alternative<DecodeImageMap>(step) ||
          std::holds_alternative<DecodeCenterCropMap>(step) ||
          std::holds_alternative<DecodeRandomCropMap>(step)) {
        return ColumnsOf(step).in;
      }
    }
    return "";
  }

  // Points the source at images; false where it reads none, or the path is none.
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
      images.column_of_bytes = DecodedColumn();
      if (images.column_of_bytes.empty()) return false;
    } else {
      return false;
    }
    images.files = Images();
    if (images.files.empty()) {
      // TFRecords stand in for TFRecords; a folder's images have no other form.
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

  void SetFile(TFRecordSource& source, const std::vector<TensorSpec>& /*columns*/) const {
    source.filenames = path_;
    source.compression_type = "auto";
    UseAll(source);
  }

  void SetFile(FilesSource& source) const {
    source.filenames = path_;
    source.compression_type = "auto";
    UseAll(source);
  }
  void SetFile(TextLineSource& source, const std::vector<TensorSpec>& /*columns*/) const {
    SetFile(source);
  }
  void SetFile(FixedLengthSource& source, const std::vector<TensorSpec>& /*columns*/) const {
    SetFile(source);
  }

  // Types are those of the job's own file, and what it found nothing in may be absent here, too.
  void SetFile(JsonLinesSource& source, const std::vector<TensorSpec>& columns) const {
    const bool is_inferred = source.features.empty();
    for (const TensorSpec& column : columns) {
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
    SetFile(source);
  }

  void SetFile(LibsvmSource& source, const std::vector<TensorSpec>& columns) const {
    for (const TensorSpec& column : columns) {
      if (column.name == "label") source.label_dtype = NameOf(column.dtype);
      if (column.name == "weight") source.weight_is_one = true;
    }
    source.weights = FileNames(std::vector<std::string>());
    source.names_label = false;
    SetFile(source);
  }

  void SetFile(NpzSource& source, const std::vector<TensorSpec>& columns) const {
    for (const TensorSpec& column : columns) source.arrays.try_emplace(column.name, column.name);
    std::erase_if(source.arrays, [&](const auto& array) { return !needed_.contains(array.first); });
    source.file = path_;
    UseAll(source);
  }

  void SetFile(CsvSource& source, const std::vector<TensorSpec>& columns) const {
    // Every stated or found type is fixed by name, for the file's columns may stand in another
    // order.
    for (size_t i = 0; i < columns.size(); ++i) {
      source.defaults_by_name[columns[i].name] =
          source.column_defaults ? (*source.column_defaults)[i] : DefaultOf(columns[i].dtype);
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

  // The default that make_csv_dataset gives a column whose type it found itself: 0 or "".
  static CsvDefault DefaultOf(DType dtype) {
    CsvDefault made;
    made.dtype = NameOf(dtype);
    if (dtype == DType::kString) {
      made.default_value = std::string();
    } else {
      made.default_value = int64_t{0};
    }
    return made;
  }

  void SetFile(IdxSource& source, const std::vector<TensorSpec>& /*columns*/) const {
    // The path decides nothing: IDX is inflated by its first bytes.
    source.images = path_;
    source.labels.reset();
    UseAll(source);
  }

  template <class Source>
  void SetFile(Source& /*source*/, const std::vector<TensorSpec>& /*columns*/) const {
    throw Error(Code::kUsage, fmt::format("--input replaces a file, but {} reads no file", Key()),
                fmt::format("its source is {}; set predict.input_fn to another input_fn", Type()))
        .Key(Key() + ".source");
  }

  static void UseAll(RecordRange& range) { range = RecordRange(); }

  InputFnOptions options_;
  const std::string& path_;
  const std::string& name_;
  std::vector<std::string> labels_;
  std::set<std::string> needed_;  // columns of the source
};

}  // namespace

InputFnOptions WithFile(InputFnOptions options, const std::string& path, const std::string& name) {
  return OtherFile(std::move(options), path, name).Make();
}

}  // namespace tpuest
