#include "core/hosts/links/identity.h"

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <vector>

namespace tpuest::links {
namespace {

constexpr const char* kCurve = "P-256";
// 16 bytes more than the curve's order, so that the residue modulo the order is close to uniform.
constexpr size_t kSeedBytes = 48;
// The certificates never expire: wrong clocks must not matter, only the token does.
constexpr const char* kNotBefore = "19000101000000Z";
constexpr const char* kNotAfter = "99991231235959Z";

template <auto kFree>
struct Freed {
  template <class T>
  void operator()(T* it) const {
    kFree(it);
  }
};
template <class T, auto kFree>
using Owned = std::unique_ptr<T, Freed<kFree>>;

using Key = Owned<EVP_PKEY, EVP_PKEY_free>;
using Certificate = Owned<X509, X509_free>;
using Number = Owned<BIGNUM, BN_clear_free>;

void Need(bool well, const char* what) {
  if (!well) throw std::runtime_error(std::string("OpenSSL has no   ") + what);
}

// HKDF (RFC 5869) with SHA-256.
std::array<unsigned char, kSeedBytes> SeedOf(std::string_view token) {
  const Owned<EVP_KDF, EVP_KDF_free> method(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  Need(method != nullptr, "HKDF");
  const Owned<EVP_KDF_CTX, EVP_KDF_CTX_free> context(EVP_KDF_CTX_new(method.get()));
  std::string digest = "SHA256";
  std::string salt = "tpuest";
  std::string use = "cluster authority 1";
  std::string secret(token);
  const std::array parameters = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, salt.data(), salt.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, use.data(), use.size()),
      OSSL_PARAM_construct_end()};
  std::array<unsigned char, kSeedBytes> seed{};
  Need(EVP_KDF_derive(context.get(), seed.data(), seed.size(), parameters.data()) == 1,
       "HKDF with SHA-256");
  return seed;
}

// The private key 1 + seed mod (order - 1) and its public point.
Key AuthorityKey(std::string_view token) {
  const auto seed = SeedOf(token);
  const Owned<EC_GROUP, EC_GROUP_free> group(EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1));
  const Owned<BN_CTX, BN_CTX_free> context(BN_CTX_secure_new());
  const Number raw(BN_bin2bn(seed.data(), static_cast<int>(seed.size()), nullptr));
  const Number most(BN_dup(EC_GROUP_get0_order(group.get())));
  const Number secret(BN_new());
  Need(BN_sub_word(most.get(), 1) == 1 &&
           BN_mod(secret.get(), raw.get(), most.get(), context.get()) == 1 &&
           BN_add_word(secret.get(), 1) == 1,
       "numbers of 256 bits");
  const Owned<EC_POINT, EC_POINT_free> point(EC_POINT_new(group.get()));
  Need(EC_POINT_mul(group.get(), point.get(), secret.get(), nullptr, nullptr, context.get()) == 1,
       kCurve);
  std::vector<unsigned char> octets(EC_POINT_point2oct(
      group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED, nullptr, 0, context.get()));
  EC_POINT_point2oct(group.get(), point.get(), POINT_CONVERSION_UNCOMPRESSED, octets.data(),
                     octets.size(), context.get());

  const Owned<OSSL_PARAM_BLD, OSSL_PARAM_BLD_free> builder(OSSL_PARAM_BLD_new());
  OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, kCurve, 0);
  OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_PRIV_KEY, secret.get());
  OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, octets.data(),
                                   octets.size());
  const Owned<OSSL_PARAM, OSSL_PARAM_free> parameters(OSSL_PARAM_BLD_to_param(builder.get()));
  const Owned<EVP_PKEY_CTX, EVP_PKEY_CTX_free> maker(
      EVP_PKEY_CTX_new_from_name(nullptr, "EC", nullptr));
  EVP_PKEY* key = nullptr;
  Need(maker != nullptr && EVP_PKEY_fromdata_init(maker.get()) == 1 &&
           EVP_PKEY_fromdata(maker.get(), &key, EVP_PKEY_KEYPAIR, parameters.get()) == 1,
       "key of a given number");
  return Key(key);
}

