#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_OP_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_OP_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/pipeline/transform/drawn.h"
#include "server/pipeline/transform/draws.h"
#include "server/pipeline/transform/scratch.h"

namespace forebay::pipeline::audio {

// An array between two ops: the facts that may differ from sample to sample.
struct Signal {
  // Frames: elements of the first axis, which is the time.
  std::uint64_t frames = 0;
  // Frames per second; 0 if the rate is not known.
  std::uint32_t rate = 0;
  // Number of elements in a frame; 0 if it is the same in all arrays of the
  // field. Only ToMono takes clips that differ in their number of channels.
  std::uint64_t each = 0;
};

// A range of a signal's frames.
struct FrameRange {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

// The most frames of an array.
inline constexpr std::uint64_t kMaxFrames = std::uint64_t{1} << 40;

// An op on float32 arrays in C order, with the time first. The axes behind the
// first are the same for all samples.
//
// Immutable and thread-safe; each thread brings its own draws and scratch. Owns
// its tables; borrows arrays for the call. Never blocks. Equal inputs give
// equal bytes on every CPU of an architecture. An error's message has only the
// reason, without the op's name.
class Op {
 public:
  virtual ~Op() = default;

  // Returns the lengths of the output's axes behind the first one.
  virtual std::vector<std::uint64_t> frame_shape() const = 0;
  // Returns the signal that Run makes from `signal`. A longer signal never has
  // a shorter output. INVALID_ARGUMENT: the signal is too short or too long.
  virtual absl::StatusOr<Signal> OutputOf(const Signal& signal) const = 0;
  // Returns the longest output of any signal that has at most `signal.frames`
  // frames. `signal.rate` is the first sample's rate.
  virtual absl::StatusOr<Signal> LongestOf(const Signal& signal) const {
    return OutputOf(signal);
  }
  // Whether Run may be given the same memory as input and output.
  virtual bool in_place() const { return false; }

  // Makes the random choices for one signal. Only an op whose message has the
  // option `draws` has a random stream of its own, so no other op may draw.
  virtual transform::Drawn Draw(const Signal& /*signal*/,
                                transform::Draws& /*draws*/) const {
    return transform::Drawn();
  }
  // Computes the output of `signal` by the choices `drawn` into `out`, which
  // has room for OutputOf(signal). `in` has the signal's elements.
  // RESOURCE_EXHAUSTED: there is too little scratch.
  virtual absl::Status Run(const float* in, const Signal& signal,
                           const transform::Drawn& drawn,
                           transform::Scratch& scratch, float* out) const = 0;

  // Whether RunPart can make a part of the output from a part of the input.
  // Only then may InputFor and RunPart be called.
  virtual bool makes_parts() const { return false; }
  // Returns the frames of `signal` from which the frames `part` of the output
  // are made.
  virtual absl::StatusOr<FrameRange> InputFor(const Signal& /*signal*/,
                                              const FrameRange& part) const {
    return part;
  }
  // Fills `out` with the frames `part` of the output; the numbers are the same
  // as Run's. `in` has the frames InputFor(signal, part) of the input. Errors
  // are Run's.
  virtual absl::Status RunPart(const float* in, const Signal& signal,
                               const FrameRange& part,
                               const transform::Drawn& drawn,
                               transform::Scratch& scratch, float* out) const {
    Signal as_long_as_part = signal;
    as_long_as_part.frames = part.length;
    return Run(in, as_long_as_part, drawn, scratch, out);
  }
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_OP_H_
