#ifndef FOREBAY_SERVER_BASE_CHECK_H_
#define FOREBAY_SERVER_BASE_CHECK_H_

#include "absl/base/internal/raw_logging.h"

// Ends the process if an invariant of this program is broken. Never for what
// the world can cause.
#define FOREBAY_CHECK(condition) ABSL_RAW_CHECK(condition, "broken invariant")

#endif  // FOREBAY_SERVER_BASE_CHECK_H_
