#ifndef FOREBAY_CLIENT_PATIENCE_H_
#define FOREBAY_CLIENT_PATIENCE_H_

#include <stdlib.h>
#include <string.h>

#include <charconv>
#include <cmath>
#include <cstdint>

namespace forebay::client {

inline constexpr char kPatienceVariable[] = "FOREBAY_REATTACH_SECONDS";

// Seconds for which to wait for a daemon that is away, unless a caller says
// otherwise: $FOREBAY_REATTACH_SECONDS, else 60; no number if the variable is
// none, or negative.
inline double UsualPatience() {
  const char* const given = getenv(kPatienceVariable);
  if (given == nullptr || *given == '\0') return 60;
  const char* const end = given + strlen(given);
  double seconds = 0;
  const auto read = std::from_chars(given, end, seconds);
  const bool good = read.ec == std::errc() && read.ptr == end && seconds >= 0;
  return good ? seconds : std::nan("");
}

// INT64_MAX, for ever, if `seconds` is negative or longer than a century.
inline std::int64_t PatienceNanos(double seconds) {
  constexpr double kLongest = 3e9;
  if (seconds >= 0 && seconds < kLongest)
    return static_cast<std::int64_t>(seconds * 1e9);
  return INT64_MAX;
}

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_PATIENCE_H_
