#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_OP_READER_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_OP_READER_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/job.pb.h"
#include "server/pipeline/audio/op.h"

namespace forebay::pipeline::audio {

// The arrays that an op gets.
struct Input {
  std::vector<std::uint64_t> frame_shape;  // without the first axis
  std::uint32_t rate = 0;                  // the first one's; 0: not known
};

// Whether `op` is one of audio.
bool IsAudioOp(const proto::Op& op);

// Makes an op of audio. INVALID_ARGUMENT: a parameter is not within the ranges
// of job.proto, or the op is not for such arrays; without the op's name.
// Thread-safe; never blocks.
absl::StatusOr<std::unique_ptr<const Op>> ReadOp(const proto::Op& op,
                                                 const Input& input);

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_OP_READER_H_
