#ifndef FOREBAY_CLIENT_WIRE_PLACEMENT_CODEC_H_
#define FOREBAY_CLIENT_WIRE_PLACEMENT_CODEC_H_

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>

namespace forebay::client::wire {

// The ops that the trainer still has to run on images, as proto.Tail says. Its
// numbers are the daemon's and not checked; core::ImageTail checks them.
struct Tail {
  std::uint64_t dtype = 0;     // a proto.DataType
  std::uint64_t layout = 0;    // a proto.ToImage.Layout
  std::uint64_t channels = 0;  // 0: images come finished
  // The element that each value 0 to 255 becomes, for one channel after the
  // other, little-endian.
  std::string table;
};

// The daemon's answer to the wish for batches on a GPU.
struct LoaderPlacement {
  std::string gpu_uuid;            // empty: batches lie on the host
  std::string refusal;             // why they do, if a GPU was wanted
  std::uint64_t device_bytes = 0;  // bytes of a slot's part on the GPU
  Tail tail;
};

// Reads a proto.LoaderPlacement. Throws a protozero::exception if it is
// malformed.
LoaderPlacement ReadPlacement(protozero::pbf_reader reader);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_PLACEMENT_CODEC_H_
