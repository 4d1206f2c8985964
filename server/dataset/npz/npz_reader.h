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

// An array of a .npz file: the bytes of its .npy file, and the buffer that has
// these bytes.
struct ArrayFile {
  // The bytes of the .npy file, which lie in `read` if the member is stored,
  // and in `decompressed` if the member is deflated.
  absl::Span<const std::uint8_t> bytes;
  base::Bytes read;
  std::unique_ptr<std::uint8_t[]> decompressed;
  // Offset in bytes of the member's data in the .npz file.
  std::uint64_t offset = 0;
};

// The central directory of a .npz file.
struct NpzDirectory {
  std::vector<zip::ZipMember> members;
  // Digest of the whole directory; see zip::DirectoryDigest.
  Version digest = {};
};

// Reads directories and arrays of .npz files.
//
// Used by one thread. The caller owns the results. `memory` counts the results
// before they are allocated, and they stay counted. Calls block for the source,
// but return soon after `stop` is requested. Errors name the file: those of the
// source, of ZipDirectory, of DataOf and of Decompress; DATA_LOSS: a read gave
// too few bytes. RESOURCE_EXHAUSTED names no file: `memory` has no room.
class NpzReader {
 public:
  // Reads files beneath `root` from `source`, which outlives the reader.
  NpzReader(storage::ByteSource* source,
            std::shared_ptr<const storage::Root> root, std::stop_token stop)
      : source_(source), root_(std::move(root)), stop_(std::move(stop)) {}

  // Reads the central directory of a file.
  absl::StatusOr<NpzDirectory> ReadDirectory(const storage::ListedObject& file,
                                             base::WorkingMemory& memory) const;
  // Reads a whole array, decompresses it if it is deflated, and checks its
  // CRC-32.
  absl::StatusOr<ArrayFile> ReadArray(const storage::ListedObject& file,
                                      const zip::ZipMember& member,
                                      base::WorkingMemory& memory) const;
  // Reads the beginning of a stored array, far enough to contain its .npy
  // header. The CRC-32 is not checked, as it covers the whole array.
  absl::StatusOr<ArrayFile> ReadStart(const storage::ListedObject& file,
                                      const zip::ZipMember& member,
                                      base::WorkingMemory& memory) const;

 private:
  // Reads a range of a file and counts it in `memory`.
  absl::StatusOr<base::Bytes> Read(const storage::ListedObject& file,
                                   std::uint64_t offset, std::uint64_t length,
                                   base::WorkingMemory& memory) const;

  storage::ByteSource* const source_;
  const std::shared_ptr<const storage::Root> root_;
  const std::stop_token stop_;
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_READER_H_
