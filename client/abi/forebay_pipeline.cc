// The C interface to pipelines (forebay.h): checks that pointers are not null,
// and translates. wire::PipelineEncoder checks the values.

#include <new>

#include "client/abi/guard.h"
#include "client/abi/handles.h"
#include "client/forebay.h"

using forebay::client::Status;
using forebay::client::abi::Guard;

forebay_pipeline* forebay_pipeline_new(void) {
  return new (std::nothrow) forebay_pipeline;
}

void forebay_pipeline_free(forebay_pipeline* pipeline) { delete pipeline; }

forebay_status forebay_pipeline_add_resize(
    forebay_pipeline* pipeline, uint32_t height, uint32_t width,
    uint32_t max_size, forebay_interpolation interpolation) {
  return Guard(pipeline != nullptr, [&] {
    return pipeline->encoder.AddResize(height, width, max_size, interpolation);
  });
}

forebay_status forebay_pipeline_add_center_crop(forebay_pipeline* pipeline,
                                                uint32_t height,
                                                uint32_t width) {
  return Guard(pipeline != nullptr,
               [&] { return pipeline->encoder.AddCenterCrop(height, width); });
}

forebay_status forebay_pipeline_add_random_crop(forebay_pipeline* pipeline,
                                                uint32_t height, uint32_t width,
                                                const forebay_padding* padding,
                                                int pad_if_needed) {
  return Guard(pipeline != nullptr, [&] {
    return pipeline->encoder.AddRandomCrop(height, width, padding,
                                           pad_if_needed != 0);
  });
}

forebay_status forebay_pipeline_add_random_resized_crop(
    forebay_pipeline* pipeline, uint32_t height, uint32_t width,
    forebay_range scale, forebay_range ratio,
    forebay_interpolation interpolation) {
  return Guard(pipeline != nullptr, [&] {
    return pipeline->encoder.AddRandomResizedCrop(height, width, scale, ratio,
                                                  interpolation);
  });
}

forebay_status forebay_pipeline_add_random_horizontal_flip(
    forebay_pipeline* pipeline, double probability) {
  return Guard(pipeline != nullptr, [&] {
    return pipeline->encoder.AddRandomHorizontalFlip(probability);
  });
}

forebay_status forebay_pipeline_add_random_vertical_flip(
    forebay_pipeline* pipeline, double probability) {
  return Guard(pipeline != nullptr, [&] {
    return pipeline->encoder.AddRandomVerticalFlip(probability);
  });
}

forebay_status forebay_pipeline_add_color_jitter(
    forebay_pipeline* pipeline, const forebay_range* brightness,
    const forebay_range* contrast, const forebay_range* saturation,
    const forebay_range* hue) {
  return Guard(pipeline != nullptr, [&] {
    return pipeline->encoder.AddColorJitter(brightness, contrast, saturation,
                                            hue);
  });
}

forebay_status forebay_pipeline_add_grayscale(forebay_pipeline* pipeline,
                                              uint32_t channels) {
  return Guard(pipeline != nullptr,
               [&] { return pipeline->encoder.AddGrayscale(channels); });
}

forebay_status forebay_pipeline_add_pad(forebay_pipeline* pipeline,
                                        const forebay_padding* padding) {
  return Guard(pipeline != nullptr,
               [&] { return pipeline->encoder.AddPad(padding); });
}

forebay_status forebay_pipeline_add_normalize(forebay_pipeline* pipeline,
                                              const double* mean,
                                              size_t mean_count,
                                              const double* std,
                                              size_t std_count) {
  return Guard(pipeline != nullptr, [&] {
    return pipeline->encoder.AddNormalize(mean, mean_count, std, std_count);
  });
}

forebay_status forebay_pipeline_add_normalize_axis(
    forebay_pipeline* pipeline, const double* mean, size_t mean_count,
    const double* std, size_t std_count, int32_t axis) {
  return Guard(pipeline != nullptr, [&] {
    return pipeline->encoder.AddNormalize(mean, mean_count, std, std_count,
                                          axis);
  });
}

forebay_status forebay_pipeline_add_decode(forebay_pipeline* pipeline,
                                           int scaled) {
  return Guard(pipeline != nullptr, [&] {
    pipeline->encoder.AddDecode(scaled != 0);
    return Status();
  });
}

forebay_status forebay_pipeline_add_exif_transpose(forebay_pipeline* pipeline) {
  return Guard(pipeline != nullptr, [&] {
    pipeline->encoder.AddExifTranspose();
    return Status();
  });
}

forebay_status forebay_pipeline_add_slice(forebay_pipeline* pipeline,
                                          int64_t start, const int64_t* stop,
                                          int32_t axis) {
  return Guard(pipeline != nullptr, [&] {
    pipeline->encoder.AddSlice(start, stop, axis);
    return Status();
  });
}

forebay_status forebay_pipeline_add_random_window(forebay_pipeline* pipeline,
                                                  uint64_t length, int32_t axis,
                                                  int pad_if_needed) {
  return Guard(pipeline != nullptr, [&] {
    return pipeline->encoder.AddRandomWindow(length, axis, pad_if_needed != 0);
  });
}

forebay_status forebay_pipeline_add_transpose(forebay_pipeline* pipeline,
                                              const uint32_t* order,
                                              size_t rank) {
  return Guard(pipeline != nullptr,
               [&] { return pipeline->encoder.AddTranspose(order, rank); });
}

forebay_status forebay_pipeline_add_array(forebay_pipeline* pipeline,
                                          const char* field,
                                          const forebay_pipeline* transforms) {
  return Guard(pipeline != nullptr && field != nullptr &&
                   transforms != nullptr && transforms != pipeline,
               [&] {
                 pipeline->encoder.AddArray(field, transforms->encoder);
                 return Status();
               });
}

forebay_status forebay_pipeline_add_to_dtype(forebay_pipeline* pipeline,
                                             forebay_dtype dtype, int scale) {
  return Guard(pipeline != nullptr,
               [&] { return pipeline->encoder.AddToDtype(dtype, scale != 0); });
}

forebay_status forebay_pipeline_add_to_image(forebay_pipeline* pipeline,
                                             forebay_layout layout) {
  return Guard(pipeline != nullptr,
               [&] { return pipeline->encoder.AddToImage(layout); });
}
