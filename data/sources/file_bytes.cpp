#include "data/sources/file_bytes.h"

#include <utility>

#include "core/base/error.h"
#include "core/base/process/mapping.h"
#include "core/io/byte_stream.h"
#include "data/source.h"

namespace tpuest::data {
namespace {

constexpr size_t kMagicBytes = 3;  // bytes that identify gzip and zlib

// Text may well begin with bytes like zlib's header ("x^2"), but never like gzip's.
Compression CompressionOfFile(const std::string& path, std::string_view first,
                              const std::string& said) {
  const Compression found = CompressionOf(first);
  const bool is_gzip = found == Compression::kGzip;
  if (said == "auto") return is_gzip ? found : Compression::kNone;
  const Compression expected = said == "GZIP"   ? Compression::kGzip
                               : said == "ZLIB" ? Compression::kZlib
                                                : Compression::kNone;
  if (found == expected || (expected == Compression::kNone && !is_gzip)) return expected;
  throw Error(Code::kData,
              expected == Compression::kNone
                  ? fmt::format("{}: the file is compressed with gzip", path)
                  : fmt::format("{}: the file's compression does not match compression_type", path),
              is_gzip                       ? "compression_type: GZIP"
              : found == Compression::kZlib ? "compression_type: ZLIB"
                                            : "compression_type: \"\"");
}

}  // namespace

FileBytes::FileBytes(std::string path, const std::string& compression_type)
    : path_(std::move(path)) {
  std::unique_ptr<ByteStream> stream = OpenRawStream(path_);
  std::string first(kMagicBytes, '\0');
  first.resize(stream->Read(first.data(), first.size()));
  const Compression compression = CompressionOfFile(path_, first, compression_type);
  if (compression == Compression::kNone && path_ != "-" && !KindOfOther(path_)) {
    mapped_ = std::make_unique<MappedFile>(path_);
    return;
  }
  // A pipe can be read only once.
  stream = Rejoin(std::move(first), std::move(stream));
  if (compression != Compression::kNone) stream = InflateStream(std::move(stream), path_);
  memory_ = ReadAll(*stream);
}

void FileBytes::CheckWhole() const {
  if (!mapped_ || !IsCut(mapped_->bytes().data())) return;
  throw Error(Code::kData, fmt::format("{}: the file has become shorter than the {} bytes that it "
                                       "had when it was opened",
                                       path_, mapped_->bytes().size()));
}

std::vector<std::string> FindInputs(const std::vector<std::string>& filenames,
                                    const std::string& key) {
  if (filenames == std::vector<std::string>{"-"}) return filenames;
  return FindFiles(filenames, key + ".filenames");
}

std::vector<std::unique_ptr<FileBytes>> OpenFiles(const FilesSource& options,
                                                  const std::string& key) {
  CheckRange(options, key);
  std::vector<std::unique_ptr<FileBytes>> files;
  for (const std::string& path : FindInputs(ListOf(options.filenames), key)) {
    files.push_back(std::make_unique<FileBytes>(path, options.compression_type));
  }
  return files;
}

}  // namespace tpuest::data
