#ifndef FOREBAY_TESTS_FUZZ_REQUIRE_H_
#define FOREBAY_TESTS_FUZZ_REQUIRE_H_

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace forebay::fuzz {

// Ends the run with a finding unless the condition holds.
inline void Require(bool condition) {
  if (!condition) std::abort();
}

// Reads every byte, so that a sanitizer sees any byte that may not be read.
inline void Touch(const std::uint8_t* data, std::size_t bytes) {
  const volatile std::uint8_t* const at = data;
  for (std::size_t i = 0; i < bytes; ++i) static_cast<void>(at[i]);
}

}  // namespace forebay::fuzz

#endif  // FOREBAY_TESTS_FUZZ_REQUIRE_H_
