#pragma once
// The options of sources: one struct a type, named as TensorFlow's dataset class where there is one
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

namespace tpuest {

// The part of a source that is used: `take` records after the first `skip`, Dataset.skip and
// Dataset.take on records.
struct RecordRange {
  int64_t skip = 0;
  std::optional<int64_t> take;  // nullopt and -1: all

  template <class V>
  void VisitRange(V& v) {
    v("skip", skip, {.help = "records left out at the start"});
    v("take", take, {.help = "records used after those; null or -1: all the rest"});
  }
};

// One file or pattern, or a list of them.
using FileNames = std::variant<std::string, std::vector<std::string>>;
[[nodiscard]] inline std::vector<std::string> ListOf(const FileNames& names) {
  const auto* const one = std::get_if<std::string>(&names);
  return one != nullptr ? std::vector{*one} : std::get<std::vector<std::string>>(names);
}

// tf.data.TFRecordDataset. Columns: those of parse_example; without it `serialized`, a string [].
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
      {.help = "files or shell patterns, or - alone for standard input; read in this order, the "
               "matches "
               "of a pattern sorted",
       .required = true,
       .input_path = true});
    VisitRange(v);
    v("compression_type", compression_type,
      {.help = "\"\" for none; auto: by the first bytes", .values = {"", "GZIP", "ZLIB", "auto"}});
    v("buffer_size", buffer_size,
      {.help = "bytes gathered at a time from compressed files; others are mapped"});
    v("num_parallel_reads", num_parallel_reads,
      {.help = "files indexed at once; the order of the records does not depend on it"});
  }
};

// The value that stands in for a field of a CSV column that is empty or na_value.
struct CsvDefault {
  std::string dtype;
  std::optional<std::variant<std::string, int64_t, double>> default_value;

  template <class V>
  void Visit(V& v) {
    v("dtype", dtype,
      {.help = "of the column",
       .required = true,
       .tpuest = true,
       .values = {"int32", "int64", "float32", "float64", "string"}});
    v("default_value", default_value,
      {.help = "null: the column must have a value", .tpuest = true});
  }
};

// One of column_defaults: a dtype by its name (the column must have a value), a value, or both.
using CsvColumnDefault = std::variant<std::string, int64_t, double, CsvDefault>;

// One of two parts of a file's records, told apart by a hash of each record's bytes: equal records
// are of one part, and a record stays in its part wherever it stands.
struct HashSplit {
  std::string part;
  double eval_fraction = 0.2;

  template <class V>
  void Visit(V& v) {
    v("part", part,
      {.help = "the records that are used",
       .required = true,
       .tpuest = true,
       .values = {"train", "eval"}});
    v("eval_fraction", eval_fraction,
      {.help = "about so many of all records are of the part eval", .tpuest = true});
  }
};

// tf.data.experimental.make_csv_dataset. Columns: the selected ones by their names, each [] of its
// type.
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
  // These are no keys of a job: they say what is known of a file that stands in for the job's own
  // (other_file.h). defaults_by_name takes the place of column_defaults; the columns of may_lack
  // are columns of column_names that the file may leave out, all or none of them.
  std::map<std::string, CsvColumnDefault> defaults_by_name;
  std::vector<std::string> may_lack;

  template <class V>
  void Visit(V& v) {
    v("file_pattern", file_pattern,
      {.help = "file, shell pattern or a list of them, read in this order; -: standard input",
       .required = true,
       .input_path = true});
    v("column_names", column_names, {.help = "of all columns; null: the header's"});
    v("column_defaults", column_defaults,
      {.help = "one a selected column: a dtype (the column must have a value), a value, or both as "
               "{dtype, default_value}; null: types as found in the first rows, 0 and \"\""});
    v("label_name", label_name, {.help = "what the input_fn's labels is where it is null"});
    v("select_columns", select_columns, {.help = "names or numbers from 0; null: all"});
    v("field_delim", field_delim, {.help = "one character between fields"});
    v("use_quote_delim", use_quote_delim,
      {.help = "false: a double quote is a character as any other"});
    v("na_value", na_value, {.help = "a text that counts as an empty field"});
    v("header", header, {.help = "the first row of each file names the columns"});
    v("num_rows_for_inference", num_rows_for_inference,
      {.help = "rows that types are found from; null: all"});
    v("compression_type", compression_type,
      {.help = "null and \"\" for none", .values = {"", "GZIP", "ZLIB"}});
    v("split", split,
      {.help = "one of two parts of the records, by a hash of each; skip and take count in it",
       .tpuest = true});
    v("batch_size", batch_size,
      {.help = "rows of a batch, where the job names no train_batch_size; both: the same number"});
    v("num_epochs", num_epochs, {.help = "passes, as repeat beside the source"});
    v("shuffle", shuffle,
      {.help = "true, or a buffer or seed without it: as shuffle beside the source"});
    v("shuffle_buffer_size", shuffle_buffer_size, {.help = "rows of its window; null: 10000"});
    v("shuffle_seed", shuffle_seed, {.help = "null: from tf_random_seed"});
    VisitRange(v);
  }
};

