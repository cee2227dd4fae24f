#pragma once
// The options of sources: one struct per type, named after TensorFlow's dataset class if it has one
// (tf.data.TFRecordDataset, tf.data.TextLineDataset, tf.data.FixedLengthRecordDataset,
// tf.data.experimental.make_csv_dataset, Dataset.from_tensor_slices, Dataset.range). Shapes are
// those of one example. See core/base/visit.h.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/base/one_of.h"
#include "core/base/visit.h"
#include "data/feature_options.h"
#include "data/image_options.h"

namespace tpuest::data {

// The part of a source to use: `take` records after the first `skip`, as Dataset.skip and
// Dataset.take do.
struct RecordRange {
  int64_t skip = 0;
  std::optional<int64_t> take;  // nullopt and -1: all

  template <class V>
  void VisitRange(V& v) {
    v("skip", skip, {.help = "number of records to skip at the start"});
    v("take", take,
      {.help = "number of records to use after the skipped ones; `null` or -1 uses all"});
  }
};

// One file or pattern, or a list of them.
using FileNames = std::variant<std::string, std::vector<std::string>>;
[[nodiscard]] inline std::vector<std::string> ListOf(const FileNames& names) {
  const auto* const one = std::get_if<std::string>(&names);
  return one != nullptr ? std::vector{*one} : std::get<std::vector<std::string>>(names);
}

// tf.data.TFRecordDataset. Columns: those of parse_example; without it, `serialized`, a string [].
struct TFRecordSource : RecordRange {
  static constexpr std::string_view kType = "TFRecordDataset";
  static constexpr std::string_view kSummary = "tf.Examples in TFRecord files";
  FileNames filenames;
  std::string compression_type;
  int64_t buffer_size = 262144;
  int num_parallel_reads = 1;

  template <class V>
  void Visit(V& v) {
    v("filenames", filenames,
      {.help = "files or shell patterns, or only `-` for standard input; read in this order, the "
               "matches of a pattern sorted",
       .required = true,
       .input_path = true});
    VisitRange(v);
    v("compression_type", compression_type,
      {.help = "compression: \"\" for none; `auto` detects it from the first bytes",
       .values = {"", "GZIP", "ZLIB", "auto"}});
    v("buffer_size", buffer_size,
      {.help = "bytes to read at a time from compressed files; other files are memory-mapped"});
    v("num_parallel_reads", num_parallel_reads,
      {.help = "number of files to index at once; it does not change the order of records"});
  }
};

// The value that replaces an empty field, or one equal to na_value, in a CSV column.
struct CsvDefault {
  std::string dtype;
  std::optional<std::variant<std::string, int64_t, double>> default_value;

  template <class V>
  void Visit(V& v) {
    v("dtype", dtype,
      {.help = "type of the column",
       .required = true,
       .tpuest = true,
       .values = {"int32", "int64", "float32", "float64", "string"}});
    v("default_value", default_value,
      {.help = "value of an empty field; `null` requires a value", .tpuest = true});
  }
};

// An element of column_defaults: the name of a dtype (the column must have a value), a value, or
// both.
using CsvColumnDefault = std::variant<std::string, int64_t, double, CsvDefault>;

// One of the two parts into which a hash of each record's bytes splits a file's records. Equal
// records are in the same part, and a record's part does not depend on its position.
struct HashSplit {
  std::string part;
  double eval_fraction = 0.2;

  template <class V>
  void Visit(V& v) {
    v("part", part,
      {.help = "part of the records to use",
       .required = true,
       .tpuest = true,
       .values = {"train", "eval"}});
    v("eval_fraction", eval_fraction,
      {.help = "approximate fraction of all records in the part `eval`", .tpuest = true});
  }
};

// tf.data.experimental.make_csv_dataset. Columns: the selected ones by their names, each of shape
// [] and its own type.
struct CsvSource : RecordRange {
  static constexpr std::string_view kType = "make_csv_dataset";
  static constexpr std::string_view kSummary = "rows of CSV files";
  FileNames file_pattern;
  std::optional<std::vector<std::string>> column_names;
  std::optional<std::vector<CsvColumnDefault>> column_defaults;
  std::optional<std::string> label_name;
  std::optional<std::vector<std::variant<std::string, int64_t>>> select_columns;
  std::string field_delim = ",";
  bool use_quote_delim = true;
  std::string na_value;
  bool header = true;
  std::optional<int64_t> num_rows_for_inference = 100;
  std::optional<std::string> compression_type;
  std::optional<HashSplit> split;
  std::optional<int64_t> batch_size;
  std::optional<int64_t> num_epochs;
  std::optional<bool> shuffle;
  std::optional<int64_t> shuffle_buffer_size;
  std::optional<uint64_t> shuffle_seed;
  // Not keys of a job: facts about a file that replaces the job's own (other_file.h).
  // defaults_by_name replaces column_defaults; may_lack lists columns of column_names of which the
  // file lacks either all or none.
  std::map<std::string, CsvColumnDefault> defaults_by_name;
  std::vector<std::string> may_lack;

