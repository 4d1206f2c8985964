#ifndef FOREBAY_SERVER_PIPELINE_PREFIX_H_
#define FOREBAY_SERVER_PIPELINE_PREFIX_H_

#include <cstddef>
#include <cstdint>

#include "server/pipeline/program.h"

namespace forebay::pipeline {

// The first ops of a program, as far as they do the same to a sample each time:
// resizes, and crops of their middle.
struct Prefix {
  std::size_t ops = 0;  // if 0, decoding alone
  // Identifies their result in all programs; kNoVariant if there is none.
  std::uint64_t variant = 0;
};

// Pure function.
Prefix PrefixOf(const Program& program);

}  // namespace forebay::pipeline

#endif  // FOREBAY_SERVER_PIPELINE_PREFIX_H_
