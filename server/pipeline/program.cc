// Compiles a PipelineSpec into a Program.
//
// Ops on pixels are kept as they are, with their fills. Ops on values (ToDtype,
// Normalize) are only collected. Since they start from uint8, their effect is a
// table of 256 elements for each color. A pad behind a ToDtype has a fill of
// the new type. The fill goes through all later value steps, so fills are
// computed at the end.

#include "server/pipeline/program.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "proto/shm_layout.h"
#include "server/base/philox.h"
#include "server/base/status.h"
#include "server/pipeline/op_reader.h"
#include "server/pipeline/op_traits.h"

namespace forebay::pipeline {
namespace {

using transform::ImageExtent;
using KindCase = proto::Op::KindCase;

// The most ops of a pipeline.
constexpr int kMaxOps = base::kMaxPipelineOps;

// Follows type, channels and size of the image through the ops, one by one. Not
// thread-safe. Each MakeProgram uses its own Builder.
class Builder {
 public:
  explicit Builder(const ProgramInput& input)
      : decode_ops_(input.decode_ops),
        known_(input.extent.has_value()),
        size_(input.extent.value_or(ImageExtent())) {
    program_.channels = input.channels;
  }

  // Adds op number `index` of the pipeline.
  absl::Status Add(int index, const proto::Op& op) {
    index_ = static_cast<std::uint16_t>(index);
    const KindCase kind = op.kind_case();
    if (kind == KindCase::KIND_NOT_SET) {
      return absl::InvalidArgumentError(
          absl::StrCat("transform ", index + 1,
                       " is of a kind that this daemon does not know"));
    }
    const std::string name = OpTitle(index, op);
    if (converted_ >= 0 && TraitsOf(op).computes_pixels()) {
      return absl::InvalidArgumentError(
          absl::StrCat(name, " works on uint8 pixels: put it before transform ",
                       converted_ + 1, " (ToDtype)"));
    }
    return base::Annotate(AddKind(op), name);
  }

  // Computes the value table and the fills, and returns the program.
  absl::StatusOr<Program> Finish() {
    if (!known_) {
      return absl::InvalidArgumentError(
          "images may differ in size: add RandomResizedCrop(size), or "
          "Resize(size) and CenterCrop(size)");
    }
    program_.extent = size_;
    program_.table = transform::MakeValueTable(values_);
    for (std::size_t i = 0; i < late_.size(); ++i) FinishFill(i);
    return std::move(program_);
  }

 private:
  using FillValues = std::array<double, transform::kColors>;

  // A fill whose element is computed once all value steps are known.
  struct LateFill {
    FillValues values;
    // Number of value steps before the op. The fill goes through the steps from
    // this number on.
    std::size_t step;
  };

  // Checks an op's parameters and adds it, by its kind.
  absl::Status AddKind(const proto::Op& op) {
    FOREBAY_RETURN_IF_ERROR(CheckFields(op));
    switch (op.kind_case()) {
      case KindCase::kResize:
        return AddResize(op.resize());
      case KindCase::kCenterCrop: {
        const transform::CenterCrop crop = Read(op.center_crop());
        Fix(crop.width, crop.height);
        return Append(crop);
      }
      case KindCase::kRandomCrop:
        return AddRandomCrop(op.random_crop());
      case KindCase::kRandomResizedCrop: {
        FOREBAY_ASSIGN_OR_RETURN(const auto crop,
                                 Read(op.random_resized_crop()));
        Fix(crop.width, crop.height);
        return Append(crop);
      }
      case KindCase::kRandomHorizontalFlip:
        return Append(Read(op.random_horizontal_flip()));
      case KindCase::kRandomVerticalFlip:
        return Append(Read(op.random_vertical_flip()));
      case KindCase::kColorJitter: {
        FOREBAY_ASSIGN_OR_RETURN(const auto jitter, Read(op.color_jitter()));
        return Append(jitter);
      }
      case KindCase::kGrayscale: {
        FOREBAY_ASSIGN_OR_RETURN(program_.channels, Read(op.grayscale()));
        return Append(transform::Grayscale{});
      }
      case KindCase::kPad:
        return AddPad(op.pad());
      case KindCase::kDecode:
        if (index_ != 0) return absl::InvalidArgumentError("must come first");
        ++decode_ops_;
        program_.scaled = op.decode().scaled();
        return absl::OkStatus();
      case KindCase::kExifTranspose:
        return AddExifTranspose();
      case KindCase::kUserCode:
        return absl::InvalidArgumentError("a pipeline has it once at most");
      case KindCase::kSlice:
      case KindCase::kRandomWindow:
      case KindCase::kTranspose:
        return IsForArrays();
      default:
        return TraitsOf(op).audio() ? IsForArrays() : AddValueOp(op);
    }
  }

  static absl::Status IsForArrays() {
    return absl::InvalidArgumentError(
        "is for arrays: give it to a field by name");
  }

  // Notes that images are turned upright. This happens while they are decoded,
  // so the op must come before all ops on pixels.
  absl::Status AddExifTranspose() {
    if (program_.upright || index_ != decode_ops_) {
      return absl::InvalidArgumentError(
          "must come first, or right behind Decode");
    }
    ++decode_ops_;
    program_.upright = true;
    return absl::OkStatus();
  }

