#include "server/pipeline/prefix.h"

#include <vector>

#include "server/pipeline/pipeline.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::pipeline {
namespace {

// Numbers of the variants of prefixes without ops: the image as it is decoded,
// and the image turned upright by its EXIF orientation.
constexpr std::uint64_t kDecoded = 1;
constexpr std::uint64_t kUpright = 2;

// Numbers that begin a prefix's key if the image is decoded at a smaller scale,
// or turned upright. In proto::Op these are the fields of random ops, which are
// never part of a prefix, so no op's key begins with them.
constexpr std::int64_t kScaledKey = 3;
constexpr std::int64_t kUprightKey = 4;

}  // namespace

Prefix PrefixOf(const image::Program& program) {
  // A prefix begins with a resize, and ends behind its last resize or center
  // crop. Without a resize, the variant would hardly be smaller than the
  // decoded image, and would serve fewer pipelines. `key` lists the ops, each
  // by its prefix_key. The hash of `key` is the variant's number.
  std::size_t end = 0;
  std::vector<std::int64_t> key;
  if (program.scaled) key.push_back(kScaledKey);
  if (program.upright) key.push_back(kUprightKey);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const image::ImageOp& op = *program.ops[i].op;
    const std::vector<std::int64_t> numbers = op.prefix_key();
    if (numbers.empty() || (i == 0 && !op.may_begin_prefix())) break;
    // A late fill is not a uint8 pixel, so it cannot be part of a variant.
    if (op.may_show_fill() && program.fills[i].late) break;
    key.insert(key.end(), numbers.begin(), numbers.end());
    end = i + 1;
  }
  if (end == 0) {
    // Each draw may decode the image at another scale, so no decoded image
    // serves all draws.
    if (program.scaled) return {0, kNoVariant};
    return {0, program.upright ? kUpright : kDecoded};
  }
  const std::uint64_t digest =
      XXH3_64bits(key.data(), key.size() * sizeof(key[0]));
  // A hash that equals a reserved number is replaced by a number beyond these.
  return {end, digest <= kUpright ? kUpright + 1 : digest};
}

}  // namespace forebay::pipeline
