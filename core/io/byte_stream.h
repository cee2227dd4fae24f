#pragma once
// Streams of bytes that are read once, from start to end; compressed bytes are inflated while they
// are read. Errors are of Code::kData.

#include <memory>
#include <string>
#include <string_view>

namespace tpuest {

enum class Compression { kNone, kGzip, kZlib };

// Detects the compression from the first bytes: 1f 8b is gzip (RFC 1952); 78 at the start of a
// valid header is zlib (RFC 1950).
[[nodiscard]] Compression CompressionOf(std::string_view first_bytes);

class ByteStream {
 public:
  virtual ~ByteStream() = default;
  // Reads up to `size` bytes and returns how many it read: fewer than `size` only at the end of the
  // stream, 0 after it.
  [[nodiscard]] virtual size_t Read(char* into, size_t size) = 0;
};

// Opens a file, a pipe or, for "-", the standard input, without inflating it.
[[nodiscard]] std::unique_ptr<ByteStream> OpenRawStream(const std::string& path);
// Inflates zlib data or a sequence of gzip members. `name` names the source in errors.
[[nodiscard]] std::unique_ptr<ByteStream> InflateStream(std::unique_ptr<ByteStream> source,
                                                        std::string name);
// Puts bytes that were read from the start of a stream back in front of it.
[[nodiscard]] std::unique_ptr<ByteStream> Rejoin(std::string head,
                                                 std::unique_ptr<ByteStream> rest);
// Opens a stream as OpenRawStream does, and inflates it if its first bytes are those of gzip or
// zlib.
[[nodiscard]] std::unique_ptr<ByteStream> OpenStream(const std::string& path);

// Reads the rest of the stream.
[[nodiscard]] std::string ReadAll(ByteStream& stream);

}  // namespace tpuest