void AddExtension(X509& certificate, int kind, const char* value) {
  const Owned<X509_EXTENSION, X509_EXTENSION_free> extension(
      X509V3_EXT_conf_nid(nullptr, nullptr, kind, value));
  Need(extension != nullptr && X509_add_ext(&certificate, extension.get(), -1) == 1,
       "extension of a certificate");
}

void SetName(X509_NAME* name, const std::string& text) {
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(text.c_str()), -1, -1, 0);
}

// Authorities of different tokens have different names, so a peer that trusts one does not find the
// other.
std::string NameOf(EVP_PKEY& authority) {
  unsigned char* encoded = nullptr;
  const int size = i2d_PUBKEY(&authority, &encoded);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  const bool well = size > 0 && EVP_Digest(encoded, static_cast<size_t>(size), digest.data(),
                                           nullptr, EVP_sha256(), nullptr) == 1;
  OPENSSL_free(encoded);
  Need(well, "SHA-256");
  std::string name = "tpuest cluster ";
  constexpr size_t kShownBytes = 8;
  for (size_t i = 0; i < kShownBytes; ++i) {
    constexpr const char* kDigits = "0123456789abcdef";
    name += {kDigits[digest[i] >> 4U], kDigits[digest[i] & 15U]};
  }
  return name;
}

// A certificate of a key, signed by the authority, with the extensions that `extend` adds.
template <class Extend>
Certificate Certify(const std::string& name, EVP_PKEY& key, EVP_PKEY& authority,
                    const Extend& extend) {
  Certificate certificate(X509_new());
  uint64_t serial = 1;
  Need(certificate != nullptr &&
           RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1,
       "certificate");
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1U | 1U);
  ASN1_TIME_set_string(X509_getm_notBefore(certificate.get()), kNotBefore);
  ASN1_TIME_set_string(X509_getm_notAfter(certificate.get()), kNotAfter);
  SetName(X509_get_subject_name(certificate.get()), name);
  SetName(X509_get_issuer_name(certificate.get()), NameOf(authority));
  X509_set_pubkey(certificate.get(), &key);
  extend(*certificate);
  Need(X509_sign(certificate.get(), &authority, EVP_sha256()) > 0, "signature by P-256");
  return certificate;
}

template <class Write>
std::string PemOf(const Write& write) {
  const Owned<BIO, BIO_free_all> memory(BIO_new(BIO_s_mem()));
  Need(memory != nullptr && write(memory.get()) == 1, "PEM");
  char* data = nullptr;
  const auto size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<size_t>(size)};
}

}  // namespace

Identity IdentityOf(std::string_view token) {
  const Key authority = AuthorityKey(token);
  const Certificate root =
      Certify(NameOf(*authority), *authority, *authority, [](X509& certificate) {
        AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
        AddExtension(certificate, NID_key_usage, "critical,keyCertSign");
      });
  const Key own(EVP_EC_gen(kCurve));
  Need(own != nullptr, "key of its own");
  const Certificate leaf = Certify(kIdentityName, *own, *authority, [](X509& certificate) {
    AddExtension(certificate, NID_basic_constraints, "critical,CA:FALSE");
    AddExtension(certificate, NID_key_usage, "critical,digitalSignature");
    AddExtension(certificate, NID_ext_key_usage, "serverAuth,clientAuth");
    AddExtension(certificate, NID_subject_alt_name, (std::string("DNS:") + kIdentityName).c_str());
  });
  return {.root = PemOf([&](BIO* to) { return PEM_write_bio_X509(to, root.get()); }),
          .certificate = PemOf([&](BIO* to) { return PEM_write_bio_X509(to, leaf.get()); }),
          .key = PemOf([&](BIO* to) {
            return PEM_write_bio_PrivateKey(to, own.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace tpuest::links
