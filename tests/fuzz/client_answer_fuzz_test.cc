// Fuzzes the answers of a daemon. If both the client and protobuf accept an
// answer, they find the same content.

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/session.message.h"
#include "proto/session.pb.h"
#include "tests/fuzz/require.h"

namespace {

template <typename Struct, typename Protobuf>
void Compare(std::string_view bytes) {
  Struct received;
  if (!Parse(bytes, &received)) return;
  Protobuf message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return;
  message.DiscardUnknownFields();
  forebay::fuzz::Require(Serialize(received) == message.SerializeAsString());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Compare<forebay::message::DaemonMessage, forebay::proto::DaemonMessage>(
      bytes);
  Compare<forebay::message::ClassList, forebay::proto::ClassList>(bytes);
  Compare<forebay::message::ClientMessage, forebay::proto::ClientMessage>(
      bytes);
  return 0;
}
