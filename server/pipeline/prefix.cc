#include "server/pipeline/prefix.h"

#include <variant>
#include <vector>

#include "server/pipeline/pipeline.h"
#include "server/pipeline/transform/ops.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::pipeline {
namespace {

// Identify the pixels as they are decoded; perhaps turned as EXIF says.
constexpr std::uint64_t kDecoded = 1;
constexpr std::uint64_t kUpright = 2;

}  // namespace

Prefix PrefixOf(const Program& program) {
  // Without a resize, the variant would be no smaller and serve fewer
  // pipelines.
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
      // Pixels beside a small image are black, unless the fill is late and so
      // no pixel.
      if (i == 0 || program.fills[i].late) break;
      key.insert(key.end(), {2, crop->height, crop->width});
    } else {
      break;
    }
    end = i + 1;
  }
  if (end == 0) {
    // Each draw may want another scale.
    if (program.scaled) return {0, kNoVariant};
    return {0, program.upright ? kUpright : kDecoded};
  }
  const std::uint64_t digest =
      XXH3_64bits(key.data(), key.size() * sizeof(key[0]));
  return {end, digest <= kUpright ? kUpright + 1 : digest};
}

}  // namespace forebay::pipeline
