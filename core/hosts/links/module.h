#pragma once
// What the program and the module that speaks gRPC know of each other.
//
// The module is a shared library of its own: it is loaded where a group has processes on several
// machines, so that no other start loads gRPC's fifty libraries. The two have no code in common,
// only these plain types, and the module has one symbol, kLinksSymbol, a LinksModule.
//
// A link is a socket of this machine whose other end the module has: what is written to it comes
// out of the socket of the process at the link's other end, in order, and what that one writes out
// of this. Where one of them closes its socket, the other reads what was sent before, then the end.

#include <cstddef>
#include <cstdint>

extern "C" {

struct LinksDoor;  // the module's own

// What becomes of a try to reach a process.
enum LinksTry : int32_t { kLinked = 0, kNotThere = 1, kOtherToken = 2 };

struct LinksModule {
  uint32_t version;     // kLinksVersion, or it is another build's
  const char* library;  // "gRPC 1.51.1"

  // Listens at "10.0.0.1:2222" or "[::1]:2222"; port 0 is any that is free. With a token of
  // `token_bytes` bytes, links are encrypted, and only who has the token gets one; null: neither.
  // Null where it cannot, with the reason in `why`, which is cut to `why_bytes` bytes and ends with
  // 0 as all texts do.
  LinksDoor* (*open)(const char* address, const char* token, size_t token_bytes, char* why,
                     size_t why_bytes);
  int (*port)(LinksDoor* door);
  // A descriptor, the module's, that can be read while a link waits to be taken.
  int (*waiting)(LinksDoor* door);
  // The socket of a link that somebody has come by, now the caller's; -1: there is none.
  int (*take)(LinksDoor* door);
  // A link to the process that listens at an address, within so many seconds; its socket, the
  // caller's, goes to *socket.
  LinksTry (*go)(LinksDoor* door, const char* address, double secs, int* socket, char* why,
                 size_t why_bytes);
  // How many have come who could not say that they have the token.
  int64_t (*refused)(LinksDoor* door);
  // Ends all links, whose sockets the program has closed, once what was written has arrived, but
  // after so many seconds in any case. No other call may go on.
  void (*close)(LinksDoor* door, double secs);
};

}  // extern "C"

inline constexpr uint32_t kLinksVersion = 1;
inline constexpr const char* kLinksSymbol = "tpuest_links";
