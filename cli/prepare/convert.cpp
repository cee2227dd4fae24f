// tpuest convert --images F --labels F | --digits N | --csv F  --output F.tfrecord
// tpuest convert --shapes DIR
// tpuest convert --clicks N  --output F.tsv
// tpuest convert --keras F  --output CHECKPOINT

#include "data/examples/convert.h"

#include "cli/prepare/commands.h"
#include "cli/prepare/convert_keras.h"
#include "cli/shell/json.h"
#include "cli/shell/output_file.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "data/images/shape_folder.h"
#include "data/images/shapes.h"
#include "data/sources/clicks.h"

namespace tpuest::cli {
namespace {

struct ConvertInvocation : Invocation {
  std::optional<std::string> images;
  std::optional<std::string> labels;
  std::optional<int64_t> digits;
  std::optional<std::string> shapes;
  std::optional<int64_t> clicks;
  int64_t count = 1000;
  int64_t size = 128;
  uint64_t seed = 0;
  std::optional<std::string> keras;
  std::optional<std::string> csv;
  std::optional<std::string> column_names;  // "a,b,c"
  std::string field_delim = ",";
  std::string na_value;
  bool no_header = false;
  int64_t skip = 0;
  std::optional<int64_t> take;
  std::optional<std::string> compression;
  std::optional<std::string> output;
  bool force = false;
};

void Declare(FlagSet& flags, ConvertInvocation& to) {
  flags.Text("--images", to.images, "FILE", "IDX file of images, plain or gzip");
  flags.Text("--labels", to.labels, "FILE", "IDX file of labels, plain or gzip");
  flags.Integer("--digits", to.digits, 1, "generate N images of digits");
  flags.Text("--shapes", to.shapes, "DIR", "generate a folder of JPEG files of shapes");
  flags.Integer("--clicks", to.clicks, 1, "generate a click log of N lines in Criteo's format");
  flags.Integer("--count", to.count, 1, "of --shapes: number of JPEG files");
  flags.Integer("--size", to.size, 16, "of --shapes: maximum side of an image in pixels");
  flags.Integer("--seed", to.seed, 0, "random seed of generated data");
  flags.Text("--keras", to.keras, "FILE",
             "write the weights of a saved Keras model (.h5, .keras) as a checkpoint");
  flags.Text("--csv", to.csv, "FILE",
             "convert CSV: a file, a pattern or `-`; *.gz is decompressed");
  flags.Text("--column-names", to.column_names, "A,B,...",
             "names of the CSV's columns; default: its header");
  flags.Text("--field-delim", to.field_delim, "C", "separator of the CSV's fields; default `,`");
  flags.Text("--na-value", to.na_value, "TEXT",
             "additional text that means an empty field of the CSV");
  flags.Switch("--no-header", to.no_header, "the first row of the CSV is a record, not a header");
  flags.Integer("--skip", to.skip, 0, "skip the first N records");
  flags.Integer("--take", to.take, 0, "write at most N records");
  flags.Choice<std::optional<std::string>>(
      "--compression", to.compression, {{"none", ""}, {"GZIP", "GZIP"}, {"ZLIB", "ZLIB"}},
      "compression of the TFRecord file; default GZIP if its name ends in .gz, otherwise none");
  flags.Text("--output", to.output, "FILE",
             "file to write: TFRecords, the click log, or the checkpoint's prefix");
  flags.Switch("--force", to.force, "overwrite existing files");
}

data::CsvSource CsvOf(const ConvertInvocation& invocation) {
  data::CsvSource source;
  source.file_pattern = *invocation.csv;
  source.header = !invocation.no_header;
  source.field_delim = invocation.field_delim;
  source.na_value = invocation.na_value;
  if (invocation.column_names) source.column_names = Split(*invocation.column_names, ',');
  if (EndsWith(*invocation.csv, ".gz")) source.compression_type = "GZIP";
  return source;
}

data::SourceOptions ConvertSource(const ConvertInvocation& invocation) {
  const int sources =
      (invocation.digits ? 1 : 0) + (invocation.images ? 1 : 0) + (invocation.csv ? 1 : 0);
  if (sources != 1) {
    throw Error(Code::kUsage,
                "convert takes one source: --images and --labels, --digits, --csv, --shapes, "
                "--clicks or --keras",
                "tpuest convert --digits 10000 --output digits.tfrecord");
  }
  const data::RecordRange range{invocation.skip, invocation.take};
  if (invocation.csv) {
    data::CsvSource source = CsvOf(invocation);
    static_cast<data::RecordRange&>(source) = range;
    return source;
  }
  if (invocation.digits) {
    data::DigitsSource source;
    static_cast<data::RecordRange&>(source) = range;
    source.count = *invocation.digits;
    source.seed = invocation.seed;
    return source;
  }
  data::IdxSource source;
  static_cast<data::RecordRange&>(source) = range;
  source.images = *invocation.images;
  source.labels = invocation.labels;
  return source;
}

// Refuses an output name whose ending means another format.
void CheckEnding(const std::string& output) {
  for (const std::string_view other : {".csv", ".tsv", ".txt", ".json", ".jsonl", ".csv.gz"}) {
    if (!EndsWith(output, other)) continue;
    throw Error(Code::kUsage,
                fmt::format("--output {}: convert writes TFRecords, not {}", output, other),
                "--output train.tfrecord");
  }
}

std::vector<std::string> InputsOf(const ConvertInvocation& invocation) {
  std::vector<std::string> inputs;
  if (invocation.images) inputs.push_back(*invocation.images);
  if (invocation.labels) inputs.push_back(*invocation.labels);
  if (invocation.csv && *invocation.csv != "-") inputs = Glob(*invocation.csv);
  return inputs;
}

void CheckOutput(const ConvertInvocation& invocation) {
  CheckEnding(*invocation.output);
  CheckNoInput(*invocation.output, InputsOf(invocation));
  CheckNewFile(*invocation.output, invocation.force);
}

std::string CompressionFor(const ConvertInvocation& invocation) {
  return invocation.compression.value_or(EndsWith(*invocation.output, ".gz") ? "GZIP" : "");
}

// Writes a folder of generated images of flowers.
int WriteShapes(const ConvertInvocation& invocation) {
  if (invocation.images || invocation.labels || invocation.digits || invocation.csv ||
      invocation.output) {
    throw Error(Code::kUsage, "--shapes writes a folder and cannot be combined with other sources",
                "tpuest convert --shapes flowers --count 2000");
  }
  const data::ShapeFolder folder{*invocation.shapes, invocation.count, invocation.size,
                                 invocation.seed};
  const std::vector<int64_t> counts =
      invocation.dry_run ? std::vector<int64_t>() : data::WriteShapeFolder(folder);
  Json classes = Json::object();
  for (size_t i = 0; i < counts.size(); ++i) {
    classes[std::string(data::ShapeNames(data::ShapeFamily::kFlowers)[i])] = counts[i];
  }
  if (invocation.json) {
    PrintDocument("convert",
                  {{"path", folder.directory}, {"images", folder.count}, {"classes", classes}});
  } else {
    fmt::print("{}: {} images\n", folder.directory, folder.count);
  }
  return 0;
}

// Writes a generated click log.
int WriteClicks(const ConvertInvocation& invocation) {
  if (invocation.images || invocation.labels || invocation.digits || invocation.csv ||
      invocation.shapes || invocation.keras) {
    throw Error(Code::kUsage,
                "--clicks writes a text file and cannot be combined with other sources",
                "tpuest convert --clicks 100000 --output clicks.tsv");
  }
  const data::ClickLog log{*invocation.output, *invocation.clicks, invocation.seed};
  CheckNewFile(log.path, invocation.force);
  const int64_t clicks = invocation.dry_run ? 0 : data::WriteClickLog(log);
  if (invocation.json) {
    PrintDocument("convert", {{"path", log.path}, {"records", log.count}, {"clicks", clicks}});
  } else {
    fmt::print("{}: {} lines, {} of them clicks\n", log.path, log.count, clicks);
  }
  return 0;
}

int Convert(const ConvertInvocation& invocation, config::Sources& /*sources*/) {
  if (invocation.shapes && !invocation.clicks) return WriteShapes(invocation);
  if (!invocation.output) {
    throw Error(Code::kUsage, "convert needs --output", "--output train.tfrecord");
  }
  if (invocation.clicks) return WriteClicks(invocation);
  if (invocation.keras) {
    if (invocation.images || invocation.labels || invocation.digits || invocation.csv) {
      throw Error(Code::kUsage,
                  "--keras cannot be combined with --images, --labels, --digits and --csv");
    }
    return ConvertKeras({.file = *invocation.keras,
                         .output = *invocation.output,
                         .force = invocation.force,
                         .dry_run = invocation.dry_run,
                         .json = invocation.json});
  }
  const data::SourceOptions source = ConvertSource(invocation);
  CheckOutput(invocation);
  const data::ConvertReport report =
      data::ConvertToTFRecord({.source = source,
                               .output = *invocation.output,
                               .compression_type = CompressionFor(invocation),
                               .dry_run = invocation.dry_run});
  if (invocation.json) {
    PrintDocument(
        "convert",
        {{"records", report.records}, {"files", report.files}, {"input_fn", report.input_fn}});
  } else {
    fmt::print("{}: {} records\n", *invocation.output, report.records);
    if (invocation.csv) fmt::print("{}", report.input_fn);
  }
  return 0;
}

}  // namespace

Command ConvertCommand() {
  return MakeCommand<ConvertInvocation>(
      {.name = "convert",
       .summary = "convert IDX files or CSV to TFRecords, or a saved Keras model to a checkpoint; "
                  "generate digits, images or a click log",
       .examples = {"tpuest convert --images i.gz --labels l.gz --output train.tfrecord",
                    "tpuest convert --csv passengers.csv --output passengers.tfrecord"},
       .takes = Takes::kNothing},
      Declare, Convert);
}

}  // namespace tpuest::cli
