// tpuest convert --images F --labels F | --digits N | --csv F  --output F.tfrecord

#include "data/convert.h"

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/session.h"
#include "core/base/text.h"

namespace tpuest::cli {
namespace {

CsvSource CsvOf(const Invocation& invocation) {
  CsvSource source;
  source.file_pattern = *invocation.csv;
  source.header = !invocation.no_header;
  source.field_delim = invocation.field_delim;
  source.na_value = invocation.na_value;
  if (invocation.column_names) source.column_names = Split(*invocation.column_names, ',');
  if (EndsWith(*invocation.csv, ".gz")) source.compression_type = "GZIP";
  return source;
}

SourceOptions ConvertSource(const Invocation& invocation) {
  const int sources =
      (invocation.digits ? 1 : 0) + (invocation.images ? 1 : 0) + (invocation.csv ? 1 : 0);
  if (sources != 1) {
    throw Error(Code::kUsage, "convert takes either --images and --labels, or --digits, or --csv",
                "tpuest convert --digits 10000 --output digits.tfrecord");
  }
  const RecordRange range{invocation.skip, invocation.take};
  if (invocation.csv) {
    CsvSource source = CsvOf(invocation);
    static_cast<RecordRange&>(source) = range;
    return source;
  }
  if (invocation.digits) {
    DigitsSource source;
    static_cast<RecordRange&>(source) = range;
    source.count = *invocation.digits;
    source.seed = invocation.seed;
    return source;
  }
  IdxSource source;
  static_cast<RecordRange&>(source) = range;
  source.images = *invocation.images;
  source.labels = invocation.labels;
  return source;
}

}  // namespace

int Convert(const Invocation& invocation) {
  return Guarded(invocation, [&](config::Sources& /*sources*/) {
    if (!invocation.output) {
      throw Error(Code::kUsage, "convert does not know where to write", "--output train.tfrecord");
    }
    const ConvertReport report =
        ConvertToTFRecord({.source = ConvertSource(invocation),
                           .output = *invocation.output,
                           .compression_type = invocation.compression.value_or("")});
    if (invocation.json) {
      PrintDocument(
          "convert",
          {{"records", report.records}, {"files", report.files}, {"input_fn", report.input_fn}});
    } else {
      fmt::print("{}: {} records\n", *invocation.output, report.records);
      if (invocation.csv) fmt::print("{}", report.input_fn);
    }
    return 0;
  });
}

}  // namespace tpuest::cli
