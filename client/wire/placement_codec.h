#ifndef FOREBAY_CLIENT_WIRE_PLACEMENT_CODEC_H_
#define FOREBAY_CLIENT_WIRE_PLACEMENT_CODEC_H_

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>

namespace forebay::client::wire {

// The work that is left to do on images, as proto.Tail says: none if it has no
// channels.
struct Tail {
  std::uint64_t dtype = 0;
  std::uint64_t layout = 0;
  std::uint64_t channels = 0;
  std::string table;
};

struct LoaderPlacement {
  std::string gpu_uuid;
  std::string refusal;
  std::uint64_t device_bytes = 0;
  Tail tail;
};

// Reads a proto.LoaderPlacement. Throws as protozero does if it is none.
LoaderPlacement ReadPlacement(protozero::pbf_reader reader);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_PLACEMENT_CODEC_H_
