#include "orchestrator/net/test_certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace autobatch {

// A key and what binds it to a name.
struct TestAuthority::Pair {
  Pair(EVP_PKEY* key, X509* certificate) : key(key), certificate(certificate) {}
  ~Pair() {
    EVP_PKEY_free(key);
    X509_free(certificate);
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  EVP_PKEY* key;
  X509* certificate;
};

namespace {

void AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  if (extension == nullptr) abort();
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Not yet signed.
X509* MakeCertificate(EVP_PKEY* key, const std::string& common_name, X509_NAME* issuer,
                      int valid_for_seconds) {
  static long serial = 0;
  X509* const certificate = X509_new();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -7200);
  X509_gmtime_adj(X509_getm_notAfter(certificate), valid_for_seconds);
  X509_set_pubkey(certificate, key);
  X509_NAME* const subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate, issuer == nullptr ? subject : issuer);
  return certificate;
}

std::FILE* Create(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "w");
  if (file == nullptr || chmod(path.c_str(), 0600) != 0) abort();
  return file;
}

void WriteCertificate(const std::string& path, X509* certificate) {
  std::FILE* const file = Create(path);
  PEM_write_X509(file, certificate);
  std::fclose(file);
}

}  // namespace

TestAuthority::TestAuthority(std::string folder, std::string name)
    : folder_(std::move(folder)), name_(std::move(name)), ca_file_(folder_ + "/" + name_ + ".ca") {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = MakeCertificate(key, name_, nullptr, 3600);
  AddExtension(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate, key, EVP_sha256());
  WriteCertificate(ca_file_, certificate);
  pair_ = std::make_unique<Pair>(key, certificate);
}

TestAuthority::~TestAuthority() = default;

Certificates TestAuthority::Issue(const Wanted& wanted) const {
  const std::string stem = folder_ + "/" + name_ + "-" + wanted.common_name;
  const Pair made(EVP_EC_gen("P-256"), nullptr);
  X509* const certificate =
      MakeCertificate(made.key, wanted.common_name, X509_get_subject_name(pair_->certificate),
                      wanted.valid_for_seconds);
  if (!wanted.alternative_names.empty()) {
    AddExtension(certificate, pair_->certificate, NID_subject_alt_name, wanted.alternative_names);
  }
  if (!wanted.usage.empty()) {
    AddExtension(certificate, pair_->certificate, NID_ext_key_usage, wanted.usage);
  }
  X509_sign(certificate, pair_->key, EVP_sha256());
  WriteCertificate(stem + ".pem", certificate);
  X509_free(certificate);
  std::FILE* const file = Create(stem + ".key");
  PEM_write_PrivateKey(file, made.key, nullptr, nullptr, 0, nullptr, nullptr);
  std::fclose(file);
  return {.ca_file = ca_file_, .certificate_file = stem + ".pem", .key_file = stem + ".key"};
}

}  // namespace autobatch
