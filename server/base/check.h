#ifndef FOREBAY_SERVER_BASE_CHECK_H_
#define FOREBAY_SERVER_BASE_CHECK_H_

#include "absl/base/internal/raw_logging.h"

// Ends the process if an invariant of this program is broken. A fault that a
// client, a disk or the network can cause is an absl::Status instead.
#define FOREBAY_CHECK(condition) ABSL_RAW_CHECK(condition, "broken invariant")

#endif  // FOREBAY_SERVER_BASE_CHECK_H_
