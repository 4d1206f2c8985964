#ifndef FOREBAY_SERVER_DATASET_ZIP_ZIP_PARSER_H_
#define FOREBAY_SERVER_DATASET_ZIP_ZIP_PARSER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/dataset.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/zip/directory_digest.h"
#include "server/dataset/zip/zip_directory.h"
#include "server/dataset/zip/zip_member.h"
#include "server/storage/object_lister.h"

namespace forebay::dataset::zip {

// A file of an archive: a ZipMember whose name is stored in
// ArchiveContents::names.
struct ArchiveFile {
  std::uint64_t name_offset = 0;  // bytes into the names
  std::uint64_t header_offset = 0;
  std::uint64_t compressed = 0;
  std::uint64_t length = 0;
  std::uint32_t crc32 = 0;
  std::uint16_t name_length = 0;  // bytes
  ZipMethod method = ZipMethod::kStored;
};

// The files of an archive, in the order of its directory.
struct ArchiveContents {
  std::vector<ArchiveFile> files;
  std::string names;  // the files' names, concatenated
  // The offset of the directory, in bytes. All members lie before this offset.
  std::uint64_t end = 0;
  Version digest = {};  // see DirectoryDigest

  // Returns the name of one of these files.
  std::string_view NameOf(const ArchiveFile& file) const {
    return std::string_view(names).substr(file.name_offset, file.name_length);
  }
};

// Finds the files of one archive by its directory.
//
// Threads, ownership and blocking are as ObjectParser says. Errors are those of
// ZipDirectory and of `memory`.
class ZipParser final : public ObjectParser {
 public:
  // Whether TakeContents returns the files and their digest, or only the
  // digest.
  enum class Keep { kFiles, kDigest };

  // Begins to parse an archive. Counts the files found in `memory`, which
  // outlives the parser. Errors: those of ZipDirectory::Create.
  static absl::StatusOr<std::unique_ptr<ZipParser>> Create(
      const storage::ListedObject& archive, Keep keep,
      base::WorkingMemory* memory);

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  // Returns the contents. Must be called once, when next_read() returns
  // nothing.
  ArchiveContents TakeContents();

 private:
  ZipParser(ZipDirectory directory, Keep keep, base::WorkingMemory* memory)
      : directory_(std::move(directory)), keep_(keep), memory_(memory) {}

  // Adds a member to the digest and, if files are kept, to the contents.
  absl::Status Add(const ZipMember& member);

  ZipDirectory directory_;
  const Keep keep_;
  base::WorkingMemory* const memory_;
  DirectoryDigest digest_;
  ArchiveContents contents_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_PARSER_H_
