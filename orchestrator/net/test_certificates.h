#ifndef ORCHESTRATOR_NET_TEST_CERTIFICATES_H_
#define ORCHESTRATOR_NET_TEST_CERTIFICATES_H_

#include <memory>
#include <string>

#include "orchestrator/net/credentials.h"

namespace autobatch {

// A certificate authority as a user would have it, made for one test; its files are in a folder.
class TestAuthority {
 public:
  // `folder` exists; `name` begins the names of the files.
  TestAuthority(std::string folder, std::string name);
  ~TestAuthority();

  struct Wanted {
    std::string common_name;
    // OpenSSL's words: "DNS:node1,IP:127.0.0.1"; empty: none.
    std::string alternative_names;
    // "serverAuth", "clientAuth", or empty for no such restriction.
    std::string usage;
    int valid_for_seconds = 3600;
  };

  // Files of a certificate that this authority has signed, and its key (mode 0600), with this
  // authority as the one to trust.
  Certificates Issue(const Wanted& wanted) const;

  const std::string& ca_file() const { return ca_file_; }

 private:
  struct Pair;

  std::string folder_;
  std::string name_;
  std::string ca_file_;
  std::unique_ptr<Pair> pair_;
};

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_TEST_CERTIFICATES_H_
