#pragma once
// Who has the token of a cluster, proved by certificates.
//
//   token  --HKDF-SHA256-->  key of an authority (P-256), the same in all processes
//   authority  --signs-->    certificate of a key that each process draws for itself
//
// Both sides of a connection show such a certificate and trust this authority alone, so a
// connection is between two that have the token.

#include <string>
#include <string_view>

namespace tpuest::links {

// The name that all certificates are for.
inline constexpr const char* kIdentityName = "tpuest";

// All in PEM.
struct Identity {
  std::string root;         // the authority's own certificate
  std::string certificate;  // of this process
  std::string key;          // of this process
};

// Throws std::runtime_error where OpenSSL cannot.
[[nodiscard]] Identity IdentityOf(std::string_view token);

}  // namespace tpuest::links
