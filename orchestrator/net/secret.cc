#include "orchestrator/net/secret.h"

#include <fcntl.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "autobatch/base/status_macros.h"
#include "orchestrator/net/owner_only.h"

namespace autobatch {

// Whole pages, since the kernel's promises are about pages.
class Secret::Pages {
 public:
  Pages()
      : data_(static_cast<char*>(mmap(nullptr, kMaximumSize, PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    if (data_ == MAP_FAILED) throw std::bad_alloc();
    madvise(data_, kMaximumSize, MADV_DONTDUMP);
    madvise(data_, kMaximumSize, MADV_WIPEONFORK);
    // Refused where RLIMIT_MEMLOCK is small; then it may be swapped like everything else.
    mlock(data_, kMaximumSize);
  }
  ~Pages() {
    OPENSSL_cleanse(data_, kMaximumSize);
    munmap(data_, kMaximumSize);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  char* data() { return data_; }
  unsigned char* key() { return reinterpret_cast<unsigned char*>(data_); }
  void set_size(size_t size) { size_ = size; }
  absl::string_view bytes() const { return absl::string_view(data_, size_); }

 private:
  char* data_;
  size_t size_ = 0;
};

namespace {

constexpr size_t kKeySize = 32;

}  // namespace

absl::string_view Secret::bytes() const { return pages_->bytes(); }

absl::StatusOr<Secret> Secret::Read(int descriptor, const std::string& name) {
  const auto pages = std::make_shared<Pages>();
  size_t size = 0;
  while (true) {
    // Straight into the pages: no other buffer ever holds it.
    const ssize_t got = read(descriptor, pages->data() + size, kMaximumSize - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", name));
    if (got == 0) break;
    size += static_cast<size_t>(got);
    if (size == kMaximumSize) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " holds ", kMaximumSize, " bytes or more; that is no secret of ours"));
    }
  }
  while (size > 0 && (pages->data()[size - 1] == '\n' || pages->data()[size - 1] == '\r')) --size;
  if (size < kMinimumSize) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " holds ", size, " bytes; a secret has at least ", kMinimumSize,
                     ". To make one: (umask 077; head -c 32 /dev/urandom | base64 > FILE)"));
  }
  pages->set_size(size);
  return Secret(pages);
}

absl::StatusOr<Secret> Secret::FromFile(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open the secret's file ", path));
  }
  const absl::Cleanup close_it = [descriptor] { close(descriptor); };
  AB_RETURN_IF_ERROR(CheckOwnerOnly(descriptor, path));
  return Read(descriptor, path);
}

absl::StatusOr<Secret> Secret::FromDescriptor(int64_t number) {
  if (number < 0 || number > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError(absl::StrCat(number, " is no number of a descriptor"));
  }
  const int descriptor = static_cast<int>(number);
  const absl::Cleanup close_it = [descriptor] { close(descriptor); };
  return Read(descriptor, absl::StrCat("descriptor ", descriptor));
}

absl::StatusOr<Secret> Secret::FromBytes(absl::string_view bytes) {
  if (bytes.size() < kMinimumSize || bytes.size() >= kMaximumSize) {
    return absl::InvalidArgumentError(absl::StrCat("a secret of ", bytes.size(), " bytes; it has ",
                                                   kMinimumSize, " to ", kMaximumSize - 1));
  }
  const auto pages = std::make_shared<Pages>();
  std::memcpy(pages->data(), bytes.data(), bytes.size());
  pages->set_size(bytes.size());
  return Secret(pages);
}

absl::StatusOr<Secret> Secret::Random() {
  const auto pages = std::make_shared<Pages>();
  if (RAND_bytes(pages->key(), kKeySize) != 1) {
    return absl::UnavailableError("the system has no random bytes");
  }
  pages->set_size(kKeySize);
  return Secret(pages);
}

absl::StatusOr<Secret> Secret::Derive(absl::string_view purpose) const {
  const auto pages = std::make_shared<Pages>();
  EVP_KDF* const kdf = EVP_KDF_fetch(nullptr, OSSL_KDF_NAME_HKDF, nullptr);
  EVP_KDF_CTX* const context = kdf == nullptr ? nullptr : EVP_KDF_CTX_new(kdf);
  const absl::Cleanup release = [kdf, context] {
    EVP_KDF_CTX_free(context);
    EVP_KDF_free(kdf);
  };
  std::string digest = "SHA256";
  std::string info(purpose);
  // OpenSSL's parameters are not const, but are only read.
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, const_cast<char*>(bytes().data()),
                                        bytes().size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end(),
  };
  if (context == nullptr || EVP_KDF_derive(context, pages->key(), kKeySize, parameters) != 1) {
    return absl::InternalError("OpenSSL cannot derive a key (HKDF-SHA256)");
  }
  pages->set_size(kKeySize);
  return Secret(pages);
}

}  // namespace autobatch
