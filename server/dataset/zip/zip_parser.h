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

// A file of an archive, as ZipMember, packed.
struct FoundFile {
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
  std::vector<FoundFile> files;
  std::string names;
  std::uint64_t end = 0;  // of the part in which members lie; bytes
  Version digest = {};    // of all that the directory says of files

  std::string_view NameOf(const FoundFile& file) const {
    return std::string_view(names).substr(file.name_offset, file.name_length);
  }
};

// Reads the directory of an archive. As ObjectParser says; errors are those of
// ZipDirectory.
class ZipParser final : public ObjectParser {
 public:
  enum class Keep { kFiles, kDigest };

  // Counts what it finds in `memory`, which outlives it. Keeps nothing but the
  // digest if that is all that is wanted. Errors: those of
  // ZipDirectory::Create.
  static absl::StatusOr<std::unique_ptr<ZipParser>> Create(
      const storage::ListedObject& archive, Keep keep,
      base::WorkingMemory* memory);

  std::optional<ByteRange> next_read() const override;
  absl::Status Take(absl::Span<const std::uint8_t> bytes) override;
  // To be called once, when next_read() returns nothing.
  ArchiveContents TakeContents();

 private:
  ZipParser(ZipDirectory directory, Keep keep, base::WorkingMemory* memory)
      : directory_(std::move(directory)), keep_(keep), memory_(memory) {}

  absl::Status Add(const ZipMember& member);

  ZipDirectory directory_;
  const Keep keep_;
  base::WorkingMemory* const memory_;
  DirectoryDigest digest_;
  ArchiveContents contents_;
};

}  // namespace forebay::dataset::zip

#endif  // FOREBAY_SERVER_DATASET_ZIP_ZIP_PARSER_H_
