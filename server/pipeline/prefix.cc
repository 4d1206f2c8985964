#include "server/pipeline/prefix.h"

#include <variant>
#include <vector>

#include "server/pipeline/pipeline.h"
#include "server/pipeline/transform/ops.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::pipeline {
namespace {

// Numbers of the variants of prefixes without ops: the image as it is decoded,
// and the image turned upright by its EXIF orientation.
constexpr std::uint64_t kDecoded = 1;
constexpr std::uint64_t kUpright = 2;

}  // namespace

Prefix PrefixOf(const Program& program) {
  // A prefix begins with a resize, and ends behind its last resize or center
  // crop. Without a resize, the variant would hardly be smaller than the
  // decoded image, and would serve fewer pipelines. `key` lists the ops, each
  // as a number for its kind and the numbers of its parameters. The hash of
  // `key` is the variant's number.
  std::size_t end = 0;
  std::vector<std::int64_t> key;
  if (program.scaled) key.push_back(3);
  if (program.upright) key.push_back(4);
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const transform::PixelOp& op = program.ops[i].op;
    if (const auto* resize = std::get_if<transform::Resize>(&op)) {
      key.insert(key.end(), {1, resize->height, resize->width, resize->max_size,
                             static_cast<std::int64_t>(resize->filter)});
    } else if (const auto* crop = std::get_if<transform::CenterCrop>(&op)) {
      // A crop that is larger than the image fills the border. A late fill is
      // not a uint8 pixel, so it cannot be part of a variant.
      if (i == 0 || program.fills[i].late) break;
      key.insert(key.end(), {2, crop->height, crop->width});
    } else {
      break;
    }
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
