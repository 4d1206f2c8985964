#ifndef FOREBAY_SERVER_JOB_STREAM_DIRECTORY_H_
#define FOREBAY_SERVER_JOB_STREAM_DIRECTORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/base/mutex.h"
#include "server/dataset/dataset.h"
#include "server/stream/stream.h"

namespace forebay::job {

// Returns the key that loaders with equal batches have in common: the user, the
// dataset as that user reads it, and all parts of the spec that shape a batch.
// Returns nullopt if the loader cannot share a stream. Thread-safe; never
// blocks.
std::optional<std::string> StreamKey(std::uint32_t uid,
                                     const proto::LoaderSpec& spec,
                                     const dataset::Dataset& dataset);

// The streams that loaders may join, by their StreamKey. A stream lives as long
// as one of its loaders does. Thread-safe. The loader opener owns the
// directory; loaders own the streams. Blocks only while the caller's own `make`
// does. Errors are those of `make`.
class StreamDirectory {
 public:
  using Make = std::function<absl::StatusOr<std::shared_ptr<stream::Stream>>()>;
  // Returns whether the loader may join that stream.
  using Suits = std::function<bool(const stream::Stream& stream)>;

  // Returns the key's newest stream if it suits and has not ended. If not,
  // returns a new stream that `make` has made. A new stream follows the key's
  // earlier streams: their members may continue in the new stream. `make` is
  // called at most once, and delays no other call.
  absl::StatusOr<std::shared_ptr<stream::Stream>> Find(const std::string& key,
                                                       const Suits& suits,
                                                       const Make& make);

 private:
  using Streams = std::vector<std::shared_ptr<stream::Stream>>;

  // Returns the key's streams, the newest at the end.
  Streams Lookup(const std::string& key) ABSL_LOCKS_EXCLUDED(mutex_);
  // Adds the stream `made`, which follows the `earlier` streams. Returns false,
  // and adds nothing, if the key has other streams by now.
  bool Add(const std::string& key,
           const std::shared_ptr<stream::Stream>& stream,
           const Streams& earlier) ABSL_LOCKS_EXCLUDED(mutex_);

  base::Mutex mutex_;
  std::map<std::string, std::vector<std::weak_ptr<stream::Stream>>> streams_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::job

#endif  // FOREBAY_SERVER_JOB_STREAM_DIRECTORY_H_
