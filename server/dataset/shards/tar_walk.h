#ifndef FOREBAY_SERVER_DATASET_SHARDS_TAR_WALK_H_
#define FOREBAY_SERVER_DATASET_SHARDS_TAR_WALK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/dataset/object_parser.h"
#include "server/dataset/shards/tar_header.h"

namespace forebay::dataset::shards {

// A file in an archive, or a link.
struct TarMember {
  std::string name;
  std::uint64_t offset = 0;  // of its data in the archive; bytes
  std::uint64_t length = 0;  // bytes; they lie within the archive
  // Bytes that it inflates to, by its end: of files that TarWalk looks into.
  std::uint32_t inflated = 0;
  // Whether it is a hard or symbolic link, which has no data.
  bool is_link = false;
};

// Walks through a tar archive from header to header. It reads nothing itself:
// it says which bytes it must see next, and never asks for the files' data, but
// for the ends of those that gzip has compressed, if `sees_gzip`. It finds the
// files and links that Python's tarfile finds, in their order. But it refuses
// any archive that is damaged, while tarfile takes some for their intact
// beginning.
//
// Not thread-safe; owns what it stores; never blocks. Errors name the archive
// and the offset, and end the walk: DATA_LOSS: truncated, or no tar archive;
// UNIMPLEMENTED: sparse files, attributes that rename all members, or a
// compressed archive.
class TarWalk {
 public:
  // `object` is the archive's name, `size` its bytes.
  static absl::StatusOr<TarWalk> Create(std::string object, std::uint64_t size,
                                        bool sees_gzip = false);

  // Returns what it must see next, within the archive; nothing if the walk is
  // over.
  std::optional<ByteRange> wanted() const;

  // Takes `bytes`, which lie at `offset` in the archive. Walks on as far as
  // they reach, and appends the files and links on the way to
  // `files`.
  absl::Status See(std::uint64_t offset, absl::Span<const std::uint8_t> bytes,
                   std::vector<TarMember>* files);

  // Tells the size of an archive that was made with kUnknownSize, when it is
  // known that it has no more bytes. Errors as See's.
  absl::Status EndAt(std::uint64_t size);

 private:
  // Attributes of the next member in earlier headers; the first of each counts.
  struct Overrides {
    std::optional<std::string> name;
    std::optional<std::uint64_t> size;
    bool sparse = false;
    bool any = false;
  };

  TarWalk(std::string object, std::uint64_t size, bool sees_gzip)
      : object_(std::move(object)), size_(size), sees_gzip_(sees_gzip) {}

  absl::Status SeeHeader(absl::Span<const std::uint8_t> block,
                         std::vector<TarMember>* files);
  absl::Status SeeMember(TarHeader header, std::vector<TarMember>* files);
  absl::Status SeeAttributes(TarKind kind, absl::Span<const std::uint8_t> data);
  absl::Status Skip(std::uint64_t data_bytes);
  absl::Status Annotated(const absl::Status& status) const;

  std::string object_;
  std::uint64_t size_ = 0;
  bool sees_gzip_ = false;
  std::uint64_t at_ = 0;  // offset of the next header, or the last one
  // That header, while its data is wanted.
  std::optional<TarHeader> open_;
  Overrides overrides_;
  // The file before that, while its end is wanted.
  std::optional<TarMember> gzipped_;
  bool over_ = false;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_TAR_WALK_H_
