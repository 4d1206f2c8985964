#ifndef FOREBAY_SERVER_DATASET_HDF5_OBJECT_HEADER_H_
#define FOREBAY_SERVER_DATASET_HDF5_OBJECT_HEADER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/byte_cursor.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// The types of header messages that this library reads (HDF5 File Format
// Specification v3.0 IV.A.2). Callers ignore all others.
enum class MessageType : std::uint16_t {
  kDataspace = 0x01,
  kLinkInfo = 0x02,
  kDatatype = 0x03,
  kOldFillValue = 0x04,
  kFillValue = 0x05,
  kLink = 0x06,
  kExternalFiles = 0x07,
  kLayout = 0x08,
  kFilters = 0x0b,
  kContinuation = 0x10,
  kSymbolTable = 0x11,
};

// A message of an object header.
struct Message {
  MessageType type = MessageType::kContinuation;
  // Bytes of the message, valid until FileView::Take or Forget.
  Bytes body;
};

// Reads the messages of the object whose header is at `address`, from all
// blocks of the header. A shared message is replaced by the one that it refers
// to. Used by one thread, as the view is; never blocks. Errors: those of
// FileView::At and Checked. DATA_LOSS: the header is damaged. UNIMPLEMENTED:
// its version is unknown, or a shared message is in a heap of shared messages.
absl::StatusOr<std::vector<Message>> ReadMessages(FileView& file,
                                                  std::uint64_t address);

// Returns the first message of that type, or null if there is none.
const Message* FindMessage(const std::vector<Message>& messages,
                           MessageType type);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_OBJECT_HEADER_H_
