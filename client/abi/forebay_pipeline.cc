// The C interface to pipelines of images and arrays (forebay.h): turns each
// call into the message of an op.

#include <cstdint>
#include <new>
#include <optional>
#include <string_view>
#include <variant>

#include "client/abi/guard.h"
#include "client/abi/handles.h"
#include "client/abi/pipeline_ops.h"
#include "client/forebay.h"

namespace message = forebay::message;
using forebay::client::Status;
using forebay::client::abi::AddOp;
using forebay::client::abi::Guard;
using forebay::client::abi::UnlessKnown;

namespace {

const char* Problem(forebay_interpolation interpolation, const char* problem) {
  return UnlessKnown(interpolation, FOREBAY_NEAREST, FOREBAY_BILINEAR_ALIASED,
                     problem);
}

const char* Problem(const forebay_padding* padding) {
  if (padding == nullptr) return nullptr;
  if (padding->fill_count > 0 && padding->fill == nullptr)
    return "padding: fill is null";
  return UnlessKnown(padding->mode, FOREBAY_PAD_CONSTANT, FOREBAY_PAD_SYMMETRIC,
                     "padding: unknown mode");
}

// Converts a padding; returns nullopt for null.
std::optional<message::Padding> ToMessage(const forebay_padding* padding) {
  if (padding == nullptr) return std::nullopt;
  return message::Padding{
      .left = padding->left,
      .top = padding->top,
      .right = padding->right,
      .bottom = padding->bottom,
      .fill = {padding->fill, padding->fill + padding->fill_count},
      .mode = padding->mode};
}

// Converts a range; returns nullopt for null, which leaves the image's property
// unchanged.
std::optional<message::Range> ToMessage(const forebay_range* range) {
  if (range == nullptr) return std::nullopt;
  return message::Range{.min = range->min, .max = range->max};
}

forebay_status AddNormalize(forebay_pipeline* pipeline, const double* mean,
                            size_t mean_count, const double* std,
                            size_t std_count, std::optional<int32_t> axis) {
  const bool has_values =
      mean != nullptr && mean_count > 0 && std != nullptr && std_count > 0;
  return AddOp(
      pipeline,
      has_values ? nullptr : "normalize: mean and std each need a value", [&] {
        return message::Normalize{.mean = {mean, mean + mean_count},
                                  .std_ = {std, std + std_count},
                                  .axis = axis};
      });
}

}  // namespace

forebay_pipeline* forebay_pipeline_new(void) {
  return new (std::nothrow) forebay_pipeline;
}

void forebay_pipeline_free(forebay_pipeline* pipeline) { delete pipeline; }

forebay_status forebay_pipeline_add_op(forebay_pipeline* pipeline,
                                       const void* bytes, size_t size) {
  return Guard(pipeline != nullptr && bytes != nullptr, [&] {
    const std::string_view view(static_cast<const char*>(bytes), size);
    message::Op op;
    // Parse drops fields that this library does not know. Without these fields,
    // the op could mean something else.
    if (!message::Parse(view, &op) || message::Serialize(op) != view ||
        std::holds_alternative<std::monostate>(op.kind))
      return Status(FOREBAY_INVALID_ARGUMENT,
                    "the bytes are not an op that this library knows");
    pipeline->spec.ops.push_back(std::move(op));
    return Status();
  });
}

forebay_status forebay_pipeline_add_resize(
    forebay_pipeline* pipeline, uint32_t height, uint32_t width,
    uint32_t max_size, forebay_interpolation interpolation) {
  return AddOp(pipeline,
               Problem(interpolation, "resize: unknown interpolation"), [&] {
                 return message::Resize{.height = height,
                                        .width = width,
                                        .max_size = max_size,
                                        .interpolation = interpolation};
               });
}

forebay_status forebay_pipeline_add_center_crop(forebay_pipeline* pipeline,
                                                uint32_t height,
                                                uint32_t width) {
  return AddOp(pipeline, nullptr, [&] {
    return message::CenterCrop{.height = height, .width = width};
  });
}

forebay_status forebay_pipeline_add_random_crop(forebay_pipeline* pipeline,
                                                uint32_t height, uint32_t width,
                                                const forebay_padding* padding,
                                                int pad_if_needed) {
  return AddOp(pipeline, Problem(padding), [&] {
    return message::RandomCrop{.height = height,
                               .width = width,
                               .padding = ToMessage(padding),
                               .pad_if_needed = pad_if_needed != 0};
  });
}

forebay_status forebay_pipeline_add_random_resized_crop(
    forebay_pipeline* pipeline, uint32_t height, uint32_t width,
    forebay_range scale, forebay_range ratio,
    forebay_interpolation interpolation) {
  return AddOp(
      pipeline,
      Problem(interpolation, "random resized crop: unknown interpolation"),
      [&] {
        return message::RandomResizedCrop{.height = height,
                                          .width = width,
                                          .scale_min = scale.min,
                                          .scale_max = scale.max,
                                          .ratio_min = ratio.min,
                                          .ratio_max = ratio.max,
                                          .interpolation = interpolation};
      });
}

