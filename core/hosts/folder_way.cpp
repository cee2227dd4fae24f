// A socket a process, FOLDER/<rank>.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/base/error.h"
#include "core/hosts/way.h"

namespace tpuest::hosts {
namespace {

Descriptor NewSocket() {
  Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (socket.is_open()) return socket;
  throw Error(Code::kResource, fmt::format("no socket can be made: {}", std::strerror(errno)));
}

// A folder for sockets. The name of a socket may have 107 bytes at most, so they are named by the
// open folder, or, on a system without /proc, by its path.
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
      throw Error(Code::kUsage,
                  fmt::format("{}: the path of a socket has {} bytes; without /proc at most {}",
                              full, full.size(), sizeof address.sun_path - 1),
                  "a group's folder with a shorter path, or TMPDIR=DIR with one");
    }
    std::memcpy(address.sun_path, full.data(), full.size());
    return address;
  }
};

// So much may be on its way before who sends has to wait for who reads, or as much as the system
// allows: its own default is less than a step's rows of large tables.
constexpr int kBytesOnTheWay = 4 << 20;

Descriptor Widened(Descriptor socket) {
  (void)::setsockopt(socket.number(), SOL_SOCKET, SO_SNDBUF, &kBytesOnTheWay,
                     sizeof kBytesOnTheWay);
  return socket;
}

SocketFolder OpenFolder(const std::string& path) {
  Descriptor folder(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  struct stat info {};
  if (!folder.is_open() || ::fstat(folder.number(), &info) != 0) {
    throw Error(
        Code::kUsage,
        fmt::format("{}: the group's folder cannot be opened ({})", path, std::strerror(errno)),
        "make it before its processes start, with mode 0700");
  }
  if (info.st_uid == ::geteuid() && (info.st_mode & 077) == 0) {
    return {.open = std::move(folder), .path = path};
  }
  throw Error(Code::kUsage,
              fmt::format("{}: others may enter the group's folder (mode {:04o}, of user {})", path,
                          info.st_mode & 07777, info.st_uid),
              "a folder of your own with mode 0700");
}

class FolderWay final : public Way {
 public:
  FolderWay(const std::string& folder, int rank, int size)
      : path_(folder), rank_(rank), size_(size), folder_(OpenFolder(folder)) {
    Bind();
  }
  ~FolderWay() override { ::unlink(folder_.AddressOf(std::to_string(rank_)).sun_path); }
  FolderWay(const FolderWay&) = delete;
  FolderWay& operator=(const FolderWay&) = delete;

  [[nodiscard]] int door() const override { return door_.number(); }
  [[nodiscard]] std::string place() const override { return path_; }

  [[nodiscard]] Descriptor Take() override {
    return Widened(Descriptor(::accept4(door_.number(), nullptr, nullptr, SOCK_CLOEXEC)));
  }

  [[nodiscard]] Descriptor GoTo(int rank) override {
    const sockaddr_un address = folder_.AddressOf(std::to_string(rank));
    Descriptor socket = NewSocket();
    const auto* const at = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(socket.number(), at, sizeof address) != 0) return Descriptor();
    return Widened(std::move(socket));
  }

 private:
  // The socket gets its name once it is listened on: one that refuses is of a process that was
  // killed.
  void Bind() {
    door_ = NewSocket();
    const sockaddr_un address = folder_.AddressOf(std::to_string(rank_));
    const sockaddr_un before =
        folder_.AddressOf(fmt::format("{}.{}.{}", rank_, ::getpid(), door_.number()));
    bool is_named =
        ::bind(door_.number(), reinterpret_cast<const sockaddr*>(&before), sizeof before) == 0 &&
        ::listen(door_.number(), size_ + 16) == 0 && ::link(before.sun_path, address.sun_path) == 0;
    if (!is_named && errno == EEXIST) {
      const Descriptor probe = NewSocket();
      const auto* const at = reinterpret_cast<const sockaddr*>(&address);
      if (::connect(probe.number(), at, sizeof address) == 0) {
        ::unlink(before.sun_path);
        throw Error(Code::kUsage,
                    fmt::format("{}: process {} of this group is there already", path_, rank_),
                    "every process has a number of its own, every group a folder");
      }
      ::unlink(address.sun_path);
      is_named = ::link(before.sun_path, address.sun_path) == 0;
    }
    const int number = errno;
    ::unlink(before.sun_path);
    if (is_named) return;
    throw Error(Code::kResource,
                fmt::format("{}: a socket cannot be made here ({})", path_, std::strerror(number)));
  }

  const std::string path_;
  const int rank_;
  const int size_;
  const SocketFolder folder_;
  Descriptor door_;
};

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}

std::unique_ptr<Way> OpenFolderWay(const std::string& folder, int rank, int size) {
  return std::make_unique<FolderWay>(folder, rank, size);
}

}  // namespace tpuest::hosts
