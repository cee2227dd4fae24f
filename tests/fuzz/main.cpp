// What libFuzzer calls with each input.

#include <fcntl.h>
#include <unistd.h>

#include <new>

#include "tests/fuzz/fuzz.h"

namespace tpuest::fuzz {
namespace {

// A refusal may quote some of what it refuses, not all of a file.
constexpr size_t kMostText = 4096;

}  // namespace

void CheckRefusal(const Error& error) {
  const Code code = error.code();
  Check(code == Code::kUsage || code == Code::kData || code == Code::kCheckpoint ||
            code == Code::kResource,
        "code {}: {}", static_cast<int>(code), error.message());
  Check(!error.faults().empty(), "an error of no fault");
  for (const Fault& fault : error.faults()) {
    Check(!fault.message.empty(), "a fault that says nothing");
    Check(fault.message.size() <= kMostText, "a message of {} bytes: {}", fault.message.size(),
          fault.message.substr(0, 200));
    Check(fault.hint.size() <= kMostText, "a hint of {} bytes: {}", fault.hint.size(),
          fault.hint.substr(0, 200));
  }
}

std::string Files::Put(std::string_view name, std::string_view bytes) const {
  std::string path = Path(name);
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  Check(fd >= 0, "cannot write {}", path);
  const ssize_t written = ::write(fd, bytes.data(), bytes.size());
  ::close(fd);
  Check(written == static_cast<ssize_t>(bytes.size()), "cannot write {}", path);
  return path;
}

const Files& TheFiles() {
  static const Files files;
  return files;
}

}  // namespace tpuest::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  try {
    tpuest::fuzz::Takes([&] { tpuest::fuzz::Run(input); });
  } catch (const std::bad_alloc&) {
    // Tensors of a size that may well be meant; the command line says that memory is out.
  }
  return 0;
}
