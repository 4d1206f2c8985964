#ifndef FOREBAY_SERVER_BASE_CHECK_H_
#define FOREBAY_SERVER_BASE_CHECK_H_

#include "absl/base/internal/raw_logging.h"

// Dies when an invariant of our own is broken; never for what the world can
// cause.
#define FOREBAY_CHECK(condition) ABSL_RAW_CHECK(condition, "broken invariant")

#endif  // FOREBAY_SERVER_BASE_CHECK_H_