// IDX, the format of MNIST's files (yann.lecun.com/exdb/mnist). Columns: `image` uint8 [rows *
// columns] and, where there are labels, `label` int32 [].
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

// Generated handwritten-looking digits. Columns: `image` uint8 [784] and `label` int32 [], drawn as
// a pure function of (seed, index).
struct DigitsSource : RecordRange {
  static constexpr std::string_view kType = "digits";
  static constexpr std::string_view kSummary = "drawn digits: no file is needed";
  int64_t count = 60000;
  uint64_t seed = 0;

  template <class V>
  void Visit(V& v) {
    v("count", count, {.help = "digits in an epoch"});
    v("seed", seed, {.help = "another seed draws other digits"});
    VisitRange(v);
  }
};

// Generated images of shapes. Columns: `image` uint8 [size, size, 3] and `label` int32 [], drawn as
// a pure function of (seed, index).
struct ShapesSource : RecordRange {
  static constexpr std::string_view kType = "shapes";
  static constexpr std::string_view kSummary = "drawn coloured shapes: no file is needed";
  int64_t count = 50000;
  uint64_t seed = 0;
  int64_t classes = 10;
  int64_t size = 32;

  template <class V>
  void Visit(V& v) {
    v("count", count, {.help = "images in an epoch"});
    v("seed", seed, {.help = "another seed draws other images"});
    v("classes", classes, {.help = "kinds of shapes, 2 to 10"});
    v("size", size, {.help = "height and width, 8 to 256"});
    VisitRange(v);
  }
};

// tf.keras.utils.image_dataset_from_directory. Columns: `image` float32 [height, width, channels],
// 0 to 255, and, unless there are none, `label`: int32 [], float32 [classes] or float32 [1].
struct ImageFolderSource : RecordRange {
  static constexpr std::string_view kType = "image_dataset_from_directory";
  static constexpr std::string_view kSummary = "images in a folder a class";
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
  // These are no keys of a job: images that stand in for the folder's (other_file.h), and the file
  // that keeps decoded images (`cache`).
  // With a column_of_bytes there is one column of that name, a string []: the files as they are.
  std::vector<std::string> files;
  std::string column_of_bytes;
  bool whole_numbers = false;  // `image` is uint8, as that of drawn shapes
  std::string cache_file;

  template <class V>
  void Visit(V& v) {
    v("directory", directory,
      {.help = "a folder of images for each class", .required = true, .input_path = true});
    v("labels", labels,
      {.help = "inferred: by folder; null: none; or a whole number for each file, in their order"});
    v("label_mode", label_mode,
      {.help =
           "int: int32 []; categorical: float32 [classes]; binary: float32 [1]; null: no labels",
       .values = {"int", "categorical", "binary"}});
    v("class_names", class_names, {.help = "the folders, in the order of their labels"});
    v("color_mode", color_mode,
      {.help = "1, 3 or 4 channels", .values = {"grayscale", "rgb", "rgba"}});
    v("image_size", image_size, {.help = "[height, width] that every image is resized to"});
    v("shuffle", shuffle,
      {.help = "the list of files, by seed, before it is split; `shuffle` of the input_fn shuffles "
               "each epoch"});
    v("seed", seed, {.help = "of that; null: 0"});
    v("validation_split", validation_split, {.help = "part of the files, for validation: 0 to 1"});
    v("subset", subset,
      {.help = "training: all files but the last ones, which are validation's",
       .values = {"training", "validation"}});
    v("interpolation", interpolation, {.help = "of the resizing", .values = ResizeMethods()});
    v("follow_links", follow_links, {.help = "into folders that are links"});
    v("crop_to_aspect_ratio", crop_to_aspect_ratio,
      {.help = "cut the longer side's ends off instead of squeezing it"});
    VisitRange(v);
  }
};

