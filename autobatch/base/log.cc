#include "autobatch/base/log.h"

#include <glog/logging.h>

namespace autobatch {

void InitLog(const char* program, bool verbose) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = verbose ? google::GLOG_INFO : google::GLOG_WARNING;
  google::InitGoogleLogging(program);
}

void LogInfo(absl::string_view text) { LOG(INFO) << text; }
void LogWarning(absl::string_view text) { LOG(WARNING) << text; }
void LogError(absl::string_view text) { LOG(ERROR) << text; }

}  // namespace autobatch
