#include "client/wire/pipeline_codec.h"

#include <protozero/pbf_builder.hpp>
#include <protozero/pbf_message.hpp>

namespace forebay::client::wire {
namespace {

// Field numbers of proto.PipelineSpec, of proto.Op and of the ops' messages in
// proto/job.proto.
enum class PipelineTag : protozero::pbf_tag_type { kOps = 1, kArrays = 2 };
enum class ArrayTag : protozero::pbf_tag_type { kField = 1, kOps = 2 };

enum class OpTag : protozero::pbf_tag_type {
  kResize = 1,
  kCenterCrop = 2,
  kRandomCrop = 3,
  kRandomResizedCrop = 4,
  kRandomHorizontalFlip = 5,
  kRandomVerticalFlip = 6,
  kColorJitter = 7,
  kGrayscale = 8,
  kPad = 9,
  kNormalize = 10,
  kToDtype = 11,
  kToImage = 12,
  kUserCode = 13,
  kSlice = 14,
  kRandomWindow = 15,
  kTranspose = 16,
  kExifTranspose = 17,
  kDecode = 18,
};

enum class ResizeTag : protozero::pbf_tag_type {
  kHeight = 1,
  kWidth = 2,
  kMaxSize = 3,
  kInterpolation = 4,
};

enum class CropTag : protozero::pbf_tag_type {  // CenterCrop and RandomCrop
  kHeight = 1,
  kWidth = 2,
  kPadding = 3,
  kPadIfNeeded = 4,
};

enum class PaddingTag : protozero::pbf_tag_type {
  kLeft = 1,
  kTop = 2,
  kRight = 3,
  kBottom = 4,
  kFill = 5,
  kMode = 6,
};

enum class RandomResizedCropTag : protozero::pbf_tag_type {
  kHeight = 1,
  kWidth = 2,
  kScaleMin = 3,
  kScaleMax = 4,
  kRatioMin = 5,
  kRatioMax = 6,
  kInterpolation = 7,
};

enum class FlipTag : protozero::pbf_tag_type { kP = 1 };
enum class RangeTag : protozero::pbf_tag_type { kMin = 1, kMax = 2 };

enum class ColorJitterTag : protozero::pbf_tag_type {
  kBrightness = 1,
  kContrast = 2,
  kSaturation = 3,
  kHue = 4,
};

enum class GrayscaleTag : protozero::pbf_tag_type { kChannels = 1 };
enum class PadTag : protozero::pbf_tag_type { kPadding = 1 };
enum class NormalizeTag : protozero::pbf_tag_type {
  kMean = 1,
  kStd = 2,
  kAxis = 3,
};
enum class ToDtypeTag : protozero::pbf_tag_type { kDtype = 1, kScale = 2 };
enum class SliceTag : protozero::pbf_tag_type {
  kStart = 1,
  kStop = 2,
  kAxis = 3,
};
enum class RandomWindowTag : protozero::pbf_tag_type {
  kLength = 1,
  kAxis = 2,
  kPadIfNeeded = 3,
};
enum class TransposeTag : protozero::pbf_tag_type { kOrder = 1 };
enum class DecodeTag : protozero::pbf_tag_type { kScaled = 1 };
enum class ToImageTag : protozero::pbf_tag_type { kLayout = 1 };

enum class UserCodeTag : protozero::pbf_tag_type {
  kIdentity = 1,
  kDtype = 2,
  kShape = 3,
  kFinished = 4,
};

Status BadArgument(const char* what) {
  return Status(FOREBAY_INVALID_ARGUMENT, what);
}

bool Known(forebay_interpolation value) {
  return value >= FOREBAY_NEAREST && value <= FOREBAY_BILINEAR_ALIASED;
}

// Appends an op to a serialized pipeline. `body` receives the builder of the
// op's own message. Repeated fields of protobuf are appended one by one, so the
// bytes before stay as they are.
template <typename Tag, typename Body>
void AppendOp(std::string* bytes, OpTag op_tag, const Body& body) {
  protozero::pbf_builder<PipelineTag> pipeline(*bytes);
  protozero::pbf_builder<OpTag> op(pipeline, PipelineTag::kOps);
  protozero::pbf_builder<Tag> message(op, op_tag);
  body(message);
}

template <typename Tag>
void WritePadding(protozero::pbf_builder<Tag>& parent, Tag tag,
                  const forebay_padding& padding) {
  protozero::pbf_builder<PaddingTag> message(parent, tag);
  message.add_uint32(PaddingTag::kLeft, padding.left);
  message.add_uint32(PaddingTag::kTop, padding.top);
  message.add_uint32(PaddingTag::kRight, padding.right);
  message.add_uint32(PaddingTag::kBottom, padding.bottom);
  if (padding.fill_count > 0)
    message.add_packed_double(PaddingTag::kFill, padding.fill,
                              padding.fill + padding.fill_count);
  message.add_enum(PaddingTag::kMode, padding.mode);
}

Status CheckPadding(const forebay_padding& padding) {
  if (padding.mode < FOREBAY_PAD_CONSTANT ||
      padding.mode > FOREBAY_PAD_SYMMETRIC)
    return BadArgument("padding: unknown mode");
  if (padding.fill_count > 0 && padding.fill == nullptr)
    return BadArgument("padding: fill is null");
  return Status();
}

// Writes a range; a missing message means that the property is unchanged.
void WriteRange(protozero::pbf_builder<ColorJitterTag>& parent,
                ColorJitterTag tag, const forebay_range* range) {
  if (range == nullptr) return;
  protozero::pbf_builder<RangeTag> message(parent, tag);
  message.add_double(RangeTag::kMin, range->min);
  message.add_double(RangeTag::kMax, range->max);
}

}  // namespace

Status PipelineEncoder::AddResize(uint32_t height, uint32_t width,
                                  uint32_t max_size,
                                  forebay_interpolation interpolation) {
  if (!Known(interpolation))
    return BadArgument("resize: unknown interpolation");
  AppendOp<ResizeTag>(&bytes_, OpTag::kResize, [&](auto& op) {
    op.add_uint32(ResizeTag::kHeight, height);
    op.add_uint32(ResizeTag::kWidth, width);
    op.add_uint32(ResizeTag::kMaxSize, max_size);
    op.add_enum(ResizeTag::kInterpolation, interpolation);
  });
  return Status();
}

Status PipelineEncoder::AddCenterCrop(uint32_t height, uint32_t width) {
  AppendOp<CropTag>(&bytes_, OpTag::kCenterCrop, [&](auto& op) {
    op.add_uint32(CropTag::kHeight, height);
    op.add_uint32(CropTag::kWidth, width);
  });
  return Status();
}

Status PipelineEncoder::AddRandomCrop(uint32_t height, uint32_t width,
                                      const forebay_padding* padding,
                                      bool pad_if_needed) {
  if (padding != nullptr)
    FOREBAY_CLIENT_RETURN_IF_ERROR(CheckPadding(*padding));
  AppendOp<CropTag>(&bytes_, OpTag::kRandomCrop, [&](auto& op) {
    op.add_uint32(CropTag::kHeight, height);
    op.add_uint32(CropTag::kWidth, width);
    if (padding != nullptr) WritePadding(op, CropTag::kPadding, *padding);
    op.add_bool(CropTag::kPadIfNeeded, pad_if_needed);
  });
  return Status();
}

Status PipelineEncoder::AddRandomResizedCrop(
    uint32_t height, uint32_t width, forebay_range scale, forebay_range ratio,
    forebay_interpolation interpolation) {
  if (!Known(interpolation))
    return BadArgument("random resized crop: unknown interpolation");
  using Tag = RandomResizedCropTag;
  AppendOp<Tag>(&bytes_, OpTag::kRandomResizedCrop, [&](auto& op) {
    op.add_uint32(Tag::kHeight, height);
    op.add_uint32(Tag::kWidth, width);
    op.add_double(Tag::kScaleMin, scale.min);
    op.add_double(Tag::kScaleMax, scale.max);
    op.add_double(Tag::kRatioMin, ratio.min);
    op.add_double(Tag::kRatioMax, ratio.max);
    op.add_enum(Tag::kInterpolation, interpolation);
  });
  return Status();
}

Status PipelineEncoder::AddRandomHorizontalFlip(double probability) {
  AppendOp<FlipTag>(&bytes_, OpTag::kRandomHorizontalFlip,
                    [&](auto& op) { op.add_double(FlipTag::kP, probability); });
  return Status();
}

Status PipelineEncoder::AddRandomVerticalFlip(double probability) {
  AppendOp<FlipTag>(&bytes_, OpTag::kRandomVerticalFlip,
                    [&](auto& op) { op.add_double(FlipTag::kP, probability); });
  return Status();
}

Status PipelineEncoder::AddColorJitter(const forebay_range* brightness,
                                       const forebay_range* contrast,
                                       const forebay_range* saturation,
                                       const forebay_range* hue) {
  AppendOp<ColorJitterTag>(&bytes_, OpTag::kColorJitter, [&](auto& op) {
    WriteRange(op, ColorJitterTag::kBrightness, brightness);
    WriteRange(op, ColorJitterTag::kContrast, contrast);
    WriteRange(op, ColorJitterTag::kSaturation, saturation);
    WriteRange(op, ColorJitterTag::kHue, hue);
  });
  return Status();
}

Status PipelineEncoder::AddGrayscale(uint32_t channels) {
  AppendOp<GrayscaleTag>(&bytes_, OpTag::kGrayscale, [&](auto& op) {
    op.add_uint32(GrayscaleTag::kChannels, channels);
  });
  return Status();
}

Status PipelineEncoder::AddPad(const forebay_padding* padding) {
  if (padding == nullptr) return BadArgument("pad: padding is null");
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckPadding(*padding));
  AppendOp<PadTag>(&bytes_, OpTag::kPad, [&](auto& op) {
    WritePadding(op, PadTag::kPadding, *padding);
  });
  return Status();
}

