#include "data/convert.h"

#include "core/base/files.h"
#include "core/io/tfrecord.h"
#include "data/example_encoder.h"
#include "data/source.h"

namespace tpuest {
namespace {

Compression CompressionNamed(const std::string& name) {
  if (name.empty()) return Compression::kNone;
  if (name == "GZIP") return Compression::kGzip;
  if (name == "ZLIB") return Compression::kZlib;
  throw Error(Code::kUsage,
              fmt::format("compression_type is '{}'; expected \"\", GZIP or ZLIB", name));
}

std::shared_ptr<IndexedSource> OpenImages(const SourceOptions& options) {
  AnySource any = OpenSource(options, false, "source");
  const auto* const source = std::get_if<std::shared_ptr<IndexedSource>>(&any);
  const bool images =
      source != nullptr && (*source)->columns().size() == 2 &&
      (*source)->columns()[0].name == "image" && (*source)->columns()[0].dtype == DType::kUint8 &&
      (*source)->columns()[1].name == "label" && (*source)->columns()[1].dtype == DType::kInt32;
  if (!images) {
    throw Error(Code::kUsage, "expected a source of images with labels",
                "idx with images and labels, or digits");
  }
  return *source;
}

void WriteRecords(const IndexedSource& source, int64_t begin, int64_t end, const std::string& path,
                  Compression compression) {
  const std::string folder = DirName(path);
  if (!folder.empty()) MakeDirectories(folder);
  RecordWriter writer(path, compression);
  ExampleEncoder encoder(source.columns());
  Row row;
  for (int64_t i = begin; i < end; ++i) {
    source.Read(i, row);
    writer.Write(encoder.Encode(row));
  }
  writer.Close();
}

}  // namespace

ConvertReport ConvertToTFRecord(const ConvertOptions& options) {
  const Compression compression = CompressionNamed(options.compression_type);
  if (options.num_shards < 1) {
    throw Error(Code::kUsage,
                fmt::format("num_shards is {}; expected 1 or more", options.num_shards));
  }
  const std::shared_ptr<IndexedSource> source = OpenImages(options.source);
  ConvertReport report;
  report.records = source->size();
  const int64_t shards = options.num_shards;
  for (int64_t shard = 0; shard < shards; ++shard) {
    report.files.push_back(shards == 1
                               ? options.output
                               : fmt::format("{}-{:05}-of-{:05}", options.output, shard, shards));
    WriteRecords(*source, report.records * shard / shards, report.records * (shard + 1) / shards,
                 report.files.back(), compression);
  }
  return report;
}

}  // namespace tpuest
