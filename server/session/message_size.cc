#include "server/session/message_size.h"

#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/message.h"
#include "google/protobuf/wire_format_lite.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"

namespace forebay::session {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The most messages within a message. The largest dataset of parts needs fewer,
// even if each part has all fields and the pipeline is long.
constexpr int kMaxMessages = 30'000;
// The deepest nesting, which is the limit of protobuf's parser.
constexpr int kMaxDepth = 100;
// The most bytes that a number takes in a repeated field. While the field's
// array grows to twice its size, the old and the new array both exist.
constexpr std::uint64_t kNumberBytes = 3 * sizeof(std::uint64_t);
// The most bytes that a string takes in a repeated field besides its text. They
// include the string's pointer in the field's growing array.
constexpr std::uint64_t kTextBytes =
    sizeof(std::string) + 3 * sizeof(void*) + base::HeapBytes(0);

// A walk through one message by protobuf's wire format. Adds up the most memory
// that the parsed message can take, in whatever order the fields come.
class Walk {
 public:
  explicit Walk(std::string_view wire)
      : input_(reinterpret_cast<const std::uint8_t*>(wire.data()),
               static_cast<int>(wire.size())) {}

  absl::StatusOr<std::uint64_t> Message(const Descriptor* type) {
    FOREBAY_RETURN_IF_ERROR(Fields(type, 0));
    return bytes_;
  }

 private:
  static absl::Status Malformed() {
    return absl::InvalidArgumentError("is malformed");
  }

  // Walks through the fields up to the stream's current limit.
  absl::Status Fields(const Descriptor* type, int depth) {
    if (depth > kMaxDepth) {
      return absl::InvalidArgumentError(
          absl::StrCat("is nested more than ", kMaxDepth, " deep"));
    }
    if (++messages_ > kMaxMessages) {
      return absl::InvalidArgumentError(absl::StrCat(
          "is made of more than ", kMaxMessages, " parts and ops"));
    }
    bytes_ +=
        base::HeapBytes(google::protobuf::MessageFactory::generated_factory()
                            ->GetPrototype(type)
                            ->SpaceUsedLong()) +
        3 * sizeof(void*);
    while (input_.BytesUntilLimit() != 0) {
      const std::uint32_t tag = input_.ReadTag();
      if (tag == 0)
        return input_.ConsumedEntireMessage() ? absl::OkStatus() : Malformed();
      FOREBAY_RETURN_IF_ERROR(Field(type, tag, depth));
    }
    return absl::OkStatus();
  }

  absl::Status Field(const Descriptor* type, std::uint32_t tag, int depth) {
    bytes_ += kNumberBytes;
    std::uint64_t number = 0;
    std::uint32_t four = 0;
    switch (WireFormatLite::GetTagWireType(tag)) {
      case WireFormatLite::WIRETYPE_VARINT:
        return input_.ReadVarint64(&number) ? absl::OkStatus() : Malformed();
      case WireFormatLite::WIRETYPE_FIXED64:
        return input_.ReadLittleEndian64(&number) ? absl::OkStatus()
                                                  : Malformed();
      case WireFormatLite::WIRETYPE_FIXED32:
        return input_.ReadLittleEndian32(&four) ? absl::OkStatus()
                                                : Malformed();
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return Piece(
            type->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag)),
            depth);
      default:
        return Malformed();  // groups: this protocol has none
    }
  }

  // Counts a length-delimited field: a message, packed numbers or a string.
  // `field` is null if the type does not have it; unknown fields count as
  // strings.
  absl::Status Piece(const FieldDescriptor* field, int depth) {
    int length = 0;
    if (!input_.ReadVarintSizeAsInt(&length)) return Malformed();
    if (field != nullptr && field->message_type() != nullptr) {
      const auto limit = input_.PushLimit(length);
      FOREBAY_RETURN_IF_ERROR(Fields(field->message_type(), depth + 1));
      input_.PopLimit(limit);
      return absl::OkStatus();
    }
    // A packed number has at least one byte on the wire.
    bytes_ += field != nullptr && field->is_packable() ? length * kNumberBytes
                                                       : length + kTextBytes;
    return input_.Skip(length) ? absl::OkStatus() : Malformed();
  }

  CodedInputStream input_;
  std::uint64_t bytes_ = 0;
  int messages_ = 0;
};

}  // namespace

absl::StatusOr<std::uint64_t> ParsedSize(std::string_view wire,
                                         const Descriptor* type) {
  if (wire.size() > std::numeric_limits<int>::max()) {
    return absl::InvalidArgumentError("is too large");
  }
  return Walk(wire).Message(type);
}

}  // namespace forebay::session
