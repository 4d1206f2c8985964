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

// What two loaders must have in common to get the same batches, and to be
// allowed to: the user, the dataset as that user reads it, and all of the spec
// that shapes a batch. nullopt: this loader shares with nobody.
std::optional<std::string> StreamKey(std::uint32_t uid,
                                     const proto::LoaderSpec& spec,
                                     const dataset::Dataset& dataset);

// The streams that loaders may join, by that key. A stream is there as long as
// a loader holds it. Thread-safe; owns no stream. Blocks for no longer than
// making a stream does, which does not block. Errors are those of `make`.
class StreamDirectory {
 public:
  using Make = std::function<absl::StatusOr<std::shared_ptr<stream::Stream>>()>;

  // The stream of the key or, if there is none, what `make` makes.
  absl::StatusOr<std::shared_ptr<stream::Stream>> Find(const std::string& key,
                                                       const Make& make);

 private:
  base::Mutex mutex_;
  std::map<std::string, std::weak_ptr<stream::Stream>> streams_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_STREAM_DIRECTORY_H_
