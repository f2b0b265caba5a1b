#ifndef AUTOBATCH_BASE_STATUS_MACROS_H_
#define AUTOBATCH_BASE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns from the enclosing function with the status of `expression` unless it is OK.
#define AB_RETURN_IF_ERROR(expression)                              \
  do {                                                              \
    if (absl::Status ab_status_ = (expression); !ab_status_.ok()) { \
      return ab_status_;                                            \
    }                                                               \
  } while (false)

#define AB_STATUS_CONCAT_INNER_(a, b) a##b
#define AB_STATUS_CONCAT_(a, b) AB_STATUS_CONCAT_INNER_(a, b)

// AB_ASSIGN_OR_RETURN(int64_t n, ParseBytes(text)): assigns the value, or returns the status.
#define AB_ASSIGN_OR_RETURN(target, expression) \
  AB_ASSIGN_OR_RETURN_IMPL_(AB_STATUS_CONCAT_(ab_status_or_, __LINE__), target, expression)

#define AB_ASSIGN_OR_RETURN_IMPL_(result, target, expression) \
  auto result = (expression);                                 \
  if (!result.ok()) return std::move(result).status();        \
  target = *std::move(result)

#endif  // AUTOBATCH_BASE_STATUS_MACROS_H_
