#include "server/dataset/hdf5/object_header.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

// An object header is a chain of blocks with messages (HDF5 File Format
// Specification v3.0 IV.A.1). Version 1 has a prefix of 16 bytes before its
// first block, and no checksums. In version 2, each block has a signature and a
// checksum. Further blocks are found by Object Header Continuation messages
// (IV.A.2.q), which Add collects while the blocks are read.

namespace forebay::dataset::hdf5 {
namespace {

// Limits on the memory that a header can take: continuations may lead in a
// circle, and a message may have no bytes.
constexpr std::size_t kMostBlocks = 256;
constexpr std::size_t kMostMessages = std::size_t{1} << 16;

constexpr std::uint8_t kShared = 0x02;  // bit 1 of a message's flags

// Returns the name of a message type that is read even if the message is
// shared. The name is empty for all other types.
std::string_view NameOfShared(MessageType type) {
  switch (type) {
    case MessageType::kDataspace:
      return "shape";
    case MessageType::kDatatype:
      return "type";
    case MessageType::kOldFillValue:
    case MessageType::kFillValue:
      return "fill value";
    case MessageType::kFilters:
      return "filters";
    default:
      return {};
  }
}

// Reads one object header. The view keeps the bytes, so that reading the header
// again is cheap.
class Header {
 public:
  explicit Header(FileView& file) : file_(file) {}

  absl::StatusOr<std::vector<Message>> Read(std::uint64_t address) {
    FOREBAY_ASSIGN_OR_RETURN(const Bytes start, file_.At(address, 4));
    if (ByteCursor(start).TakeSignature("OHDR")) {
      FOREBAY_RETURN_IF_ERROR(ReadNew(address));
    } else if (start[0] == 1) {
      FOREBAY_RETURN_IF_ERROR(ReadOld(address));
    } else {
      return absl::DataLossError(absl::StrCat(
          "is damaged: at address ", address, " there is no object's header"));
    }
    return std::move(messages_);
  }

 private:
  // A continuation block: its address and its bytes.
  struct Block {
    std::uint64_t address = 0;
    std::uint64_t length = 0;
  };

  static absl::Status Damaged() {
    return absl::DataLossError("is damaged: an object's header has no end");
  }

  // Reads a header of version 1. A message has a type, a size, flags and three
  // reserved bytes before its body.
  absl::Status ReadOld(std::uint64_t address) {
    constexpr std::uint64_t kPrefix = 16;
    FOREBAY_ASSIGN_OR_RETURN(const Bytes prefix, file_.At(address, kPrefix));
    ByteCursor cursor(prefix);
    cursor.Skip(8);
    const std::uint64_t length = cursor.Take(4);
    blocks_.push_back({address + kPrefix, length});
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_.size() > kMostBlocks) return Damaged();
      FOREBAY_ASSIGN_OR_RETURN(const Bytes bytes,
                               file_.At(blocks_[i].address, blocks_[i].length));
      ByteCursor messages(bytes, file_.widths());
      while (messages.rest().size() >= 8) {
        const std::uint64_t type = messages.Take(2);
        const std::uint64_t size = messages.Take(2);
        const std::uint64_t flags = messages.Take(1);
        messages.Skip(3);
        FOREBAY_RETURN_IF_ERROR(Add(type, flags, size, messages));
      }
    }
    return absl::OkStatus();
  }