Status PipelineEncoder::AddNormalize(const double* mean, size_t mean_count,
                                     const double* std, size_t std_count) {
  return AppendNormalize(mean, mean_count, std, std_count, nullptr);
}

Status PipelineEncoder::AddNormalize(const double* mean, size_t mean_count,
                                     const double* std, size_t std_count,
                                     int32_t axis) {
  return AppendNormalize(mean, mean_count, std, std_count, &axis);
}

Status PipelineEncoder::AppendNormalize(const double* mean, size_t mean_count,
                                        const double* std, size_t std_count,
                                        const int32_t* axis) {
  if (mean == nullptr || std == nullptr || mean_count == 0 || std_count == 0)
    return BadArgument("normalize: mean and std each need a value");
  AppendOp<NormalizeTag>(&bytes_, OpTag::kNormalize, [&](auto& op) {
    op.add_packed_double(NormalizeTag::kMean, mean, mean + mean_count);
    op.add_packed_double(NormalizeTag::kStd, std, std + std_count);
    if (axis != nullptr) op.add_sint32(NormalizeTag::kAxis, *axis);
  });
  return Status();
}

void PipelineEncoder::AddSlice(int64_t start, const int64_t* stop,
                               int32_t axis) {
  AppendOp<SliceTag>(&bytes_, OpTag::kSlice, [&](auto& op) {
    op.add_sint64(SliceTag::kStart, start);
    if (stop != nullptr) op.add_sint64(SliceTag::kStop, *stop);
    op.add_sint32(SliceTag::kAxis, axis);
  });
}