  absl::Status AddResize(const proto::Resize& op) {
    FOREBAY_ASSIGN_OR_RETURN(const auto resize, Read(op));
    if (resize.width != 0) {
      Fix(resize.width, resize.height);
    } else if (known_) {
      size_ = transform::ResizedExtent(resize, size_);
    }
    return Append(resize);
  }

  absl::Status AddRandomCrop(const proto::RandomCrop& op) {
    const transform::RandomCrop crop = Read(op);
    FOREBAY_ASSIGN_OR_RETURN(const auto fill,
                             ReadFill(op.padding(), program_.channels));
    // If all images have one size, a crop that does not fit is refused now,
    // rather than at each sample.
    const transform::Padding& padding = crop.padding;
    if (known_ && !crop.pad_if_needed &&
        (size_.width + padding.left + padding.right < crop.width ||
         size_.height + padding.top + padding.bottom < crop.height)) {
      return absl::InvalidArgumentError(
          absl::StrCat("is larger than the ", size_.width, " x ", size_.height,
                       " image: set pad_if_needed"));
    }
    Fix(crop.width, crop.height);
    return Append(crop, fill);
  }

  absl::Status AddPad(const proto::Pad& op) {
    const transform::Padding padding = Read(op.padding());
    FOREBAY_ASSIGN_OR_RETURN(const auto fill,
                             ReadFill(op.padding(), program_.channels));
    // size_ is only used if known_ is set.
    size_.width += padding.left + padding.right;
    size_.height += padding.top + padding.bottom;
    return Append(padding, fill);
  }

  // Adds an op that changes type, values or layout: ToImage, ToDtype,
  // Normalize.
  absl::Status AddValueOp(const proto::Op& op) {
    if (op.has_to_image()) {
      program_.channels_last = Read(op.to_image());
      return absl::OkStatus();
    }
    if (op.has_to_dtype()) {
      FOREBAY_ASSIGN_OR_RETURN(const auto convert, Read(op.to_dtype()));
      // A ToDtype to the current type changes nothing, even with `scale`.
      if (convert.dtype == dtype_) return absl::OkStatus();
      if (converted_ < 0) converted_ = index_;
      dtype_ = convert.dtype;
      values_.push_back(convert);
      return absl::OkStatus();
    }
    if (dtype_ == proto::DType::kUint8) {
      return absl::InvalidArgumentError(
          "needs floating-point pixels: put ToDtype(float32, scale=True) "
          "before it");
    }
    if (op.normalize().has_axis())
      return absl::InvalidArgumentError("axis is for arrays, not for images");
    FOREBAY_ASSIGN_OR_RETURN(const auto normalize,
                             Read(op.normalize(), program_.channels));
    for (const double std : normalize.std) {
      if (transform::RoundTo(dtype_, static_cast<float>(std)) == 0)
        return absl::InvalidArgumentError("std is 0 once rounded to the dtype");
    }
    values_.push_back(normalize);
    return absl::OkStatus();
  }

  // Notes that behind this op all images have the size `width` x `height`.
  void Fix(std::int64_t width, std::int64_t height) {
    known_ = true;
    size_ = {width, height};
  }

  // Adds an op on pixels, with its fill.
  absl::Status Append(transform::PixelOp op, const FillValues& values = {}) {
    program_.ops.push_back(
        {op, static_cast<std::uint16_t>(index_ - decode_ops_)});
    late_.push_back({values, values_.size()});
    return absl::OkStatus();
  }

  // Computes the fill of op number i.
  void FinishFill(std::size_t i) {
    Fill fill;
    fill.late = late_[i].step > 0;
    for (std::size_t c = 0; c < transform::kColors; ++c) {
      const double value = late_[i].values[c];
      if (!fill.late) fill.pixel[c] = static_cast<std::uint8_t>(value);
      fill.element[c] = transform::ElementBits(values_, late_[i].step, c,
                                               static_cast<float>(value));
    }
    program_.fills.push_back(fill);
    program_.colors.push_back(fill.pixel);
  }

  Program program_;
  // Fill of each op, by position in program_.ops.
  std::vector<LateFill> late_;
  // Type conversions and normalising, in order.
  std::vector<transform::ValueStep> values_;
  // Type of the image behind the ops so far.
  proto::DType dtype_ = proto::DType::kUint8;
  // Number of the first ToDtype that changed the type; -1 if there is none.
  int converted_ = -1;
  // Number of the op that is being added.
  std::uint16_t index_ = 0;
  // Number of ops so far, in the whole pipeline, that say how images are
  // decoded.
  int decode_ops_;
  // Whether all images have the size `size_` behind the ops so far.
  bool known_;
  ImageExtent size_;
};

}  // namespace

absl::StatusOr<Program> MakeProgram(const proto::PipelineSpec& spec,
                                    const ProgramInput& input) {
  const int ops = input.first_index + spec.ops_size();
  if (ops > kMaxOps) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the pipeline has ", ops, " transforms, more than ", kMaxOps));
  }
  Builder builder(input);
  for (int i = 0; i < spec.ops_size(); ++i)
    FOREBAY_RETURN_IF_ERROR(builder.Add(input.first_index + i, spec.ops(i)));
  return builder.Finish();
}

}  // namespace forebay::pipeline
