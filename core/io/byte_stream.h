#pragma once
// Bytes that are read once, front to back; compressed ones are inflated on the way. Errors are of
// Code::kData.

#include <memory>
#include <string>
#include <string_view>

namespace tpuest {

enum class Compression { kNone, kGzip, kZlib };

// The compression that the first bytes tell: 1f 8b is gzip (RFC 1952); 78 that begins a valid
// header is zlib (RFC 1950).
[[nodiscard]] Compression CompressionOf(std::string_view first_bytes);

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Reads up to `size` bytes and says how many; fewer only at the end, 0 behind it.
  [[nodiscard]] virtual size_t Read(char* into, size_t size) = 0;
};

// A file, pipe or, as "-", the standard input, as it is.
[[nodiscard]] std::unique_ptr<ByteStream> OpenRawStream(const std::string& path);
// Inflates zlib data or any number of gzip members in a row. `name` names the source in errors.
[[nodiscard]] std::unique_ptr<ByteStream> InflateStream(std::unique_ptr<ByteStream> source,
                                                        std::string name);
// Bytes that were taken off a stream's front, and then the rest of it.
[[nodiscard]] std::unique_ptr<ByteStream> Rejoin(std::string head,
                                                 std::unique_ptr<ByteStream> rest);
// OpenRawStream, inflated if its first bytes say so.
[[nodiscard]] std::unique_ptr<ByteStream> OpenStream(const std::string& path);

// Reads all that is left.
[[nodiscard]] std::string ReadAll(ByteStream& stream);

}  // namespace tpuest
