#include "orchestrator/net/seal.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "absl/strings/escaping.h"
#include "autobatch/base/status_macros.h"

namespace autobatch {
namespace {

std::string Hexadecimal(const unsigned char* bytes, size_t size) {
  return absl::BytesToHexString(absl::string_view(reinterpret_cast<const char*>(bytes), size));
}

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

absl::StatusOr<Seal> MakeKeyedSeal(const Secret& secret) {
  AB_ASSIGN_OR_RETURN(Secret key, secret.Derive("autobatch seal v1"));
  return [key](absl::string_view text) {
    unsigned char code[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    // Fails only without memory, and then gives a seal that equals no other.
    if (HMAC(EVP_sha256(), key.bytes().data(), static_cast<int>(key.bytes().size()), Bytes(text),
             text.size(), code, &size) == nullptr) {
      return std::string();
    }
    return Hexadecimal(code, size);
  };
}

Seal MakePlainSeal() {
  return [](absl::string_view text) {
    unsigned char code[EVP_MAX_MD_SIZE];
    unsigned int size = 0;
    if (EVP_Digest(text.data(), text.size(), code, &size, EVP_sha256(), nullptr) != 1) {
      return std::string();
    }
    return Hexadecimal(code, size);
  };
}

bool SealsEqual(absl::string_view a, absl::string_view b) {
  return !a.empty() && a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace autobatch