Status PipelineEncoder::AddRandomWindow(uint64_t length, int32_t axis,
                                        bool pad_if_needed) {
  if (length == 0) return BadArgument("random window: its length is 0");
  AppendOp<RandomWindowTag>(&bytes_, OpTag::kRandomWindow, [&](auto& op) {
    op.add_uint64(RandomWindowTag::kLength, length);
    op.add_sint32(RandomWindowTag::kAxis, axis);
    op.add_bool(RandomWindowTag::kPadIfNeeded, pad_if_needed);
  });
  return Status();
}

Status PipelineEncoder::AddTranspose(const uint32_t* order, size_t rank) {
  if (order == nullptr || rank == 0)
    return BadArgument("transpose: there are no axes");
  AppendOp<TransposeTag>(&bytes_, OpTag::kTranspose, [&](auto& op) {
    op.add_packed_uint32(TransposeTag::kOrder, order, order + rank);
  });
  return Status();
}

void PipelineEncoder::AddArray(std::string_view field,
                               const PipelineEncoder& ops) {
  protozero::pbf_builder<PipelineTag> pipeline(bytes_);
  protozero::pbf_builder<ArrayTag> array(pipeline, PipelineTag::kArrays);
  array.add_bytes(ArrayTag::kField, field.data(), field.size());
  // Only the ops of that pipeline are copied: fields of arrays do not nest.
  protozero::pbf_message<PipelineTag> all(ops.bytes_.data(), ops.bytes_.size());
  while (all.next(PipelineTag::kOps)) {
    const protozero::data_view op = all.get_view();
    array.add_message(ArrayTag::kOps, op.data(), op.size());
  }
}

