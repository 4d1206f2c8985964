#ifndef FOREBAY_SERVER_STREAM_READ_SAMPLE_H_
#define FOREBAY_SERVER_STREAM_READ_SAMPLE_H_

#include "absl/status/status.h"
#include "server/base/bytes.h"
#include "server/stream/batch.h"

namespace forebay::stream {

// A sample that was read.
struct ReadSample {
  PendingSample* pending = nullptr;
  base::Bytes bytes;
  bool made = false;       // false if it was abandoned
  bool laid = false;       // its image, on the desk of the user's code
  bool asked = false;      // a producer was, for it
  bool too_large = false;  // for the worker's workspace
  bool lost = false;       // with its producer: it is to be made again
  bool refused = false;    // no producer could be had, for any sample
  absl::Status status;     // of making it
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_READ_SAMPLE_H_
