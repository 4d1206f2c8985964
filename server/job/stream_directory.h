#ifndef FOREBAY_SERVER_JOB_STREAM_DIRECTORY_H_
#define FOREBAY_SERVER_JOB_STREAM_DIRECTORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/base/mutex.h"
#include "server/dataset/dataset.h"
#include "server/stream/stream.h"

namespace forebay::job {

// Returns the key that loaders with equal batches have in common: the user, the
// dataset as that user reads it, and all of the spec that shapes a batch.
// Returns nullopt if the loader may share with no other.
std::optional<std::string> StreamKey(std::uint32_t uid,
                                     const proto::LoaderSpec& spec,
                                     const dataset::Dataset& dataset);

// The streams that loaders may join, by that key. A stream lives as long as a
// loader holds it. Thread-safe; owns no stream. Does not block unless `make`
// does. Errors: those of `make`.
class StreamDirectory {
 public:
  using Make = std::function<absl::StatusOr<std::shared_ptr<stream::Stream>>()>;

  // Returns the stream of the key or, if there is none or it has ended, what
  // `make` makes.
  absl::StatusOr<std::shared_ptr<stream::Stream>> Find(const std::string& key,
                                                       const Make& make);

 private:
  base::Mutex mutex_;
  std::map<std::string, std::weak_ptr<stream::Stream>> streams_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_STREAM_DIRECTORY_H_
