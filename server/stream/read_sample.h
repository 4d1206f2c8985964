#ifndef FOREBAY_SERVER_STREAM_READ_SAMPLE_H_
#define FOREBAY_SERVER_STREAM_READ_SAMPLE_H_

#include "absl/status/status.h"
#include "server/base/bytes.h"
#include "server/stream/batch.h"

namespace forebay::stream {

// A sample that was read, on its way through the tasks that make it.
struct ReadSample {
  PendingSample* pending = nullptr;
  // The bytes that were read.
  base::Bytes bytes;
  // Whether the sample was made; false if its batch was abandoned.
  bool is_made = false;
  // Whether the sample's image is in its user-code buffer.
  bool laid = false;
  // Whether a worker was asked to make the sample.
  bool asked = false;
  // Whether the sample needs more memory than a thread's workspace has.
  bool too_large = false;
  // Whether the sample was lost with its worker, and is to be made again.
  bool lost = false;
  // Whether the sample failed because there is no worker. Another sample would
  // fail too, so none takes its row.
  bool refused = false;
  // The error if the sample failed.
  absl::Status status;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_READ_SAMPLE_H_
