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

// More than the largest dataset of parts takes, with all fields of each, and a
// long pipeline.
constexpr int kMaxMessages = 20'000;
constexpr int kMaxDepth = 100;  // the parser's limit
// Bytes that a number takes in a growing array.
constexpr std::uint64_t kNumberBytes = 3 * sizeof(std::uint64_t);
// Bytes that a string and the pointer to it take in one.
constexpr std::uint64_t kTextBytes =
    sizeof(std::string) + 3 * sizeof(void*) + base::HeapBytes(0);

// One walk through a message.
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

  // `field` is null where the type has no such field.
  absl::Status Piece(const FieldDescriptor* field, int depth) {
    int length = 0;
    if (!input_.ReadVarintSizeAsInt(&length)) return Malformed();
    if (field != nullptr && field->message_type() != nullptr) {
      const auto limit = input_.PushLimit(length);
      FOREBAY_RETURN_IF_ERROR(Fields(field->message_type(), depth + 1));
      input_.PopLimit(limit);
      return absl::OkStatus();
    }
    // Each packed number has at least one byte.
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
