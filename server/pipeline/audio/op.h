#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_OP_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_OP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/pipeline/transform/draws.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline::audio {

// The arrays between two ops, as far as they differ from sample to sample.
struct Signal {
  std::uint64_t frames = 0;  // along the first axis, which is the time
  std::uint32_t rate = 0;    // frames a second; 0: not known
  // Elements of a frame; 0: as many as all arrays have. Only ToMono takes clips
  // of other numbers of channels than the first one's.
  std::uint64_t each = 0;
};

// Some frames of a signal, one behind the other.
struct FrameRange {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

// No array is longer.
inline constexpr std::uint64_t kMaxFrames = std::uint64_t{1} << 40;

// An op on float32 arrays in C order, the time first. What each frame of them
// has is the same for all samples. Immutable and thread-safe; each thread
// brings its own draws and scratch. Does not block. Equal inputs give equal
// bytes on every CPU of an architecture. Errors give the reason alone.
class Op {
 public:
  virtual ~Op() = default;

  // The lengths of the output's other axes.
  virtual std::vector<std::uint64_t> frame_shape() const = 0;
  // Returns what becomes of `signal`: never fewer frames of more.
  // INVALID_ARGUMENT: it is too short or too long.
  virtual absl::StatusOr<Signal> OutputOf(const Signal& signal) const = 0;
  // Returns the longest that may become of signals of so many frames, whose
  // first has that rate.
  virtual absl::StatusOr<Signal> LongestOf(const Signal& signal) const {
    return OutputOf(signal);
  }
  // Whether Run may get the same memory as its input and output.
  virtual bool in_place() const { return false; }
  // Whether Run draws.
  virtual bool is_random() const { return false; }

  // Fills `out`, which has room for OutputOf(signal). RESOURCE_EXHAUSTED:
  // there is too little scratch.
  virtual absl::Status Run(const float* in, const Signal& signal,
                           transform::Draws& draws, transform::Scratch& scratch,
                           float* out) const = 0;

  // Whether RunPart makes a part of the output from a part of the input.
  virtual bool makes_parts() const { return false; }
  // Returns the frames of `signal` from which those of `part`, which are of the
  // output, are made; if it makes parts.
  virtual absl::StatusOr<FrameRange> InputFor(const Signal& /*signal*/,
                                              const FrameRange& part) const {
    return part;
  }
  // Fills `out` with the very numbers that Run gives there. `in` has
  // InputFor(signal, part). Errors are Run's.
  virtual absl::Status RunPart(const float* in, const Signal& signal,
                               const FrameRange& part, transform::Draws& draws,
                               transform::Scratch& scratch, float* out) const {
    Signal as_long_as_part = signal;
    as_long_as_part.frames = part.length;
    return Run(in, as_long_as_part, draws, scratch, out);
  }
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_OP_H_
