#ifndef FOREBAY_CLIENT_WIRE_PIPELINE_CODEC_H_
#define FOREBAY_CLIENT_WIRE_PIPELINE_CODEC_H_

#include <string>
#include <string_view>

#include "client/base/status.h"
#include "client/forebay.h"

namespace forebay::client::wire {

// Writes a proto.PipelineSpec, op by op, in the order of the calls. The methods
// stand for the functions forebay_pipeline_add_* in forebay.h.
//
// One thread at a time. Owns the bytes. Never blocks. Errors: INVALID_ARGUMENT
// for what cannot be written (unknown enums, null pointers); the daemon checks
// the rest when a loader is opened.
class PipelineEncoder {
 public:
  Status AddResize(uint32_t height, uint32_t width, uint32_t max_size,
                   forebay_interpolation interpolation);
  Status AddCenterCrop(uint32_t height, uint32_t width);
  Status AddRandomCrop(uint32_t height, uint32_t width,
                       const forebay_padding* padding, bool pad_if_needed);
  Status AddRandomResizedCrop(uint32_t height, uint32_t width,
                              forebay_range scale, forebay_range ratio,
                              forebay_interpolation interpolation);
  Status AddRandomHorizontalFlip(double probability);
  Status AddRandomVerticalFlip(double probability);
  Status AddColorJitter(const forebay_range* brightness,
                        const forebay_range* contrast,
                        const forebay_range* saturation,
                        const forebay_range* hue);
  Status AddGrayscale(uint32_t channels);
  Status AddPad(const forebay_padding* padding);
  Status AddNormalize(const double* mean, size_t mean_count, const double* std,
                      size_t std_count);
  // Normalizes arrays: the values stand for the indexes of axis `axis`.
  Status AddNormalize(const double* mean, size_t mean_count, const double* std,
                      size_t std_count, int32_t axis);
  Status AddToDtype(forebay_dtype dtype, bool scale);
  Status AddToImage(forebay_layout layout);
  // Adds a slice; `stop`: null for the axis's end.
  void AddSlice(int64_t start, const int64_t* stop, int32_t axis);
  Status AddRandomWindow(uint64_t length, int32_t axis, bool pad_if_needed);
  Status AddTranspose(const uint32_t* order, size_t rank);
  // Adds the ops of field `field`, which are those of another pipeline.
  void AddArray(std::string_view field, const PipelineEncoder& ops);
  void AddDecode(bool scaled);
  void AddExifTranspose();
  void AddUserCode(std::string_view identity, forebay_dtype dtype,
                   const uint64_t* shape, size_t rank, bool finished);

  // Adds an op whose message the caller has serialized. `number` is the
  // message's field number in proto.Op.
  void AddMessage(uint32_t number, std::string_view message);

  // Returns the serialized proto.PipelineSpec so far.
  const std::string& bytes() const { return bytes_; }

 private:
  // Adds a normalization. `axis`: null for images, whose channels are meant.
  Status AppendNormalize(const double* mean, size_t mean_count,
                         const double* std, size_t std_count,
                         const int32_t* axis);

  std::string bytes_;
};

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_PIPELINE_CODEC_H_
