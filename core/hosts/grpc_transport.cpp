// Transport between machines. Process 0 listens at an address that all processes know; every other
// process listens at its own address and sends it to process 0. The gRPC module (links/module.h)
// makes the links.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/error.h"
#include "core/base/process/files.h"
#include "core/base/text.h"
#include "core/hosts/address.h"
#include "core/hosts/launch.h"
#include "core/hosts/links/module.h"
#include "core/hosts/transport.h"

namespace tpuest::hosts {
namespace {

constexpr int kClosedTries = 3;   // failed attempts that show that the peer uses a token
constexpr double kTrySecs = 5;    // for a listening process to answer
constexpr double kCloseSecs = 2;  // for the last bytes to arrive
constexpr size_t kTokenBytes = 32;
constexpr const char* kTokenHint =
    "give all processes the same secret in TPUEST_CLUSTER_TOKEN, TPUEST_CLUSTER_TOKEN_FILE or "
    "tpuest.cluster.token_file, or set tpuest.cluster.insecure: true";

const LinksModule& LoadModule(const std::string& path) {
  constexpr const char* kHint =
      "TPUEST_COORDINATOR=unix:FOLDER connects processes of one machine without gRPC";
  if (path.empty()) {
    throw Error(Code::kUsage,
                "processes on several machines need gRPC, but this tpuest was built without it",
                fmt::format("install Debian's libgrpc++-dev and run ./dev build; {}", kHint));
  }
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(Code::kUsage, fmt::format("cannot load the gRPC module: {}", ::dlerror()),
                fmt::format("install Debian's libgrpc++1.51; {}", kHint));
  }
  const auto* const module = static_cast<const LinksModule*>(::dlsym(library, kLinksSymbol));
  if (module == nullptr || module->version != kLinksVersion) {
    throw Error(Code::kUsage,
                fmt::format("{}: this module belongs to another build of tpuest", path),
                "install the module and the program from the same build");
  }
  return *module;
}

std::string DrawnToken() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw Error(Code::kResource, "the system returned no random bytes (getrandom)");
  }
  std::string text;
  for (const unsigned char byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

// The file in which process 0 publishes its token and then its addresses, one per line.
struct Notice {
  std::string token;
  std::vector<std::string> addresses;
};

void WriteNotice(const std::string& path, const Notice& notice) {
  MakeDirectories(DirName(path));
  const std::string text = notice.token + "\n" + Join(notice.addresses, "\n") + "\n";
  // The file is renamed into place when complete, so readers never see a part. Its mode keeps the
  // token from other users.
  const std::string before = path + ".part";
  ::unlink(before.c_str());
  const Descriptor file(::open(before.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  const bool is_written = file.is_open() && ::write(file.number(), text.data(), text.size()) ==
                                                static_cast<ssize_t>(text.size());
  if (is_written && ::rename(before.c_str(), path.c_str()) == 0) return;
  throw Error(Code::kResource,
              fmt::format("{}: cannot write this file ({})", path, strerror(errno)),
              "TPUEST_COORDINATOR=HOST:PORT, with process 0's address, needs no such file");
}

std::optional<Notice> ReadNotice(const std::string& path) {
  if (!FileExists(path)) return std::nullopt;
  std::vector<std::string> lines;
  try {
    lines = Split(ReadFile(path), '\n');
  } catch (const Error&) {
    return std::nullopt;  // removed meanwhile
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  if (lines.size() < 2) return std::nullopt;
  return Notice{lines.front(), {lines.begin() + 1, lines.end()}};
}

class GrpcTransport final : public Transport {
 public:
  GrpcTransport(const RendezvousPoint& rendezvous, int rank)
      : rendezvous_(rendezvous), is_chief_(rank == 0), module_(LoadModule(rendezvous.module)) {
    if (!rendezvous_.chief.empty()) {
      at_ = ParseHostPort(rendezvous_.chief, kDefaultPort);
      CheckReach();
    }
    if (is_chief_) Begin();
  }

  ~GrpcTransport() override {
    EndNotice();
    if (server_ != nullptr) module_.close(server_, kCloseSecs);
  }
  GrpcTransport(const GrpcTransport&) = delete;
  GrpcTransport& operator=(const GrpcTransport&) = delete;

  [[nodiscard]] int listener() const override { return module_.waiting(server_); }
  [[nodiscard]] Descriptor Accept() override { return Descriptor(module_.accept(server_)); }
  [[nodiscard]] bool connects_via_chief() const override { return true; }
  [[nodiscard]] std::string address() const override { return address_; }
  void SetAddress(int rank, const std::string& address) override { others_[rank] = address; }
  [[nodiscard]] std::string AddressOf(int rank) const override { return others_.at(rank); }
  void Complete() override { EndNotice(); }

  [[nodiscard]] std::string place() const override {
    return rendezvous_.chief.empty() ? rendezvous_.file : rendezvous_.chief;
  }

  [[nodiscard]] std::string connect_error() const override {
    const int64_t count = refused();
    if (count == 0) return connect_error_;
    return fmt::format("{}{}{} connection{} refused, without the token", connect_error_,
                       connect_error_.empty() ? "" : "; ", count, count == 1 ? " was" : "s were");
  }

  [[nodiscard]] int64_t refused() const override {
    return server_ == nullptr ? 0 : module_.refused(server_);
  }

  [[nodiscard]] Descriptor Connect(int rank) override {
    if (rank != 0) return Try(others_[rank]);
    if (rendezvous_.chief.empty()) return GoByNotice();
    const std::vector<SocketAddress> addresses = Resolve(at_);
    if (addresses.empty()) connect_error_ = fmt::format("host name {} does not resolve", at_.host);
    for (const SocketAddress& address : addresses) {
      if (server_ == nullptr) StartServer(address.OwnTowards().text());
      if (Descriptor socket = Try(address.text()); socket.is_open()) {
        others_[rank] = address.text();
        return socket;
      }
    }
    return Descriptor();
  }

 private:
  // Refuses an address that other machines can reach if there is no token.
  void CheckReach() const {
    if (!rendezvous_.token.empty() || rendezvous_.insecure || IsLoopback(at_.host)) return;
    throw Error(
        Code::kUsage,
        fmt::format("{} is not a loopback address, and no cluster token is set", rendezvous_.chief),
        kTokenHint)
        .Key("tpuest.cluster");
  }

  // Opens process 0's listener, at the address that the peers know if it is an address of this
  // machine.
  void Begin() {
    if (rendezvous_.chief.empty()) return BeginByNotice();
    const std::vector<SocketAddress> addresses = Resolve(at_);
    int reason = EADDRNOTAVAIL;
    for (const SocketAddress& address : addresses) {
      reason = address.CannotListen();
      if (reason == 0) return StartServer(address.text());
      if (reason != EADDRNOTAVAIL) break;
    }
    if (reason == EADDRNOTAVAIL) return StartServer(fmt::format("[::]:{}", at_.port));
    throw Error(
        Code::kUsage,
        fmt::format("process 0 cannot listen at {} ({})", rendezvous_.chief, std::strerror(reason)),
        "set another port for all processes, in TPUEST_COORDINATOR or in the launcher's variable");
  }

  void BeginByNotice() {
    const bool is_drawn = rendezvous_.token.empty();
    if (is_drawn) rendezvous_.token = DrawnToken();
    StartServer("[::]:0");
    Notice notice{.token = is_drawn ? rendezvous_.token : ""};
    for (const SocketAddress& address : OwnAddresses(module_.port(server_))) {
      notice.addresses.push_back(address.text());
    }
    WriteNotice(rendezvous_.file, notice);
    has_notice_ = true;
  }

  void EndNotice() {
    if (std::exchange(has_notice_, false)) RemoveFile(rendezvous_.file);
  }

  // A file left by an earlier group has that group's token, so no process answers to it.
  Descriptor GoByNotice() {
    const std::optional<Notice> notice = ReadNotice(rendezvous_.file);
    if (!notice) {
      connect_error_ = "the file does not exist yet";
      return Descriptor();
    }
    const std::string token = notice->token.empty() ? rendezvous_.token : notice->token;
    if (token != noticed_token_ && server_ != nullptr) {
      module_.close(std::exchange(server_, nullptr), 0);
    }
    noticed_token_ = token;
    for (const std::string& address : notice->addresses) {
      const std::vector<SocketAddress> own = Resolve(ParseHostPort(address, 0));
      if (own.empty()) continue;
      if (server_ == nullptr) StartServer("[::]:0", token);
      if (Descriptor socket = Try(address); socket.is_open()) {
        others_[0] = address;
        address_ = own.front().OwnTowards().WithPort(module_.port(server_)).text();
        return socket;
      }
    }
    return Descriptor();
  }

  void StartServer(const std::string& address) { StartServer(address, rendezvous_.token); }

  void StartServer(const std::string& address, const std::string& token) {
    std::array<char, 256> why{};
    server_ = module_.open(address.c_str(), token.empty() ? nullptr : token.data(), token.size(),
                           why.data(), why.size());
    if (server_ == nullptr) {
      throw Error(Code::kUsage,
                  fmt::format("process {} cannot listen at {} ({})", is_chief_ ? "0" : "here",
                              address, why.data()),
                  "choose another port, or end the process that uses it");
    }
    address_ = address.substr(0, address.rfind(':')) + fmt::format(":{}", module_.port(server_));
  }

  Descriptor Try(const std::string& address) {
    int socket = -1;
    std::array<char, 512> why{};
    const LinksStatus result =
        module_.connect(server_, address.c_str(), kTrySecs, &socket, why.data(), why.size());
    connect_error_ = why.data();
    // A process with a token closes connections without one. A process that has ended refuses the
    // next attempt.
    const bool is_closed = connect_error_.find("Socket closed") != std::string::npos;
    closed_ = rendezvous_.token.empty() && is_closed ? closed_ + 1 : 0;
    if (closed_ == kClosedTries && !rendezvous_.chief.empty()) {
      throw Error(
          Code::kUsage,
          fmt::format("the process at {} has a cluster token, but this one has none", address),
          kTokenHint);
    }
    if (result == kUnauthenticated && !rendezvous_.chief.empty()) {
      throw Error(Code::kUsage,
                  fmt::format("the process at {} has a different cluster token, or none", address),
                  "give all processes of the group the same token");
    }
    return Descriptor(socket);
  }

  RendezvousPoint rendezvous_;
  const bool is_chief_;
  const LinksModule& module_;
  HostPort at_;
  LinksServer* server_ = nullptr;
  std::string address_;  // of the listener
  std::map<int, std::string> others_;
  std::string connect_error_;
  int closed_ = 0;  // consecutive attempts that the peer closed
  std::string noticed_token_;
  bool has_notice_ = false;
};

}  // namespace

std::unique_ptr<Transport> OpenGrpcTransport(const RendezvousPoint& rendezvous, int rank) {
  return std::make_unique<GrpcTransport>(rendezvous, rank);
}

}  // namespace tpuest::hosts
