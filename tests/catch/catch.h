#ifndef FOREBAY_TESTS_CATCH_CATCH_H_
#define FOREBAY_TESTS_CATCH_CATCH_H_

// Includes Catch2 with the settings that all tests share.

#include <cstdint>
#include <cstdio>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

// Catch2 adds no exception handler to each assertion, because the handlers
// would be a third of its code. The test case's handler names the last
// assertion that began.
#define CATCH_CONFIG_FAST_COMPILE
// Catch2 installs no signal handlers: sanitizers, and tests of fatal signals,
// have their own.
#define CATCH_CONFIG_NO_POSIX_SIGNALS
#define CATCH_CONFIG_ENABLE_OPTIONAL_STRINGMAKER
#define CATCH_CONFIG_ENABLE_PAIR_STRINGMAKER
#define CATCH_CONFIG_ENABLE_TUPLE_STRINGMAKER
#include "catch2/catch.hpp"

// The specialisations below print, in failed assertions, types that Catch2 does
// not know.
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
    const std::string name = absl::StatusCodeToString(code);
    return name.empty() ? std::to_string(static_cast<int>(code)) : name;
  }
};

template <class Value>
struct StringMaker<absl::StatusOr<Value>> {
  static std::string convert(const absl::StatusOr<Value>& value) {
    if constexpr (Detail::IsStreamInsertable<Value>::value) {
      if (value.ok()) return "OK, " + Detail::stringify(*value);
    }
    return value.status().ToString();
  }
};

template <>
struct StringMaker<absl::string_view> {
  static std::string convert(absl::string_view text) {
    return Detail::stringify(std::string(text));
  }
};

// Prints a vector of bytes in hexadecimal, at most its first 64 bytes.
template <>
struct StringMaker<std::vector<std::uint8_t>> {
  static std::string convert(const std::vector<std::uint8_t>& bytes) {
    constexpr std::size_t kMost = 64;
    std::string text = "{";
    for (std::size_t i = 0; i < bytes.size() && i < kMost; ++i) {
      char digits[4];
      std::snprintf(digits, sizeof(digits), " %02x", bytes[i]);
      text += digits;
    }
    if (bytes.size() > kMost)
      text += " ... of " + std::to_string(bytes.size()) + " bytes";
    return text + " }";
  }
};

// Prints the client's own status as its code and its message.
template <class Status>
struct StringMaker<
    Status,
    std::enable_if_t<
        std::is_same_v<decltype(std::declval<Status>().message), std::string> &&
        std::is_enum_v<decltype(std::declval<Status>().code)>>> {
  static std::string convert(const Status& status) {
    return "code " + std::to_string(static_cast<int>(status.code)) +
           (status.message.empty() ? "" : ", \"" + status.message + "\"");
  }
};

}  // namespace Catch

#endif  // FOREBAY_TESTS_CATCH_CATCH_H_
