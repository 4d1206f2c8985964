#ifndef FOREBAY_SERVER_STREAM_DECODE_COSTS_H_
#define FOREBAY_SERVER_STREAM_DECODE_COSTS_H_

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"

namespace forebay::stream {

// Measures the CPU time that a stream's images take, as running means of three
// ways: from the encoded bytes, decoding only what the sample shows; from the
// encoded bytes, making the variant for others too; and from that variant.
//
// Thread-safe; never blocks; no errors.
class DecodeCosts {
 public:
  struct Appraisal {
    std::int64_t saves_nanos =
        0;  // by who has the variant; not positive: nothing
    std::int64_t costs_nanos = 0;  // besides, to who makes it; not negative
  };

  void AddEncoded(std::int64_t nanos);
  // `rest_nanos` of them after the variant was made.
  void AddKept(std::int64_t nanos, std::int64_t rest_nanos);
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
    std::uint32_t count_ = 0;  // up to what the mean remembers
  };

  mutable base::Mutex mutex_;
  Mean encoded_ ABSL_GUARDED_BY(mutex_);
  Mean kept_ ABSL_GUARDED_BY(mutex_);
  Mean from_variant_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_DECODE_COSTS_H_
