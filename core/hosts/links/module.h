#pragma once
// The interface between the program and the module that speaks gRPC.
//
// The module is a shared library. It is loaded only if a group has processes on several machines,
// so no other start loads gRPC's fifty libraries. Program and module share no code, only these
// plain types. The module exports one symbol, kLinksSymbol, a LinksModule.
//
// The program sees a link as one end of a local socket pair; the module holds the other end. Bytes
// written to it come out of the peer's socket in order, and vice versa. After one side closes its
// socket, the other reads the remaining bytes and then end of file.

#include <cstddef>
#include <cstdint>

extern "C" {

struct LinksServer;  // opaque; owned by the module

// The result of an attempt to reach a process.
enum LinksStatus : int32_t { kLinked = 0, kUnavailable = 1, kUnauthenticated = 2 };

struct LinksModule {
  uint32_t version;     // must equal kLinksVersion; otherwise the module is from another build
  const char* library;  // "gRPC 1.51.1"

  // Listens at "10.0.0.1:2222" or "[::1]:2222"; port 0 chooses a free one. With a token of
  // `token_bytes` bytes, links are encrypted and need the same token on both sides; with null
  // neither. Returns null on failure, with the 0-terminated reason in `why`, cut to `why_bytes`
  // bytes.
  LinksServer* (*open)(const char* address, const char* token, size_t token_bytes, char* why,
                       size_t why_bytes);
  int (*port)(LinksServer* server);
  // A descriptor, owned by the module, that is readable while a link waits for `accept`.
  int (*waiting)(LinksServer* server);
  // Returns the socket of a waiting link, which the caller then owns; -1 if there is none.
  int (*accept)(LinksServer* server);
  // Links to the process that listens at `address` within `secs` seconds, and stores the link's
  // socket, which the caller then owns, in *socket.
  LinksStatus (*connect)(LinksServer* server, const char* address, double secs, int* socket,
                         char* why, size_t why_bytes);
  // Number of connections that did not prove that they have the token.
  int64_t (*refused)(LinksServer* server);
  // Ends all links, whose sockets the program has already closed, as soon as all written bytes have
  // arrived, and after `secs` seconds in any case. No other call may run at the same time.
  void (*close)(LinksServer* server, double secs);
};

}  // extern "C"

inline constexpr uint32_t kLinksVersion = 1;
inline constexpr const char* kLinksSymbol = "tpuest_links";
