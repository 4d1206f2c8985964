#ifndef FOREBAY_CLIENT_WIRE_OBJECT_CODEC_H_
#define FOREBAY_CLIENT_WIRE_OBJECT_CODEC_H_

// Writes and reads the messages about objects of proto/session.proto.

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>

#include "client/forebay_object.h"

namespace forebay::client::wire {

// The daemon's answer to a request for a range of an object.
struct ObjectRead {
  forebay_object_version version = {};
  std::uint64_t bytes = 0;  // bytes of the range in the window
  // Bytes of a new window, whose memfd comes with the answer; 0: the window is
  // the same as before.
  std::uint64_t window_bytes = 0;
};

// Returns a serialized proto.ReadObject.
std::string EncodeObjectRange(const forebay_object_range& range);

// Reads a proto.ObjectRead. Throws a protozero::exception if it is malformed.
ObjectRead ReadObjectRead(protozero::pbf_reader reader);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_OBJECT_CODEC_H_
