#ifndef FOREBAY_CLIENT_ABI_GUARD_H_
#define FOREBAY_CLIENT_ABI_GUARD_H_

#include <exception>
#include <new>
#include <string>
#include <utility>

#include "client/base/status.h"

namespace forebay::client::abi {

// Returns the text of forebay_last_error: why this thread's last failed call
// failed.
inline std::string& LastError() {
  thread_local std::string last_error;
  return last_error;
}

// Returns the code of a status, and keeps the message of an error.
inline forebay_status Report(Status status) {
  if (!status.ok()) LastError() = std::move(status.message);
  return status.code;
}

// Wraps the body of every C function that returns a status. Runs `body`, which
// returns a Status, unless `arguments_given` is false because a required
// pointer is null. Catches all exceptions, because C callers cannot.
template <typename Body>
forebay_status Guard(bool arguments_given, const Body& body) {
  try {
    if (!arguments_given)
      return Report(Status(FOREBAY_INVALID_ARGUMENT, "an argument is null"));
    return Report(body());
  } catch (const std::bad_alloc&) {
    // No message is stored: it would need memory, too.
    return FOREBAY_RESOURCE_EXHAUSTED;
  } catch (const std::exception& error) {
    return Report(Status(FOREBAY_INTERNAL, error.what()));
  }
}

}  // namespace forebay::client::abi

#endif  // FOREBAY_CLIENT_ABI_GUARD_H_
