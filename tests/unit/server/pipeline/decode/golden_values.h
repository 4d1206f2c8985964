#ifndef FOREBAY_TESTS_UNIT_SERVER_PIPELINE_DECODE_GOLDEN_VALUES_H_
#define FOREBAY_TESTS_UNIT_SERVER_PIPELINE_DECODE_GOLDEN_VALUES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"

namespace forebay::pipeline::decode {

// Returns the words of each line of a file of tests/golden/values.
std::vector<std::vector<std::string>> GoldenValues(const std::string& name);

// Returns the bytes of a file of tests/golden/values.
std::string GoldenValueFile(const std::string& name);

// Returns the bytes that a hexadecimal word such as "6a7067" means. "-" means
// no bytes.
std::string FromHex(const std::string& word);

absl::Span<const std::uint8_t> AsBytes(std::string_view text);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_TESTS_UNIT_SERVER_PIPELINE_DECODE_GOLDEN_VALUES_H_
