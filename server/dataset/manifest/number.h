#ifndef FOREBAY_SERVER_DATASET_MANIFEST_NUMBER_H_
#define FOREBAY_SERVER_DATASET_MANIFEST_NUMBER_H_

#include <cstdint>
#include <optional>
#include <string_view>

namespace forebay::dataset::manifest {

// Returns the integer that a text denotes, such as "-12". "3.0" denotes an
// integer, too: programs that store integers as floats write them like this.
// Returns nothing if the text is not an integer, does not fit in 64 bits, or
// has an uncommon form ("007", "+1"). Thread-safe; never blocks.
std::optional<std::int64_t> IntegerOf(std::string_view text);

// Whether a text is a number of any kind. "1e3" and "nan" are numbers, too.
bool IsNumber(std::string_view text);

}  // namespace forebay::dataset::manifest

#endif  // FOREBAY_SERVER_DATASET_MANIFEST_NUMBER_H_