  template <class V>
  void Visit(V& v) {
    v("file_pattern", file_pattern,
      {.help = "file, shell pattern or a list of them, read in this order; `-` is standard input",
       .required = true,
       .input_path = true});
    v("column_names", column_names, {.help = "names of all columns; `null` takes the header's"});
    v("column_defaults", column_defaults,
      {.help = "one entry per selected column: a dtype (the column must have a value), a value, or "
               "both as {dtype, default_value}; `null` infers types from the first rows and "
               "defaults to 0 and \"\""});
    v("label_name", label_name, {.help = "label column, used if the input_fn's `labels` is null"});
    v("select_columns", select_columns,
      {.help = "names or numbers, from 0, of the columns to read; `null` reads all"});
    v("field_delim", field_delim, {.help = "one character that separates fields"});
    v("use_quote_delim", use_quote_delim,
      {.help = "`false` treats a double quote as any other character"});
    v("na_value", na_value, {.help = "text that counts as an empty field"});
    v("header", header, {.help = "`true` reads column names from the first row of each file"});
    v("num_rows_for_inference", num_rows_for_inference,
      {.help = "number of rows from which to infer types; `null` reads all"});
    v("compression_type", compression_type,
      {.help = "compression; `null` and \"\" for none", .values = {"", "GZIP", "ZLIB"}});
    v("split", split,
      {.help = "one of two parts of the records, by a hash of each record; skip and take count "
               "within the part",
       .tpuest = true});
    v("batch_size", batch_size,
      {.help = "rows per batch, if the job has no train_batch_size; if both are given they must "
               "agree"});
    v("num_epochs", num_epochs, {.help = "number of passes, as `repeat` of the input_fn"});
    v("shuffle", shuffle,
      {.help =
           "`true`, or only a buffer size or a seed, shuffles as `shuffle` of the input_fn does"});
    v("shuffle_buffer_size", shuffle_buffer_size,
      {.help = "size of the shuffle window in rows; `null` is 10000"});
    v("shuffle_seed", shuffle_seed,
      {.help = "seed of the shuffle; `null` takes it from tf_random_seed"});
    VisitRange(v);
  }
};

// IDX, the format of MNIST's files (yann.lecun.com/exdb/mnist). Columns: `image` uint8 [rows *
// columns] and, if there are labels, `label` int32 [].
struct IdxSource : RecordRange {
  static constexpr std::string_view kType = "idx";
  static constexpr std::string_view kSummary = "MNIST's files";
  std::string images;
  std::optional<std::string> labels;

  template <class V>
  void Visit(V& v) {
    v("images", images,
      {.help = "IDX file of uint8 images, plain or gzip", .required = true, .input_path = true});
    v("labels", labels, {.help = "IDX file of as many uint8 labels", .input_path = true});
    VisitRange(v);
  }
};

// Generated digits that look handwritten. Columns: `image` uint8 [784] and `label` int32 [], pure
// functions of (seed, index).
struct DigitsSource : RecordRange {
  static constexpr std::string_view kType = "digits";
  static constexpr std::string_view kSummary = "generated images of digits; needs no file";
  int64_t count = 60000;
  uint64_t seed = 0;

  template <class V>
  void Visit(V& v) {
    v("count", count, {.help = "number of digits in an epoch"});
    v("seed", seed, {.help = "seed of the images"});
    VisitRange(v);
  }
};

// Generated images of shapes. Columns: `image` uint8 [size, size, 3] and `label` int32 [], pure
// functions of (seed, index).
struct ShapesSource : RecordRange {
  static constexpr std::string_view kType = "shapes";
  static constexpr std::string_view kSummary = "generated images of coloured shapes; needs no file";
  int64_t count = 50000;
  uint64_t seed = 0;
  int64_t classes = 10;
  int64_t size = 32;

