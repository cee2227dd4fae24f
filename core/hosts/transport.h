#pragma once
// A transport between the processes of a group: Unix sockets of one machine (unix_transport.cpp),
// or the module that speaks gRPC (grpc_transport.cpp). In both, a link is a stream socket.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tpuest::hosts {

// Owns a file descriptor and closes it.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.number_) { other.number_ = -1; }
  Descriptor& operator=(Descriptor&& other) noexcept;

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool is_open() const { return number_ >= 0; }

 private:
  int number_;
};

// Describes how the processes of a group find each other. Exactly one of `folder`, `chief` and
// `file` is set.
struct RendezvousPoint {
  std::string folder;  // a local folder that exists, owned by this user, mode 0700
  std::string chief;   // process 0's "h0:2222" or "[::1]:2222"; default port: kDefaultPort
  std::string file;    // in a shared folder; process 0 writes its addresses into it
  // Secret for `chief` and `file`: only a process that has it can join. If empty, links are
  // unencrypted and any process can join; that is refused for addresses that other machines reach
  // unless `insecure` is true.
  std::string token;
  bool insecure = false;
  std::string module;  // path of the gRPC module; empty: this build has none
};

class Transport {
 public:
  virtual ~Transport() = default;

  // The listening descriptor; readable while a connection waits for Accept.
  [[nodiscard]] virtual int listener() const = 0;
  // Accepts a waiting connection; returns a closed Descriptor if there is none.
  [[nodiscard]] virtual Descriptor Accept() = 0;
  // Connects to a process. Returns a closed Descriptor if it does not listen yet; connect_error()
  // gives the reason. Throws kUsage if a retry cannot succeed.
  [[nodiscard]] virtual Descriptor Connect(int rank) = 0;
  // The rendezvous point, as messages show it.
  [[nodiscard]] virtual std::string place() const = 0;
  [[nodiscard]] virtual std::string connect_error() const { return ""; }
  // Number of connections that were refused because they lack the token.
  [[nodiscard]] virtual int64_t refused() const { return 0; }

  // True: all connect to process 0, which sends them the other addresses. False: each process can
  // compute every address.
  [[nodiscard]] virtual bool connects_via_chief() const { return false; }
  // The address at which this process listens; known once it has reached process 0.
  [[nodiscard]] virtual std::string address() const { return ""; }
  virtual void SetAddress(int /*rank*/, const std::string& /*address*/) {}
  // The address at which a process was reached; empty: found by its rank.
  [[nodiscard]] virtual std::string AddressOf(int /*rank*/) const { return ""; }
  // Called once all processes are linked.
  virtual void Complete() {}
};

// Throws kUsage if other users may enter the folder, or if the rank has already joined.
[[nodiscard]] std::unique_ptr<Transport> OpenUnixTransport(const std::string& folder, int rank,
                                                           int size);

// Throws kUsage for an invalid or occupied address, for an address that other machines can reach
// without a token, and for a missing module.
[[nodiscard]] std::unique_ptr<Transport> OpenGrpcTransport(const RendezvousPoint& rendezvous,
                                                           int rank);

}  // namespace tpuest::hosts
