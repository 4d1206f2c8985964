#ifndef FOREBAY_CLIENT_WIRE_REQUEST_H_
#define FOREBAY_CLIENT_WIRE_REQUEST_H_

// Writes a proto.ClientMessage around the body of a request.

#include <cstdint>
#include <protozero/pbf_builder.hpp>
#include <string>
#include <string_view>

namespace forebay::client::wire {

// Field numbers of proto.ClientMessage in proto/session.proto.
enum class RequestTag : protozero::pbf_tag_type {
  kRequestId = 1,
  kHello = 2,
  kOpenLoader = 3,
  kStartEpoch = 4,
  kStopEpoch = 5,
  kCloseLoader = 6,
  kGetStats = 7,
  kGetSlots = 8,
  kOpenReader = 10,
  kFetch = 11,
  kStartWorkers = 14,
  kReadObject = 16,
  kDrawOrder = 18,
};

// Returns a serialized proto.ClientMessage. `write` receives the builder of its
// body, whose field number is `tag`.
template <typename BodyTag, typename Write>
std::string Request(RequestTag tag, std::uint64_t request_id,
                    const Write& write) {
  std::string bytes;
  {
    protozero::pbf_builder<RequestTag> request(bytes);
    request.add_uint64(RequestTag::kRequestId, request_id);
    protozero::pbf_builder<BodyTag> body(request, tag);
    write(body);
  }
  return bytes;
}

// Returns a serialized proto.ClientMessage around a serialized body.
inline std::string WithBody(RequestTag tag, std::uint64_t request_id,
                            std::string_view body) {
  std::string bytes;
  protozero::pbf_builder<RequestTag> request(bytes);
  request.add_uint64(RequestTag::kRequestId, request_id);
  request.add_message(tag, body.data(), body.size());
  return bytes;
}

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_REQUEST_H_