  template <class V>
  void Visit(V& v) {
    v("count", count, {.help = "number of images in an epoch"});
    v("seed", seed, {.help = "seed of the images"});
    v("classes", classes, {.help = "number of shape kinds, 2 to 10"});
    v("size", size, {.help = "height and width in pixels, 8 to 256"});
    VisitRange(v);
  }
};

// tf.keras.utils.image_dataset_from_directory. Columns: `image` float32 [height, width, channels],
// 0 to 255, and, if there are labels, `label`: int32 [], float32 [classes] or float32 [1].
struct ImageFolderSource : RecordRange {
  static constexpr std::string_view kType = "image_dataset_from_directory";
  static constexpr std::string_view kSummary = "images in one folder per class";
  std::string directory;
  std::optional<std::variant<std::string, std::vector<int64_t>>> labels = "inferred";
  std::optional<std::string> label_mode = "int";
  std::optional<std::vector<std::string>> class_names;
  std::string color_mode = "rgb";
  std::vector<int64_t> image_size = {256, 256};
  bool shuffle = true;
  std::optional<uint64_t> seed;
  std::optional<double> validation_split;
  std::optional<std::string> subset;
  std::string interpolation = "bilinear";
  bool follow_links = false;
  bool crop_to_aspect_ratio = false;
  // Not keys of a job: images that replace the folder's (other_file.h), and the file that keeps
  // decoded images (`cache`). If column_of_bytes is set, the only column has that name and is a
  // string []: the undecoded files.
  std::vector<std::string> files;
  std::string column_of_bytes;
  bool whole_numbers = false;  // `image` is uint8, as in generated shapes
  std::string cache_file;

  template <class V>
  void Visit(V& v) {
    v("directory", directory,
      {.help = "folder that holds one folder of images per class",
       .required = true,
       .input_path = true});
    v("labels", labels,
      {.help = "`inferred` takes the class from the folder; `null` has no labels; a list gives one "
               "whole number per file, in their order"});
    v("label_mode", label_mode,
      {.help = "`int` is int32 []; `categorical` is float32 [classes]; `binary` is float32 [1]; "
               "`null` has no labels",
       .values = {"int", "categorical", "binary"}});
    v("class_names", class_names, {.help = "names of the folders, in the order of their labels"});
    v("color_mode", color_mode,
      {.help = "number of channels: `grayscale` 1, `rgb` 3, `rgba` 4",
       .values = {"grayscale", "rgb", "rgba"}});
    v("image_size", image_size, {.help = "[height, width] to which every image is resized"});
    v("shuffle", shuffle,
      {.help = "shuffle the list of files by `seed` before it is split; the input_fn's `shuffle` "
               "shuffles each epoch"});
    v("seed", seed, {.help = "seed of that shuffle; `null` is 0"});
    v("validation_split", validation_split,
      {.help = "fraction of the files to use for validation, 0 to 1"});
    v("subset", subset,
      {.help = "`validation` takes the last files; `training` takes the others",
       .values = {"training", "validation"}});
    v("interpolation", interpolation,
      {.help = "interpolation of the resizing", .values = ResizeMethods()});
    v("follow_links", follow_links, {.help = "read folders that are links"});
    v("crop_to_aspect_ratio", crop_to_aspect_ratio,
      {.help =
           "`true` crops the longer side to keep the aspect ratio; `false` distorts the image"});
    VisitRange(v);
  }
};

// Dataset.from_tensor_slices of values in the job. Columns: the names in `values`. Each is a list
// with one element per row, a scalar or nested lists; all lists are equally long. Integers are
// int32 (int64 if one does not fit); other numbers are float32.
struct SlicesSource : RecordRange {
  static constexpr std::string_view kType = "from_tensor_slices";
  static constexpr std::string_view kSummary = "rows in the job, or in .npy files";
  static constexpr std::array<std::string_view, 1> kAliases = {"numpy"};
  std::map<std::string, Raw> values;

  template <class V>
  void Visit(V& v) {
    v("values", values, {.help = "lists of rows, by column name", .required = true});
    VisitRange(v);
  }
};

// Dataset.range. Column: `value` int64 [], from `start` in steps of `step` to before `stop`.
struct RangeSource : RecordRange {
  static constexpr std::string_view kType = "range";
  static constexpr std::string_view kSummary = "consecutive whole numbers";
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;

