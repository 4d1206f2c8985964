#ifndef FOREBAY_CLIENT_WIRE_ORDER_CODEC_H_
#define FOREBAY_CLIENT_WIRE_ORDER_CODEC_H_

// Writes and reads the messages about orders of proto/session.proto.

#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace forebay::client::wire {

// A part of an epoch's order.
struct OrderPart {
  std::uint64_t dataset_size = 0;  // samples of the dataset
  std::uint64_t epoch = 0;
  std::uint64_t first = 0;  // the first place among the rank's samples
  std::uint32_t count = 0;  // places wanted
};

// The daemon's answer: the sample numbers at these places, fewer where the
// order ends.
struct OrderDrawn {
  std::vector<std::uint64_t> samples;
};

// Returns a serialized proto.DrawOrder; `sampler` is a serialized
// proto.SamplerSpec.
std::string EncodeOrderPart(const OrderPart& part, std::string_view sampler);

// Reads a proto.OrderDrawn. Throws a protozero::exception if it is malformed.
OrderDrawn ReadOrderDrawn(protozero::pbf_reader reader);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_ORDER_CODEC_H_
