// Transport by Unix sockets: each process listens at FOLDER/<rank>.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/hosts/transport.h"

namespace tpuest::hosts {
namespace {

Descriptor NewSocket() {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.is_open()) return socket;
  throw Error(Code::kResource, fmt::format("cannot create a socket: {}", std::strerror(errno)));
}

// A folder of sockets. A socket's path may have at most 107 bytes, so sockets are addressed through
// the open folder's entry in /proc, or by the folder's path if /proc is missing.
struct SocketFolder {
  Descriptor open;
  std::string path;

  [[nodiscard]] sockaddr_un AddressOf(const std::string& name) const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string full = fmt::format("/proc/self/fd/{}", open.number());
    if (::access(full.c_str(), F_OK) != 0) full = path;
    full += "/" + name;
    if (full.size() >= sizeof address.sun_path) {
      throw Error(
          Code::kUsage,
          fmt::format(
              "{}: the path of this socket has {} bytes; without /proc at most {} are possible",
              full, full.size(), sizeof address.sun_path - 1),
          "give the group a folder with a shorter path, or set TMPDIR to one");
    }
    std::memcpy(address.sun_path, full.data(), full.size());
    return address;
  }
};

// Bytes in transit before a sender waits for the reader (or the system's limit, if lower). The
// system's default is less than one step's rows of large tables.
constexpr int kSendBufferBytes = 4 << 20;

Descriptor Widened(Descriptor socket) {
  (void)::setsockopt(socket.number(), SOL_SOCKET, SO_SNDBUF, &kSendBufferBytes,
                     sizeof kSendBufferBytes);
  return socket;
}

SocketFolder OpenFolder(const std::string& path) {
  Descriptor folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!folder.is_open() || ::fstat(folder.number(), &info) != 0) {
    throw Error(Code::kUsage,
                fmt::format("{}: cannot open the group's folder ({})", path, std::strerror(errno)),
                "create it with mode 0700 before the processes start");
  }
  if (info.st_uid == ::geteuid() && (info.st_mode & 077) == 0) {
    return {.open = std::move(folder), .path = path};
  }
  throw Error(
      Code::kUsage,
      fmt::format("{}: other users may enter the group's folder (mode {:04o}, owned by user {})",
                  path, info.st_mode & 07777, info.st_uid),
      "use a folder that you own, with mode 0700");
}

class UnixTransport final : public Transport {
 public:
  UnixTransport(const std::string& folder, int rank, int size)
      : path_(folder), rank_(rank), size_(size), folder_(OpenFolder(folder)) {
    Bind();
  }
  ~UnixTransport() override { ::unlink(folder_.AddressOf(std::to_string(rank_)).sun_path); }
  UnixTransport(const UnixTransport&) = delete;
  UnixTransport& operator=(const UnixTransport&) = delete;

  [[nodiscard]] int listener() const override { return listener_.number(); }
  [[nodiscard]] std::string place() const override { return path_; }

  [[nodiscard]] Descriptor Accept() override {
    return Widened(Descriptor(::accept4(listener_.number(), nullptr, nullptr, SOCK_CLOEXEC)));
  }

  [[nodiscard]] Descriptor Connect(int rank) override {
    const sockaddr_un address = folder_.AddressOf(std::to_string(rank));
    Descriptor socket = NewSocket();
    const auto* const at = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(socket.number(), at, sizeof address) != 0) return Descriptor();
    return Widened(std::move(socket));
  }

 private:
  // The socket gets its final name only once it listens, so a socket that refuses connections was
  // left by a process that was killed.
  void Bind() {
    listener_ = NewSocket();
    const sockaddr_un address = folder_.AddressOf(std::to_string(rank_));
    const sockaddr_un before =
        folder_.AddressOf(fmt::format("{}.{}.{}", rank_, ::getpid(), listener_.number()));
    bool is_named = ::bind(listener_.number(), reinterpret_cast<const sockaddr*>(&before),
                           sizeof before) == 0 &&
                    ::listen(listener_.number(), size_ + 16) == 0 &&
                    ::link(before.sun_path, address.sun_path) == 0;
    if (!is_named && errno == EEXIST) {
      const Descriptor probe = NewSocket();
      const auto* const at = reinterpret_cast<const sockaddr*>(&address);
      if (::connect(probe.number(), at, sizeof address) == 0) {
        ::unlink(before.sun_path);
        throw Error(Code::kUsage,
                    fmt::format("{}: process {} of this group has already joined", path_, rank_),
                    "give each process its own id and each group its own folder");
      }
      ::unlink(address.sun_path);
      is_named = ::link(before.sun_path, address.sun_path) == 0;
    }
    const int number = errno;
    ::unlink(before.sun_path);
    if (is_named) return;
    throw Error(Code::kResource,
                fmt::format("{}: cannot create a socket here ({})", path_, std::strerror(number)));
  }

  const std::string path_;
  const int rank_;
  const int size_;
  const SocketFolder folder_;
  Descriptor listener_;
};

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

std::unique_ptr<Transport> OpenUnixTransport(const std::string& folder, int rank, int size) {
  return std::make_unique<UnixTransport>(folder, rank, size);
}

}  // namespace tpuest::hosts