  template <class V>
  void Visit(V& v) {
    v("start", start, {.help = "first value"});
    v("stop", stop, {.help = "end of the range, excluded", .required = true});
    v("step", step, {.help = "difference between values; not 0"});
    VisitRange(v);
  }
};

// Files that are read completely or mapped, one after the other.
struct FilesSource : RecordRange {
  FileNames filenames;
  std::string compression_type;

  template <class V>
  void VisitFiles(V& v) {
    v("filenames", filenames,
      {.help = "files or shell patterns; read in this order, the matches of a pattern sorted",
       .required = true,
       .input_path = true});
    v("compression_type", compression_type,
      {.help = "compression: \"\" for none; `auto` detects it from the first bytes",
       .values = {"", "GZIP", "ZLIB", "auto"}});
    VisitRange(v);
  }
};

// tf.data.TextLineDataset. Column: `text`, a string [], each line without its line end.
struct TextLineSource : FilesSource {
  static constexpr std::string_view kType = "TextLineDataset";
  static constexpr std::string_view kSummary = "lines of text files";

  template <class V>
  void Visit(V& v) {
    VisitFiles(v);
  }
};

// One JSON object per line. Columns: those of `features`, or the keys of the first objects.
struct JsonLinesSource : FilesSource {
  static constexpr std::string_view kType = "json_lines";
  static constexpr std::string_view kSummary = "one JSON object per line";
  std::map<std::string, FeatureOptions> features;
  std::optional<int64_t> num_rows_for_inference = 100;

  template <class V>
  void Visit(V& v) {
    VisitFiles(v);
    v("features", features,
      {.help = "keys to read and their types; empty reads all keys of the first rows, with 0 and "
               "\"\" for missing values"});
    v("num_rows_for_inference", num_rows_for_inference,
      {.help = "number of rows from which to infer keys and types; `null` reads all"});
  }
};

// Rows of libsvm, XGBoost and LightGBM: "label index:value ... # comment". Columns: `label`,
// `index` int64 [?] and `value` float32 [?], which weighted_categorical_column takes, and `weight`
// float32 if there are weights.
struct LibsvmSource : FilesSource {
  static constexpr std::string_view kType = "libsvm";
  static constexpr std::string_view kSummary = "rows of a label and index:value pairs";
  std::optional<FileNames> weights;
  std::optional<std::string> label_dtype;
  int64_t base = 0;
  std::optional<int64_t> size;
  // Not keys of a job: whether `label` is the input_fn's label if it names none, and whether each
  // row has weight 1, for a file that replaces one with weights (other_file.h).
  bool names_label = true;
  bool weight_is_one = false;

  template <class V>
  void Visit(V& v) {
    v("file", filenames,
      {.help = "file, shell pattern or a list of them, read in this order; `-` is standard input",
       .required = true,
       .input_path = true});
    v("weights", weights,
      {.help = "files with one number per row, one for each input file, as the column `weight`; "
               "`null` takes FILE.weight if it exists; [] has none",
       .input_path = true});
    v("label_dtype", label_dtype,
      {.help = "type of the labels; `null` is int64 if all are whole numbers, otherwise float32",
       .values = {"int64", "float32"}});
    v("base", base, {.help = "first index in the file, 0 or 1; the column `index` counts from 0"});
    v("size", size,
      {.help = "number of indices; a larger index in a row is an error; `null` allows any"});
    v("compression_type", compression_type,
      {.help = "compression: \"\" for none; `auto` detects it from the first bytes",
       .values = {"", "GZIP", "ZLIB", "auto"}});
    VisitRange(v);
  }
};

// tf.data.FixedLengthRecordDataset. Column: `record`, a string [] of record_bytes bytes.
struct FixedLengthSource : FilesSource {
  static constexpr std::string_view kType = "FixedLengthRecordDataset";
  static constexpr std::string_view kSummary = "records of a fixed number of bytes";
  int64_t record_bytes = 0;
  int64_t header_bytes = 0;
  int64_t footer_bytes = 0;

  template <class V>
  void Visit(V& v) {
    VisitFiles(v);
    v("record_bytes", record_bytes, {.help = "bytes per record", .required = true});
    v("header_bytes", header_bytes, {.help = "bytes to skip at the start of each file"});
    v("footer_bytes", footer_bytes, {.help = "bytes to skip at the end of each file"});
  }
};

// NumPy's files of one array. Columns: the names in `arrays`, each with the array's axes after the
// first.
struct NpySource : RecordRange {
  static constexpr std::string_view kType = "npy";
  static constexpr std::string_view kSummary = "rows of one NumPy array";
  std::map<std::string, std::string> arrays;

