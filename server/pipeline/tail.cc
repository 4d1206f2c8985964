// Cuts the tail off a program. A trainer that applies the tail must make the
// same bytes as the whole program. For pixels this holds, since the table is
// the same. A late fill is an element, not a pixel. If no uint8 value becomes
// this element, the program stays whole.

#include "server/pipeline/tail.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace forebay::pipeline {
namespace {

// Replaces a late fill by the uint8 pixel that the table turns into the fill's
// element. Returns false if a channel has no such pixel.
bool FillEarly(const transform::ValueTable& table, int channels,
               image::Fill* fill) {
  image::Fill early = *fill;
  early.late = false;
  for (std::size_t c = 0; c < static_cast<std::size_t>(channels); ++c) {
    const auto& bits = table.bits[c];
    const auto pixel = std::find(bits.begin(), bits.end(), fill->element[c]);
    if (pixel == bits.end()) return false;
    early.pixel[c] = static_cast<std::uint8_t>(pixel - bits.begin());
  }
  *fill = early;
  return true;
}

}  // namespace

std::optional<Tail> CutTail(image::Program* program) {
  std::vector<image::Fill> fills = program->fills;
  for (std::size_t i = 0; i < fills.size(); ++i) {
    if (!fills[i].late) continue;
    // A fill that is never shown may have any color.
    if (!program->ops[i].op->may_show_fill()) {
      fills[i].late = false;
    } else if (!FillEarly(program->table, program->channels, &fills[i])) {
      return std::nullopt;
    }
  }
  program->fills = std::move(fills);
  for (std::size_t i = 0; i < program->fills.size(); ++i)
    program->colors[i] = program->fills[i].pixel;
  Tail tail{
      .table = std::exchange(program->table, transform::MakeValueTable({})),
      .channels = program->channels,
      .channels_last = std::exchange(program->channels_last, true)};
  return tail;
}

}  // namespace forebay::pipeline
