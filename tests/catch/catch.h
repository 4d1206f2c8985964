#ifndef FOREBAY_TESTS_CATCH_CATCH_H_
#define FOREBAY_TESTS_CATCH_CATCH_H_

// Catch2 as all of the tests use it.

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// An assertion has no handler of exceptions of its own: that is a third of its
// code. The test case's handler says which assertion was the last.
#define CATCH_CONFIG_FAST_COMPILE
// Sanitizers, and tests of fatal signals, have handlers of their own.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#define CATCH_CONFIG_ENABLE_OPTIONAL_STRINGMAKER
#define CATCH_CONFIG_ENABLE_PAIR_STRINGMAKER
#define CATCH_CONFIG_ENABLE_TUPLE_STRINGMAKER
#include "catch2/catch.hpp"

// How a failed assertion prints types that Catch2 does not know.
namespace Catch {

template <>
struct StringMaker<absl::Status> {
  static std::string convert(const absl::Status& status) {
    return status.ToString();
  }
};

template <>
struct StringMaker<absl::StatusCode> {
  static std::string convert(absl::StatusCode code) {
    return absl::StatusCodeToString(code);
  }
};

template <class Value>
struct StringMaker<absl::StatusOr<Value>> {
  static std::string convert(const absl::StatusOr<Value>& value) {
    return value.status().ToString();
  }
};

}  // namespace Catch

#endif  // FOREBAY_TESTS_CATCH_CATCH_H_