  template <class V>
  void Visit(V& v) {
    v("arrays", arrays,
      {.help = ".npy files of rows, by column name", .required = true, .input_path = true});
    VisitRange(v);
  }
};

// NumPy's archives of arrays. Columns: those of `arrays`, or all arrays of the archive.
struct NpzSource : RecordRange {
  static constexpr std::string_view kType = "npz";
  static constexpr std::string_view kSummary = "rows of several NumPy arrays";
  std::string file;
  std::map<std::string, std::string> arrays;

  template <class V>
  void Visit(V& v) {
    v("file", file, {.help = "a .npz file", .required = true, .input_path = true});
    v("arrays", arrays, {.help = "names of arrays, by column name; empty reads all arrays"});
    VisitRange(v);
  }
};

// The records that a program writes to its stdout, one after the other. Columns: those of
// `features`, those of parse_example, or `text`. Replaces Dataset.from_generator.
struct GeneratorSource : RecordRange {
  static constexpr std::string_view kType = "generator";
  static constexpr std::string_view kSummary =
      "output of a program: tf.Examples, JSON lines or CSV";
  std::vector<std::string> command;
  std::string format = "jsonl";
  std::map<std::string, FeatureOptions> features;
  int64_t timeout_secs = 60;

  template <class V>
  void Visit(V& v) {
    v("command", command,
      {.help = "program and its arguments; each pass starts it again, and it must write the same "
               "records",
       .required = true,
       .tpuest = true});
    v("format", format,
      {.help =
           "format of the output: `jsonl` (one JSON object per line), `text` (lines) or `tfrecord`",
       .tpuest = true,
       .values = {"jsonl", "text", "tfrecord"}});
    v("features", features, {.help = "of jsonl: keys to read and their types", .tpuest = true});
    v("timeout_secs", timeout_secs,
      {.help = "seconds without output after which the program is stopped", .tpuest = true});
    VisitRange(v);
  }
};

// tf.data.experimental.SqlDataset. Columns: those of the query, by their names, each of shape [].
struct SqlSource : RecordRange {
  static constexpr std::string_view kType = "SqlDataset";
  static constexpr std::string_view kSummary = "rows of an SQLite query";
  std::string driver_name = "sqlite";
  std::string data_source_name;
  std::string query;
  std::vector<std::string> output_types;

  template <class V>
  void Visit(V& v) {
    v("driver_name", driver_name, {.help = "type of the database", .values = {"sqlite"}});
    v("data_source_name", data_source_name,
      {.help = "file of the database", .required = true, .input_path = true});
    v("query", query,
      {.help = "SELECT statement; its ORDER BY sets the order of records", .required = true});
    v("output_types", output_types,
      {.help = "types of the query's columns: int32, int64, float32, float64, bool, string",
       .required = true});
    VisitRange(v);
  }
};

// Sources that zip accepts.
using PlainSourceTypes =
    std::variant<TFRecordSource, CsvSource, TextLineSource, JsonLinesSource, LibsvmSource,
                 FixedLengthSource, NpySource, NpzSource, IdxSource, DigitsSource, ShapesSource,
                 ImageFolderSource, SlicesSource, RangeSource, SqlSource>;
using PlainSource = OneOf<PlainSourceTypes>;

// Dataset.zip: joins record i of all datasets; the shortest determines the number of records.
// Columns: those of all datasets.
struct ZipSource : RecordRange {
  static constexpr std::string_view kType = "zip";
  static constexpr std::string_view kSummary = "rows of several sources side by side";
  std::vector<PlainSource> datasets;

  template <class V>
  void Visit(V& v) {
    v("datasets", datasets, {.help = "sources with different columns", .required = true});
    VisitRange(v);
  }
};

using SourceOptionsTypes =
    std::variant<TFRecordSource, CsvSource, TextLineSource, JsonLinesSource, LibsvmSource,
                 FixedLengthSource, NpySource, NpzSource, IdxSource, DigitsSource, ShapesSource,
                 ImageFolderSource, SlicesSource, RangeSource, GeneratorSource, SqlSource,
                 ZipSource>;
using SourceOptions = OneOf<SourceOptionsTypes>;

}  // namespace tpuest::data

namespace tpuest {
extern template class OneOf<data::PlainSourceTypes>;
extern template class OneOf<data::SourceOptionsTypes>;
}  // namespace tpuest
