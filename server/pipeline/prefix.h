#ifndef FOREBAY_SERVER_PIPELINE_PREFIX_H_
#define FOREBAY_SERVER_PIPELINE_PREFIX_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/image/program.h"

namespace forebay::pipeline {

// The first ops of a program whose effect is the same for every sample key:
// resizes, and crops of the image's middle behind a resize.
struct Prefix {
  // Number of ops; 0 if the prefix only decodes the image.
  std::size_t ops = 0;
  // Number of the variant that the prefix makes. Equal prefixes have equal
  // numbers in all programs. kNoVariant if the prefix makes no variant.
  std::uint64_t variant = 0;
};

// Finds a program's prefix. Pure function.
Prefix PrefixOf(const image::Program& program);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_PREFIX_H_
