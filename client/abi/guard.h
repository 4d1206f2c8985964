#ifndef FOREBAY_CLIENT_ABI_GUARD_H_
#define FOREBAY_CLIENT_ABI_GUARD_H_

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "client/base/status.h"

namespace forebay::client::abi {

// Why this thread's last failed call failed.
inline std::string& LastError() {
  thread_local std::string last_error;
  return last_error;
}

inline forebay_status Report(Status status) {
  if (!status.ok()) LastError() = std::move(status.message);
  return status.code;
}

// The entry of every C function: runs `body`, which returns a Status, unless a
// pointer that it needs is null. Lets no exception out.
template <typename Body>
forebay_status Guard(bool arguments_given, const Body& body) {
  try {
    if (!arguments_given)
      return Report(Status(FOREBAY_INVALID_ARGUMENT, "an argument is null"));
    return Report(body());
  } catch (const std::bad_alloc&) {
    return FOREBAY_RESOURCE_EXHAUSTED;
  } catch (const std::exception& error) {
    return Report(Status(FOREBAY_INTERNAL, error.what()));
  }
}

}  // namespace forebay::client::abi

#endif  // FOREBAY_CLIENT_ABI_GUARD_H_
