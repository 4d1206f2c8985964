// Collects what the ops of a pipeline add to a program.
//
// Ops on pixels are kept as they are, with their fills. Ops on values (ToDtype,
// Normalize) are only collected. Since they start from uint8, their effect is a
// table of 256 elements for each color. A pad behind a ToDtype has a fill of
// the new type. The fill goes through all later value steps, so fills are
// computed at the end.

#include "server/pipeline/image/program_builder.h"

#include <utility>

namespace forebay::pipeline::image {

ProgramBuilder::ProgramBuilder(const ProgramInput& input)
    : index_(input.first_index), extent_(input.extent) {
  program_.decode_ops = input.decode_ops;
  program_.channels = input.channels;
}

void ProgramBuilder::SetScaled(bool scaled) {
  ++program_.decode_ops;
  program_.scaled = scaled;
}

void ProgramBuilder::SetUpright() {
  ++program_.decode_ops;
  program_.upright = true;
}

void ProgramBuilder::Append(std::unique_ptr<const ImageOp> op,
                            const ChannelValues& fill) {
  program_.ops.push_back({std::move(op), static_cast<std::uint16_t>(
                                             index_ - program_.decode_ops)});
  fills_.push_back({fill, values_.size()});
}

void ProgramBuilder::Append(const transform::Convert& convert) {
  // A ToDtype to the current type changes nothing, even with `scale`.
  if (convert.dtype == dtype_) return;
  if (first_conversion_ < 0) first_conversion_ = index_;
  dtype_ = convert.dtype;
  values_.emplace_back(convert);
}

void ProgramBuilder::Append(const transform::Normalize& normalize) {
  values_.emplace_back(normalize);
}

absl::StatusOr<Program> ProgramBuilder::Finish() {
  if (!extent_.has_value()) {
    return absl::InvalidArgumentError(
        "images may differ in size: add RandomResizedCrop(size), or "
        "Resize(size) and CenterCrop(size)");
  }
  program_.extent = *extent_;
  program_.table = transform::MakeValueTable(values_);
  for (std::size_t i = 0; i < fills_.size(); ++i) FinishFill(i);
  return std::move(program_);
}

void ProgramBuilder::FinishFill(std::size_t i) {
  Fill fill;
  fill.late = fills_[i].step > 0;
  for (std::size_t c = 0; c < transform::kColors; ++c) {
    const double value = fills_[i].values[c];
    if (!fill.late) fill.pixel[c] = static_cast<std::uint8_t>(value);
    fill.element[c] = transform::ElementBits(values_, fills_[i].step, c,
                                             static_cast<float>(value));
  }
  program_.fills.push_back(fill);
  program_.colors.push_back(fill.pixel);
}

}  // namespace forebay::pipeline::image
