#ifndef FOREBAY_CLIENT_CORE_REATTACH_SECONDS_H_
#define FOREBAY_CLIENT_CORE_REATTACH_SECONDS_H_

#include <stdlib.h>
#include <string.h>

#include <charconv>
#include <cmath>

namespace forebay::client::core {

inline constexpr char kReattachVariable[] = "FOREBAY_REATTACH_SECONDS";

// Returns the default number of seconds to wait for a daemon that is away:
// $FOREBAY_REATTACH_SECONDS, or 60 if that is not set. Returns NaN if the
// variable is negative or not a number. OpenRequest::Create then fails, and its
// message names the variable.
inline double DefaultReattachSeconds() {
  const char* const given = getenv(kReattachVariable);
  if (given == nullptr || *given == '\0') return 60;
  const char* const end = given + strlen(given);
  double seconds = 0;
  const auto read = std::from_chars(given, end, seconds);
  const bool good = read.ec == std::errc() && read.ptr == end && seconds >= 0;
  return good ? seconds : std::nan("");
}

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_REATTACH_SECONDS_H_
