#ifndef ORCHESTRATOR_NET_NET_STATUS_H_
#define ORCHESTRATOR_NET_NET_STATUS_H_

#include <boost/system/error_code.hpp>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace autobatch {

// The one place where Asio's and OpenSSL's errors become ours, with the codes that connection.h
// promises. `what`: the operation, for the text ("cannot connect"). OK for no error.
absl::Status NetStatus(const boost::system::error_code& error, absl::string_view what);

}  // namespace autobatch

#endif  // ORCHESTRATOR_NET_NET_STATUS_H_
