#ifndef FOREBAY_SERVER_DATASET_HDF5_LINKS_H_
#define FOREBAY_SERVER_DATASET_HDF5_LINKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/file_view.h"
#include "server/dataset/hdf5/object_header.h"

namespace forebay::dataset::hdf5 {

// A name in a group.
struct Link {
  std::string name;
  // Of the object's header. kNoAddress if the link leads to another name, or
  // to another file.
  std::uint64_t address = kNoAddress;
};

// Returns the links of the group with these messages, by name. Empty if it is
// no group. They take no more memory than what was read for them. Thread-safe;
// never blocks. Errors: those of FileView; DATA_LOSS: it is
// damaged; UNIMPLEMENTED: its heap is compressed.
absl::StatusOr<std::vector<Link>> ReadLinks(
    FileView& file, const std::vector<Message>& messages);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_LINKS_H_
