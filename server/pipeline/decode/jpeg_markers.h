#ifndef FOREBAY_SERVER_PIPELINE_DECODE_JPEG_MARKERS_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_JPEG_MARKERS_H_

#include <cstddef>
#include <cstdint>

namespace forebay::pipeline::decode {

// Whether a decoder of a JPEG resumes at that marker (RST0 to RST7).
bool IsRestart(int marker);

// Returns the second byte of the next marker in entropy-coded bytes that is not
// a restart marker, or 0 if none follows. Thread-safe; never blocks; no errors.
int MarkerAfter(const std::uint8_t* data, std::size_t size);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_JPEG_MARKERS_H_
