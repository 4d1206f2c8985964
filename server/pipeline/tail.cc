// Cuts the tail off a program. A trainer that applies the tail must make the
// same bytes as the whole program. For pixels this holds, since the table is
// the same. A late fill is an element, not a pixel. If no uint8 value becomes
// this element, the program stays whole.

#include "server/pipeline/tail.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

#include "server/pipeline/transform/ops.h"

namespace forebay::pipeline {
namespace {

// Whether an op may paint pixels with its fill.
bool Paints(const transform::PixelOp& op) {
  if (const auto* const crop = std::get_if<transform::RandomCrop>(&op)) {
    const transform::Padding& padding = crop->padding;
    return padding.mode == transform::PadMode::kConstant &&
           (crop->pad_if_needed || padding.left > 0 || padding.top > 0 ||
            padding.right > 0 || padding.bottom > 0);
  }
  // A CenterCrop paints if an image is smaller than the crop. A Padding always
  // may.
  return std::holds_alternative<transform::CenterCrop>(op) ||
         std::holds_alternative<transform::Padding>(op);
}

// Replaces a late fill by the uint8 pixel that the table turns into the fill's
// element. Returns false if a channel has no such pixel.
bool FillEarly(const transform::ValueTable& table, int channels, Fill* fill) {
  Fill early = *fill;
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

std::optional<Tail> CutTail(Program* program) {
  std::vector<Fill> fills = program->fills;
  for (std::size_t i = 0; i < fills.size(); ++i) {
    if (!fills[i].late) continue;
    // A fill that is never painted may have any color.
    if (!Paints(program->ops[i].op)) {
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
