#ifndef FOREBAY_SERVER_DATASET_MANIFEST_NUMBER_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_NUMBER_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace forebay::dataset::manifest {

// Returns the integer that a text is: "-12", and "3.0", too, as programs write
// integers that they store as floats. Returns nothing if the text is no
// integer, has more than 64 bits, or is written as numbers are not ("007",
// "+1").
std::optional<std::int64_t> IntegerOf(std::string_view text);

// Whether a text is a number of any kind, "1e3" and "nan" included.
bool IsNumber(std::string_view text);

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_NUMBER_H_
