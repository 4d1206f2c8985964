#ifndef FOREBAY_SERVER_DATASET_HDF5_OBJECT_HEADER_H_
#define FOREBAY_SERVER_DATASET_HDF5_OBJECT_HEADER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/cursor.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// The messages that are read; all others are passed over.
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

// A message of an object's header.
struct Message {
  MessageType type = MessageType::kContinuation;
  Bytes body;  // until FileView::Forget
};

// Reads the messages of the object whose header is at that address. One that
// several objects share is read where it lies. Thread-safe; never blocks.
// Errors: those of FileView::At and Checked; DATA_LOSS: the header is damaged;
// UNIMPLEMENTED: it is of an unknown version, or a shared message lies in a
// heap.
absl::StatusOr<std::vector<Message>> ReadMessages(FileView& file,
                                                  std::uint64_t address);

// Returns the first message of that type, or null.
const Message* FindMessage(const std::vector<Message>& messages,
                           MessageType type);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_OBJECT_HEADER_H_