forebay_status forebay_pipeline_add_random_horizontal_flip(
    forebay_pipeline* pipeline, double probability) {
  return AddOp(pipeline, nullptr,
               [&] { return message::RandomHorizontalFlip{.p = probability}; });
}

forebay_status forebay_pipeline_add_random_vertical_flip(
    forebay_pipeline* pipeline, double probability) {
  return AddOp(pipeline, nullptr,
               [&] { return message::RandomVerticalFlip{.p = probability}; });
}

forebay_status forebay_pipeline_add_color_jitter(
    forebay_pipeline* pipeline, const forebay_range* brightness,
    const forebay_range* contrast, const forebay_range* saturation,
    const forebay_range* hue) {
  // A jitter that changes nothing is not added, so later ops keep their random
  // streams.
  if (brightness == nullptr && contrast == nullptr && saturation == nullptr &&
      hue == nullptr)
    return Guard(pipeline != nullptr, [] { return Status(); });
  return AddOp(pipeline, nullptr, [&] {
    return message::ColorJitter{.brightness = ToMessage(brightness),
                                .contrast = ToMessage(contrast),
                                .saturation = ToMessage(saturation),
                                .hue = ToMessage(hue)};
  });
}

forebay_status forebay_pipeline_add_grayscale(forebay_pipeline* pipeline,
                                              uint32_t channels) {
  return AddOp(pipeline, nullptr, [&] {
    return message::Grayscale{.num_output_channels = channels};
  });
}

forebay_status forebay_pipeline_add_pad(forebay_pipeline* pipeline,
                                        const forebay_padding* padding) {
  const char* const problem =
      padding == nullptr ? "pad: padding is null" : Problem(padding);
  return AddOp(pipeline, problem,
               [&] { return message::Pad{.padding = ToMessage(padding)}; });
}

forebay_status forebay_pipeline_add_normalize(forebay_pipeline* pipeline,
                                              const double* mean,
                                              size_t mean_count,
                                              const double* std,
                                              size_t std_count) {
  return AddNormalize(pipeline, mean, mean_count, std, std_count, {});
}

forebay_status forebay_pipeline_add_normalize_axis(
    forebay_pipeline* pipeline, const double* mean, size_t mean_count,
    const double* std, size_t std_count, int32_t axis) {
  return AddNormalize(pipeline, mean, mean_count, std, std_count, axis);
}

forebay_status forebay_pipeline_add_decode(forebay_pipeline* pipeline,
                                           int scaled) {
  return AddOp(pipeline, nullptr,
               [&] { return message::Decode{.scaled = scaled != 0}; });
}

forebay_status forebay_pipeline_add_exif_transpose(forebay_pipeline* pipeline) {
  return AddOp(pipeline, nullptr, [&] { return message::ExifTranspose(); });
}

forebay_status forebay_pipeline_add_slice(forebay_pipeline* pipeline,
                                          int64_t start, const int64_t* stop,
                                          int32_t axis) {
  return AddOp(pipeline, nullptr, [&] {
    message::Slice slice = {.start = start, .stop = {}, .axis = axis};
    if (stop != nullptr) slice.stop = *stop;
    return slice;
  });
}

forebay_status forebay_pipeline_add_random_window(forebay_pipeline* pipeline,
                                                  uint64_t length, int32_t axis,
                                                  int pad_if_needed) {
  return AddOp(
      pipeline, length == 0 ? "random window: its length is 0" : nullptr, [&] {
        return message::RandomWindow{.length = length,
                                     .axis = axis,
                                     .pad_if_needed = pad_if_needed != 0};
      });
}

forebay_status forebay_pipeline_add_transpose(forebay_pipeline* pipeline,
                                              const uint32_t* order,
                                              size_t rank) {
  const bool has_axes = order != nullptr && rank > 0;
  return AddOp(pipeline, has_axes ? nullptr : "transpose: there are no axes",
               [&] {
                 return message::Transpose{.order = {order, order + rank}};
               });
}

forebay_status forebay_pipeline_add_array(forebay_pipeline* pipeline,
                                          const char* field,
                                          const forebay_pipeline* transforms) {
  return Guard(pipeline != nullptr && field != nullptr &&
                   transforms != nullptr && transforms != pipeline,
               [&] {
                 // Pipelines of fields do not nest, so only the ops are copied.
                 pipeline->spec.fields.push_back(
                     {.field = field, .ops = transforms->spec.ops});
                 return Status();
               });
}

forebay_status forebay_pipeline_add_to_dtype(forebay_pipeline* pipeline,
                                             forebay_dtype dtype, int scale) {
  return AddOp(
      pipeline,
      UnlessKnown(dtype, FOREBAY_UINT8, FOREBAY_UINT64,
                  "to dtype: unknown dtype"),
      [&] { return message::ToDtype{.dtype = dtype, .scale = scale != 0}; });
}

forebay_status forebay_pipeline_add_to_image(forebay_pipeline* pipeline,
                                             forebay_layout layout) {
  return AddOp(pipeline,
               UnlessKnown(layout, FOREBAY_NCHW, FOREBAY_NHWC,
                           "to image: unknown layout"),
               [&] { return message::ToImage{.layout = layout}; });
}