// Dataset.from_tensor_slices over values written in the job. Columns: the names in `values`, each a
// list of as many rows; a row is a scalar or nested lists. Whole numbers are int32 (int64 where one
// does not fit), others float32.
struct SlicesSource : RecordRange {
  static constexpr std::string_view kType = "from_tensor_slices";
  static constexpr std::string_view kSummary = "rows in the job, or in .npy files";
  static constexpr std::array<std::string_view, 1> kAliases = {"numpy"};
  std::map<std::string, Raw> values;

  template <class V>
  void Visit(V& v) {
    v("values", values, {.help = "name to list of rows", .required = true});
    VisitRange(v);
  }
};

// Dataset.range. Column: `value` int64 [], from `start` in steps of `step` to before `stop`.
struct RangeSource : RecordRange {
  static constexpr std::string_view kType = "range";
  static constexpr std::string_view kSummary = "whole numbers in a row";
  int64_t start = 0;
  int64_t stop = 0;
  int64_t step = 1;

  template <class V>
  void Visit(V& v) {
    v("start", start, {.help = "the first value"});
    v("stop", stop, {.help = "values end before this one", .required = true});
    v("step", step, {.help = "from one value to the next; not 0"});
    VisitRange(v);
  }
};

// Files that are read whole or mapped, one after the other.
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
      {.help = "\"\" for none; auto: by the first bytes", .values = {"", "GZIP", "ZLIB", "auto"}});
    VisitRange(v);
  }
};

// tf.data.TextLineDataset. Column: `text`, a string [], each line without its end.
struct TextLineSource : FilesSource {
  static constexpr std::string_view kType = "TextLineDataset";
  static constexpr std::string_view kSummary = "lines of text files";

  template <class V>
  void Visit(V& v) {
    VisitFiles(v);
  }
};

// A JSON object a line. Columns: those of `features`, or the keys of the first objects.
struct JsonLinesSource : FilesSource {
  static constexpr std::string_view kType = "json_lines";
  static constexpr std::string_view kSummary = "a JSON object a line";
  std::map<std::string, FeatureOptions> features;
  std::optional<int64_t> num_rows_for_inference = 100;

  template <class V>
  void Visit(V& v) {
    VisitFiles(v);
    v("features", features,
      {.help = "keys that are read, and what they hold; empty: all keys of the first rows, as they "
               "are there, 0 and \"\" where there is none"});
    v("num_rows_for_inference", num_rows_for_inference,
      {.help = "rows that keys and types are found from; null: all"});
  }
};

// Rows of libsvm, XGBoost and LightGBM: "label index:value ... # comment". Columns: `label`,
// `index` int64 [?] and `value` float32 [?], which weighted_categorical_column takes, and, where
// there are weights, `weight` float32.
struct LibsvmSource : FilesSource {
  static constexpr std::string_view kType = "libsvm";
  static constexpr std::string_view kSummary = "rows of label and index:value pairs";
  std::optional<FileNames> weights;
  std::optional<std::string> label_dtype;
  int64_t base = 0;
  std::optional<int64_t> size;
  // These are no keys of a job: whether the input_fn's labels are `label` where it names none, and
  // whether each row weighs 1, for a file that stands in for one with weights (other_file.h).
  bool names_label = true;
  bool weight_is_one = false;

  template <class V>
  void Visit(V& v) {
    v("file", filenames,
      {.help = "file, shell pattern or a list of them, read in this order; -: standard input",
       .required = true,
       .input_path = true});
    v("weights", weights,
      {.help =
           "files of one number a row, one for each file: the column `weight`; null: FILE.weight "
           "if it exists; []: none",
       .input_path = true});
    v("label_dtype", label_dtype,
      {.help = "type of the labels; null: int64 if all are whole numbers, otherwise float32",
       .values = {"int64", "float32"}});
    v("base", base, {.help = "first index of the file, 0 or 1; `index` counts from 0"});
    v("size", size,
      {.help = "number of indices; a row with an index beyond them is an error; null: any number"});
    v("compression_type", compression_type,
      {.help = "\"\" for none; auto: by the first bytes", .values = {"", "GZIP", "ZLIB", "auto"}});
    VisitRange(v);
  }
};

// tf.data.FixedLengthRecordDataset. Column: `record`, a string [] of record_bytes bytes.
struct FixedLengthSource : FilesSource {
  static constexpr std::string_view kType = "FixedLengthRecordDataset";
  static constexpr std::string_view kSummary = "records of so many bytes";
  int64_t record_bytes = 0;
  int64_t header_bytes = 0;
  int64_t footer_bytes = 0;