  // Reads a header of version 2. The flags of the header's prefix say which
  // fields follow: times (bit 5), limits of attributes (bit 4), and the width
  // of the first block's size (bits 0 and 1). Bit 2 gives each message a
  // creation order.
  absl::Status ReadNew(std::uint64_t address) {
    constexpr std::uint64_t kLongestPrefix = 34;
    constexpr std::uint64_t kChecksum = 4;
    const std::uint64_t there =
        address < file_.size() ? file_.size() - address : 0;
    FOREBAY_ASSIGN_OR_RETURN(
        const Bytes start, file_.At(address, std::min(there, kLongestPrefix)));
    ByteCursor prefix(start);
    prefix.Skip(4);
    const std::uint64_t version = prefix.Take(1);
    const std::uint64_t flags = prefix.Take(1);
    if (version != 2) {
      return absl::UnimplementedError(absl::StrCat(
          "has an object's header of version ", version, ", not 1 or 2"));
    }
    if ((flags & 0x20) != 0) prefix.Skip(16);
    if ((flags & 0x10) != 0) prefix.Skip(4);
    const std::uint64_t length = prefix.Take(std::size_t{1} << (flags & 3));
    if (!prefix.ok() || length > file_.size()) return Damaged();
    const std::uint64_t skip = start.size() - prefix.rest().size();
    const bool has_order = (flags & 0x04) != 0;
    FOREBAY_ASSIGN_OR_RETURN(
        ByteCursor first,
        file_.Checked(address, skip + length + kChecksum, "OHDR"));
    first.Skip(skip - 4);
    FOREBAY_RETURN_IF_ERROR(TakeNew(first, has_order));
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      if (blocks_.size() > kMostBlocks || blocks_[i].length < 8)
        return Damaged();
      FOREBAY_ASSIGN_OR_RETURN(
          ByteCursor next,
          file_.Checked(blocks_[i].address, blocks_[i].length, "OCHK"));
      FOREBAY_RETURN_IF_ERROR(TakeNew(next, has_order));
    }
    return absl::OkStatus();
  }

  // Takes the messages of a block of version 2. A gap at its end is shorter
  // than a message's prefix.
  absl::Status TakeNew(ByteCursor& messages, bool has_order) {
    const std::uint64_t prefix = has_order ? 6 : 4;
    while (messages.rest().size() >= prefix) {
      const std::uint64_t type = messages.Take(1);
      const std::uint64_t size = messages.Take(2);
      const std::uint64_t flags = messages.Take(1);
      if (has_order) messages.Skip(2);
      FOREBAY_RETURN_IF_ERROR(Add(type, flags, size, messages));
    }
    return absl::OkStatus();
  }

  // Takes the body of one message. Adds the message to messages_ or, if it is a
  // continuation, its block to blocks_.
  absl::Status Add(std::uint64_t type, std::uint64_t flags, std::uint64_t size,
                   ByteCursor& messages) {
    Message message{static_cast<MessageType>(type), messages.TakeBytes(size)};
    if (!messages.ok() || messages_.size() >= kMostMessages) return Damaged();
    if (message.type == MessageType::kContinuation) {
      ByteCursor cursor(message.body, file_.widths());
      const std::uint64_t address = cursor.TakeAddress();
      const std::uint64_t length = cursor.TakeLength();
      if (!cursor.ok()) return Damaged();
      blocks_.push_back({address, length});
      return absl::OkStatus();
    }
    if ((flags & kShared) != 0) {
      // Shared messages of other types, such as attributes, are not read.
      if (NameOfShared(message.type).empty()) return absl::OkStatus();
      FOREBAY_ASSIGN_OR_RETURN(message.body, ReadShared(message));
    }
    messages_.push_back(message);
    return absl::OkStatus();
  }

  // Returns the body of the message that a shared message stands for. A named
  // datatype, for instance, is an object of its own, whose header has that
  // message. The message in that header must not be shared itself.
  absl::StatusOr<Bytes> ReadShared(const Message& message) {
    ByteCursor cursor(message.body, file_.widths());
    const std::uint64_t version = cursor.Take(1);
    const std::uint64_t where = cursor.Take(1);
    if (version == 1) cursor.Skip(6);
    const std::uint64_t address = cursor.TakeAddress();
    if (version < 1 || version > 3 || !cursor.ok()) return Damaged();
    if (version == 3 && where == 1) {
      return absl::UnimplementedError(absl::StrCat(
          "has its ", std::string(NameOfShared(message.type)),
          " in a heap of shared messages, which is not read; copy it into a "
          "file without them"));
    }
    if (is_shared_) return Damaged();
    Header other(file_);
    other.is_shared_ = true;
    FOREBAY_ASSIGN_OR_RETURN(const std::vector<Message> messages,
                             other.Read(address));
    const Message* const original = FindMessage(messages, message.type);
    if (original == nullptr) return Damaged();
    return original->body;
  }

  FileView& file_;
  // Whether this header is read to find the body of a shared message.
  bool is_shared_ = false;
  // Continuation blocks in the order in which they were found.
  std::vector<Block> blocks_;
  std::vector<Message> messages_;
};

}  // namespace

absl::StatusOr<std::vector<Message>> ReadMessages(FileView& file,
                                                  std::uint64_t address) {
  return Header(file).Read(address);
}

const Message* FindMessage(const std::vector<Message>& messages,
                           MessageType type) {
  for (const Message& message : messages) {
    if (message.type == type) return &message;
  }
  return nullptr;
}

}  // namespace forebay::dataset::hdf5
