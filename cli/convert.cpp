// tpuest convert --images F --labels F | --digits N  --output F.tfrecord

#include "data/convert.h"

#include "cli/commands.h"
#include "cli/report.h"
#include "cli/session.h"

namespace tpuest::cli {
namespace {

SourceOptions ConvertSource(const Invocation& invocation) {
  if (invocation.digits.has_value() == invocation.images.has_value()) {
    throw Error(Code::kUsage, "convert takes either --images and --labels, or --digits",
                "tpuest convert --digits 10000 --output digits.tfrecord");
  }
  const RecordRange range{invocation.skip, invocation.take};
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
      PrintDocument("convert", {{"records", report.records}, {"files", report.files}});
    } else {
      fmt::print("{}: {} records\n", *invocation.output, report.records);
    }
    return 0;
  });
}

}  // namespace tpuest::cli