Status PipelineEncoder::AddToDtype(forebay_dtype dtype, bool scale) {
  if (dtype < FOREBAY_UINT8 || dtype > FOREBAY_UINT64)
    return BadArgument("to dtype: unknown dtype");
  AppendOp<ToDtypeTag>(&bytes_, OpTag::kToDtype, [&](auto& op) {
    op.add_enum(ToDtypeTag::kDtype, dtype);
    op.add_bool(ToDtypeTag::kScale, scale);
  });
  return Status();
}

Status PipelineEncoder::AddToImage(forebay_layout layout) {
  if (layout < FOREBAY_NCHW || layout > FOREBAY_NHWC)
    return BadArgument("to image: unknown layout");
  AppendOp<ToImageTag>(&bytes_, OpTag::kToImage, [&](auto& op) {
    op.add_enum(ToImageTag::kLayout, layout);
  });
  return Status();
}

void PipelineEncoder::AddDecode(bool scaled) {
  AppendOp<DecodeTag>(&bytes_, OpTag::kDecode, [&](auto& op) {
    op.add_bool(DecodeTag::kScaled, scaled);
  });
}

void PipelineEncoder::AddExifTranspose() {
  protozero::pbf_builder<PipelineTag> pipeline(bytes_);
  protozero::pbf_builder<OpTag> op(pipeline, PipelineTag::kOps);
  // A builder writes its message only once it has a field, and this message has
  // none.
  op.add_message(OpTag::kExifTranspose, "", 0);
}

void PipelineEncoder::AddUserCode(std::string_view identity,
                                  forebay_dtype dtype, const uint64_t* shape,
                                  size_t rank, bool finished) {
  AppendOp<UserCodeTag>(&bytes_, OpTag::kUserCode, [&](auto& op) {
    op.add_bytes(UserCodeTag::kIdentity, identity.data(), identity.size());
    op.add_enum(UserCodeTag::kDtype, dtype);
    op.add_packed_uint64(UserCodeTag::kShape, shape, shape + rank);
    op.add_bool(UserCodeTag::kFinished, finished);
  });
}

void PipelineEncoder::AddMessage(uint32_t number, std::string_view message) {
  protozero::pbf_builder<PipelineTag> pipeline(bytes_);
  protozero::pbf_writer op(pipeline,
                           protozero::pbf_tag_type(PipelineTag::kOps));
  op.add_message(number, message.data(), message.size());
}

}  // namespace forebay::client::wire
