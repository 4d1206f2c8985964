#ifndef FOREBAY_SERVER_DATASET_HDF5_SUPERBLOCK_H_
#define FOREBAY_SERVER_DATASET_HDF5_SUPERBLOCK_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "server/dataset/hdf5/file_view.h"

namespace forebay::dataset::hdf5 {

// Finds the superblock of a file (HDF5 File Format Specification v3.0 II.A),
// which may follow a user block. Sets the base and the width of addresses in
// `file`. Returns the address of the root group's header.
//
// Used by one thread, as the view is; never blocks. Errors: those of
// FileView::At. DATA_LOSS: the file is not an HDF5 file, or is damaged.
// FAILED_PRECONDITION: the superblock's flags say that a writer has the file
// open; only versions 2 and 3 have flags. UNIMPLEMENTED: the superblock's
// version is unknown.
absl::StatusOr<std::uint64_t> ReadSuperblock(FileView& file);

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_SUPERBLOCK_H_
