#pragma once
// Certificates that prove that a process has the cluster's token.
//
//   token  --HKDF-SHA256-->  private key of an authority (P-256), equal in all processes
//   authority  --signs-->    certificate of a key that each process generates for itself
//
// Both sides of a connection show such a certificate and trust only this authority, so both are
// known to have the token.

#include <string>
#include <string_view>

namespace tpuest::links {

// The subject name of all certificates.
inline constexpr const char* kIdentityName = "tpuest";

// All in PEM.
struct Identity {
  std::string root;         // the authority's own certificate
  std::string certificate;  // of this process
  std::string key;          // of this process
};

// Throws std::runtime_error if OpenSSL fails.
[[nodiscard]] Identity IdentityOf(std::string_view token);

}  // namespace tpuest::links
