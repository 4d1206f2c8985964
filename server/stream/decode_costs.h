#ifndef FOREBAY_SERVER_STREAM_DECODE_COSTS_H_
#define FOREBAY_SERVER_STREAM_DECODE_COSTS_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::stream {

// Measures the CPU time that a stream's images take: a running mean for each of
// three ways to make an image. `encoded_`: decode only the part that the sample
// shows. `whole_variant_`: decode the whole variant, for other readers too, and
// make the image from the variant. `from_variant_`: make the image from a
// cached variant.
//
// Thread-safe. Owns its figures. Blocks only for its own lock. No errors.
class DecodeCosts {
 public:
  // The value of a cached variant, in nanoseconds of CPU time.
  struct Appraisal {
    // The time that a reader of the variant saves; 0 or less if none.
    std::int64_t saves_nanos = 0;
    // The extra time of the thread that makes the variant; at least 0.
    std::int64_t costs_nanos = 0;
  };

  void AddEncoded(std::int64_t nanos);
  // Adds an image whose variant was kept. The image took `nanos` in all;
  // `rest_nanos` of these came after the variant was complete.
  void AddWholeVariant(std::int64_t nanos, std::int64_t rest_nanos);
  void AddFromVariant(std::int64_t nanos);

  Appraisal Appraise() const;

 private:
  class Mean {
   public:
    void Add(std::int64_t nanos);
    double nanos() const { return nanos_; }
    std::uint32_t count() const { return count_; }

   private:
    double nanos_ = 0;
    // The number of values added, up to the number that the mean remembers.
    std::uint32_t count_ = 0;
  };

  mutable base::Mutex mutex_;
  Mean encoded_ ABSL_GUARDED_BY(mutex_);
  Mean whole_variant_ ABSL_GUARDED_BY(mutex_);
  Mean from_variant_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_DECODE_COSTS_H_
