#ifndef FOREBAY_SERVER_BASE_STATUS_H_
#define FOREBAY_SERVER_BASE_STATUS_H_

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace forebay::base {

// Returns "<what>: <strerror>" with the canonical code for `error_number`, an
// errno. EMFILE also says how many descriptors the process may have.
absl::Status ErrnoStatus(int error_number, std::string_view what);

// Returns the status with "<context>: " before its message. An OK status stays
// as it is.
absl::Status Annotate(const absl::Status& status, std::string_view context);

}  // namespace forebay::base

// If the status `expr` is not OK, returns it from the enclosing function.
#define FOREBAY_RETURN_IF_ERROR(expr)                                   \
  do {                                                                  \
    if (absl::Status forebay_status_ = (expr); !forebay_status_.ok()) { \
      return forebay_status_;                                           \
    }                                                                   \
  } while (false)

#define FOREBAY_CONCAT_INNER_(a, b) a##b
#define FOREBAY_CONCAT_(a, b) FOREBAY_CONCAT_INNER_(a, b)

// Assigns the value of `expr`, a StatusOr, to `lhs`, or returns its error from
// the enclosing function: FOREBAY_ASSIGN_OR_RETURN(const Fd fd, Open(path)).
#define FOREBAY_ASSIGN_OR_RETURN(lhs, expr)                                \
  FOREBAY_ASSIGN_OR_RETURN_(FOREBAY_CONCAT_(forebay_status_or_, __LINE__), \
                            lhs, expr)
#define FOREBAY_ASSIGN_OR_RETURN_(result, lhs, expr) \
  auto result = (expr);                              \
  if (!result.ok()) return result.status();          \
  lhs = *std::move(result)

#endif  // FOREBAY_SERVER_BASE_STATUS_H_
