#pragma once
// How the processes of a group reach each other: by sockets of one machine (folder_way.cpp), or by
// the module that speaks gRPC (remote_way.cpp). Whichever it is, a link is a stream socket.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace tpuest::hosts {

// A descriptor that is closed.
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

// Where a group meets: one of the three.
struct Meeting {
  std::string folder;  // of this machine: there, of this user, of mode 0700
  std::string chief;   // "h0:2222", of process 0; "[::1]:2222"; without a port kDefaultPort
  std::string file;    // process 0 writes where it is into this one of a folder that all have
  // Of the last two. Who has the token may join, and nobody else; empty: anybody, unencrypted,
  // which is for this machine alone unless it is said to be well.
  std::string token;
  bool insecure = false;
  std::string module;  // the file of the module that speaks gRPC; empty: this build has none
};

class Way {
 public:
  virtual ~Way() = default;

  // Readable while somebody waits to be taken in.
  [[nodiscard]] virtual int door() const = 0;
  // Who waits; not open: nobody.
  [[nodiscard]] virtual Descriptor Take() = 0;
  // A link to a process; not open: it is not there yet, and why_not() says more. Error kUsage where
  // it never will be.
  [[nodiscard]] virtual Descriptor GoTo(int rank) = 0;
  // Where the group meets, for messages.
  [[nodiscard]] virtual std::string place() const = 0;
  [[nodiscard]] virtual std::string why_not() const { return ""; }
  // Connections that were refused for want of the token.
  [[nodiscard]] virtual int64_t refused() const { return 0; }

  // True: all go to process 0, which tells them where the others are. False: each knows.
  [[nodiscard]] virtual bool meets_by_chief() const { return false; }
  // Where others find this process, which can be asked once it has reached process 0.
  [[nodiscard]] virtual std::string address() const { return ""; }
  virtual void Learn(int /*rank*/, const std::string& /*address*/) {}
  // Where a process was found; empty: by its rank.
  [[nodiscard]] virtual std::string AddressOf(int /*rank*/) const { return ""; }
  // All are linked.
  virtual void Complete() {}
};

// Error kUsage for a folder that others may enter, and for a rank that is there already.
[[nodiscard]] std::unique_ptr<Way> OpenFolderWay(const std::string& folder, int rank, int size);

// Error kUsage for an address that is none or is taken, for one that others can reach where there
// is no token, and for a module that is not there.
[[nodiscard]] std::unique_ptr<Way> OpenRemoteWay(const Meeting& meeting, int rank);

}  // namespace tpuest::hosts
