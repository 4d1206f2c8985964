#ifndef FOREBAY_SERVER_PIPELINE_DECODE_JPEG_MARKERS_H_
#define FOREBAY_SERVER_PIPELINE_DECODE_JPEG_MARKERS_H_

#include <cstddef>
#include <cstdint>

namespace forebay::pipeline::decode {

// Whether `marker` is a restart marker, RST0 to RST7 (ITU-T T.81, Table B.1).
// Decoding resumes at such a marker.
bool IsRestart(int marker);

// Finds, in entropy-coded bytes, the first marker that is not a restart marker.
// Returns the marker's second byte. Returns 0 if there is no such marker.
// Thread-safe; never blocks; no errors.
int MarkerAfter(const std::uint8_t* data, std::size_t size);

}  // namespace forebay::pipeline::decode

#endif  // FOREBAY_SERVER_PIPELINE_DECODE_JPEG_MARKERS_H_
