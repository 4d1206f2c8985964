#include "client/wire/order_codec.h"

#include <protozero/pbf_builder.hpp>

#include "client/wire/wire_types.h"

namespace forebay::client::wire {
namespace {

// Field numbers of proto.DrawOrder in proto/session.proto.
enum class PartTag : protozero::pbf_tag_type {
  kSampler = 1,
  kDatasetSize = 2,
  kEpoch = 3,
  kFirst = 4,
  kCount = 5,
};

}  // namespace

std::string EncodeOrderPart(const OrderPart& part, std::string_view sampler) {
  std::string bytes;
  protozero::pbf_builder<PartTag> message(bytes);
  message.add_message(PartTag::kSampler, sampler.data(), sampler.size());
  message.add_uint64(PartTag::kDatasetSize, part.dataset_size);
  message.add_uint64(PartTag::kEpoch, part.epoch);
  message.add_uint64(PartTag::kFirst, part.first);
  message.add_uint32(PartTag::kCount, part.count);
  return bytes;
}

OrderDrawn ReadOrderDrawn(protozero::pbf_reader reader) {
  OrderDrawn drawn;
  while (reader.next()) {
    if (IsBytes(reader, 1)) {
      const auto samples = reader.get_packed_uint64();
      drawn.samples.assign(samples.begin(), samples.end());
    } else {
      reader.skip();
    }
  }
  return drawn;
}

}  // namespace forebay::client::wire
