#include "autobatch/base/log.h"

#include <glog/logging.h>

namespace autobatch {

void InitLog(const char* program) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(program);
}

void LogWarning(absl::string_view text) { LOG(WARNING) << text; }
void LogError(absl::string_view text) { LOG(ERROR) << text; }

}  // namespace autobatch
