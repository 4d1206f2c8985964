#ifndef FOREBAY_SERVER_DATASET_NPZ_NPZ_READER_H_
#define FOREBAY_SERVER_DATASET_NPZ_NPZ_READER_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/zip/zip_member.h"
#include "server/storage/byte_source.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::npz {

// An array as it lies in a .npz file: bytes of a .npy file. Owns them.
struct ArrayFile {
  absl::Span<const std::uint8_t> bytes;  // in one of these
  base::Bytes read;
  std::unique_ptr<std::uint8_t[]> inflated;
  std::uint64_t offset = 0;  // of its data, in the .npz file; bytes
};

// The directory of a .npz file.
struct Directory {
  std::vector<zip::ZipMember> members;
  Version digest = {};  // of all of it: see zip::DirectoryDigest
};

// Reads arrays of .npz files.
//
// Used by one thread. Calls block for the source, but return soon after `stop`
// is requested. What they return is counted in `memory` before it is made, and
// stays so. Errors name the file: the source's; those of ZipDirectory, DataOf
// and Unpack; DATA_LOSS: a read gave too few bytes. Errors without a name:
// RESOURCE_EXHAUSTED: that of `memory`.
class NpzReader {
 public:
  NpzReader(storage::ByteSource* source,
            std::shared_ptr<const storage::Root> root, std::stop_token stop)
      : source_(source), root_(std::move(root)), stop_(std::move(stop)) {}

  absl::StatusOr<Directory> ReadDirectory(const storage::ListedObject& file,
                                          base::WorkingMemory& memory) const;
  absl::StatusOr<ArrayFile> ReadArray(const storage::ListedObject& file,
                                      const zip::ZipMember& member,
                                      base::WorkingMemory& memory) const;
  // Reads the start of an array that is stored, which has all of its header.
  // Its CRC is not checked.
  absl::StatusOr<ArrayFile> ReadStart(const storage::ListedObject& file,
                                      const zip::ZipMember& member,
                                      base::WorkingMemory& memory) const;

 private:
  absl::StatusOr<base::Bytes> Read(const storage::ListedObject& file,
                                   std::uint64_t offset, std::uint64_t length,
                                   base::WorkingMemory& memory) const;

  storage::ByteSource* const source_;
  const std::shared_ptr<const storage::Root> root_;
  const std::stop_token stop_;
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_READER_H_