  template <class V>
  void Visit(V& v) {
    VisitFiles(v);
    v("record_bytes", record_bytes, {.help = "of each record", .required = true});
    v("header_bytes", header_bytes, {.help = "left out at the start of each file"});
    v("footer_bytes", footer_bytes, {.help = "left out at the end of each file"});
  }
};

// NumPy's files of one array. Columns: the names in `arrays`, each [the axes behind the first].
struct NpySource : RecordRange {
  static constexpr std::string_view kType = "npy";
  static constexpr std::string_view kSummary = "rows of one NumPy array";
  std::map<std::string, std::string> arrays;

  template <class V>
  void Visit(V& v) {
    v("arrays", arrays,
      {.help = "name of a column to the .npy file of its rows",
       .required = true,
       .input_path = true});
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
    v("arrays", arrays, {.help = "name of a column to the array of its rows; empty: all arrays"});
    VisitRange(v);
  }
};

// What a program writes to its stdout, a record after the other. Columns: those of `features`, of
// parse_example, or `text`. (Dataset.from_generator's role.)
struct GeneratorSource : RecordRange {
  static constexpr std::string_view kType = "generator";
  static constexpr std::string_view kSummary =
      "what a program writes: tf.Examples, JSON lines or CSV";
  std::vector<std::string> command;
  std::string format = "jsonl";
  std::map<std::string, FeatureOptions> features;
  int64_t timeout_secs = 60;

  template <class V>
  void Visit(V& v) {
    v("command", command,
      {.help =
           "a program and its arguments; each pass starts it anew, and it has to write the same "
           "again",
       .required = true,
       .tpuest = true});
    v("format", format,
      {.help = "a JSON object a line, lines, or TFRecords",
       .tpuest = true,
       .values = {"jsonl", "text", "tfrecord"}});
    v("features", features,
      {.help = "of jsonl: keys that are read, and what they hold", .tpuest = true});
    v("timeout_secs", timeout_secs,
      {.help = "a program that writes nothing for so long is given up", .tpuest = true});
    VisitRange(v);
  }
};

// tf.data.experimental.SqlDataset. Columns: those of the query, by their names, each [].
struct SqlSource : RecordRange {
  static constexpr std::string_view kType = "SqlDataset";
  static constexpr std::string_view kSummary = "rows of an SQLite query";
  std::string driver_name = "sqlite";
  std::string data_source_name;
  std::string query;
  std::vector<std::string> output_types;

  template <class V>
  void Visit(V& v) {
    v("driver_name", driver_name, {.help = "of the database", .values = {"sqlite"}});
    v("data_source_name", data_source_name,
      {.help = "the database's file", .required = true, .input_path = true});
    v("query", query, {.help = "a SELECT; its ORDER BY is the records' order", .required = true});
    v("output_types", output_types,
      {.help = "of the query's columns: int32, int64, float32, float64, bool, string",
       .required = true});
    VisitRange(v);
  }
};

// Sources that zip takes.
using PlainSourceTypes =
    std::variant<TFRecordSource, CsvSource, TextLineSource, JsonLinesSource, LibsvmSource,
                 FixedLengthSource, NpySource, NpzSource, IdxSource, DigitsSource, ShapesSource,
                 ImageFolderSource, SlicesSource, RangeSource, SqlSource>;
using PlainSource = OneOf<PlainSourceTypes>;

// Dataset.zip: record i of each dataset, side by side, as many as the shortest has. Columns: those
// of all.
struct ZipSource : RecordRange {
  static constexpr std::string_view kType = "zip";
  static constexpr std::string_view kSummary = "rows of several sources side by side";
  std::vector<PlainSource> datasets;

  template <class V>
  void Visit(V& v) {
    v("datasets", datasets, {.help = "sources, of different columns", .required = true});
    VisitRange(v);
  }
};

using SourceOptionsTypes =
    std::variant<TFRecordSource, CsvSource, TextLineSource, JsonLinesSource, LibsvmSource,
                 FixedLengthSource, NpySource, NpzSource, IdxSource, DigitsSource, ShapesSource,
                 ImageFolderSource, SlicesSource, RangeSource, GeneratorSource, SqlSource,
                 ZipSource>;
using SourceOptions = OneOf<SourceOptionsTypes>;

extern template class OneOf<PlainSourceTypes>;
extern template class OneOf<SourceOptionsTypes>;

}  // namespace tpuest
