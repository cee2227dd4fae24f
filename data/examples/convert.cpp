#include "data/examples/convert.h"

#include "core/base/process/files.h"
#include "core/io/tfrecord.h"
#include "data/examples/example_encoder.h"
#include "data/examples/parse_example_text.h"
#include "data/sources/open_source.h"

namespace tpuest::data {
namespace {

Compression CompressionNamed(const std::string& name) {
  if (name.empty()) return Compression::kNone;
  if (name == "GZIP") return Compression::kGzip;
  if (name == "ZLIB") return Compression::kZlib;
  throw Error(Code::kUsage,
              fmt::format("compression_type is '{}'; expected \"\", GZIP or ZLIB", name));
}

std::shared_ptr<IndexedSource> OpenRecords(const SourceOptions& options) {
  // A bad record ends the conversion, because the output would lack it for good.
  AnySource any = OpenSource(options, false, "source");
  if (std::holds_alternative<CsvSource>(options)) {
    return std::get<std::shared_ptr<IndexedSource>>(any);
  }
  const auto* const source = std::get_if<std::shared_ptr<IndexedSource>>(&any);
  const bool images =
      source != nullptr && (*source)->columns().size() == 2 &&
      (*source)->columns()[0].name == "image" && (*source)->columns()[0].dtype == DType::kUint8 &&
      (*source)->columns()[1].name == "label" && (*source)->columns()[1].dtype == DType::kInt32;
  if (!images) {
    throw Error(Code::kUsage, "expected CSV or a source of images with labels",
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

// The inverse of EncodingOf, as YAML: decode_raw for bytes, and casts for numbers that a tf.Example
// widens.
std::string InputFnText(const std::vector<TensorSpec>& columns) {
  std::string features = "parse_example:\n";
  std::string map;
  for (const TensorSpec& column : columns) {
    const EncodedColumn encoded = EncodingOf(column);
    features +=
        FeatureLine(encoded.key, FixedLenFeature{.shape = encoded.shape.dims(),
                                                 .dtype = std::string(NameOf(encoded.dtype))});
    if (encoded.key != column.name) {
      map += fmt::format("  - {{op: decode_raw, in: {}, out: {}, out_type: {}, shape: [{}]}}\n",
                         YamlKey(encoded.key), YamlKey(column.name), NameOf(column.dtype),
                         fmt::join(column.shape.dims(), ", "));
    } else if (encoded.dtype != column.dtype) {
      map += fmt::format("  - {{op: cast, in: {}, dtype: {}}}\n", YamlKey(column.name),
                         NameOf(column.dtype));
    }
  }
  return map.empty() ? features : features + "map:\n" + map;
}

}  // namespace

ConvertReport ConvertToTFRecord(const ConvertOptions& options) {
  const Compression compression = CompressionNamed(options.compression_type);
  if (options.num_shards < 1) {
    throw Error(Code::kUsage,
                fmt::format("num_shards is {}; expected 1 or more", options.num_shards));
  }
  const std::shared_ptr<IndexedSource> source = OpenRecords(options.source);
  ConvertReport report;
  report.input_fn = InputFnText(source->columns());
  report.records = source->size();
  const int64_t shards = options.num_shards;
  for (int64_t shard = 0; shard < shards; ++shard) {
    report.files.push_back(shards == 1
                               ? options.output
                               : fmt::format("{}-{:05}-of-{:05}", options.output, shard, shards));
    if (options.dry_run) continue;
    // Shard i has records n*i/k to n*(i+1)/k, so sizes differ by at most one and the order is kept.
    WriteRecords(*source, report.records * shard / shards, report.records * (shard + 1) / shards,
                 report.files.back(), compression);
  }
  return report;
}

}  // namespace tpuest::data
