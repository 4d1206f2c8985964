#ifndef FOREBAY_SERVER_DATASET_HDF5_SUPERBLOCK_H_
#define FOREBAY_SERVER_DATASET_HDF5_SUPERBLOCK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// Finds the superblock of a file, behind the user's own bytes if there are
// some. Tells `file` how its addresses are written. Returns the address of the
// root group's header. Thread-safe; never blocks. Errors: those of
// FileView::At; DATA_LOSS: it is no HDF5 file, or damaged; FAILED_PRECONDITION:
// it says that a writer has it open, as files of the versions 2 and 3 do;
// UNIMPLEMENTED: it is of an unknown version.
absl::StatusOr<std::uint64_t> ReadSuperblock(FileView& file);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_SUPERBLOCK_H_
