#ifndef FOREBAY_CLIENT_WIRE_PIPELINE_CODEC_H_
#define FOREBAY_CLIENT_WIRE_PIPELINE_CODEC_H_

#include <string>
#include <string_view>

#include "client/base/status.h"
#include "client/forebay.h"

namespace forebay::client::wire {

// Writes a proto.PipelineSpec, op by op. Checks what cannot be written (enums,
// null pointers); the daemon checks what an op means. One thread at a time.
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
  // Of arrays, the values are of an axis.
  Status AddNormalize(const double* mean, size_t mean_count, const double* std,
                      size_t std_count, int32_t axis);
  Status AddToDtype(forebay_dtype dtype, bool scale);
  Status AddToImage(forebay_layout layout);
  // `stop`: null for the axis's end.
  void AddSlice(int64_t start, const int64_t* stop, int32_t axis);
  Status AddRandomWindow(uint64_t length, int32_t axis, bool pad_if_needed);
  Status AddTranspose(const uint32_t* order, size_t rank);
  // The ops of a field of arrays.
  void AddArray(std::string_view field, const PipelineEncoder& ops);
  void AddDecode(bool scaled);
  void AddExifTranspose();
  void AddUserCode(std::string_view identity, forebay_dtype dtype,
                   const uint64_t* shape, size_t rank, bool finished);

  // An op that is written elsewhere: the message of that number in proto.Op.
  void AddMessage(uint32_t number, std::string_view message);

  // The serialized proto.PipelineSpec so far.
  const std::string& bytes() const { return bytes_; }

 private:
  // `axis`: null for none.
  Status AppendNormalize(const double* mean, size_t mean_count,
                         const double* std, size_t std_count,
                         const int32_t* axis);

  std::string bytes_;
};

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_PIPELINE_CODEC_H_
