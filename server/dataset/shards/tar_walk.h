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

// A file or a link in an archive.
struct TarMember {
  std::string name;
  std::uint64_t offset = 0;  // bytes, from the archive's start to the data
  std::uint64_t length = 0;  // bytes of data, all within the archive
  // The decompressed bytes of a gzip-compressed file, as its end states them. 0
  // for files whose end TarWalk does not read.
  std::uint32_t decompressed = 0;
  // Whether the member is a hard or symbolic link, which has no data.
  bool is_link = false;
};

// Walks through a tar archive from header to header. The walk reads nothing
// itself: it says which bytes it must see next. It asks for a file's data only
// if `reads_gzip_ends` is set: for the last bytes of gzip-compressed files. It
// finds the files and links that Python's tarfile finds, in the same order. It
// is stricter in one way: it refuses an archive that is damaged anywhere.
// tarfile may return the files before the damage.
//
// Not thread-safe. Owns what it stores. Never blocks. Errors name the archive
// and the offset, and end the walk. DATA_LOSS: the archive is truncated, or is
// not a tar archive. UNIMPLEMENTED: the archive is compressed, has sparse
// files, or has a global header that renames or resizes all members.
class TarWalk {
 public:
  // Begins a walk. `object` is the archive's name, `size` its size in bytes.
  // `reads_gzip_ends` says whether to read the ends of members whose names end
  // in ".gz".
  static absl::StatusOr<TarWalk> Create(std::string object, std::uint64_t size,
                                        bool reads_gzip_ends = false);

  // Returns the range that the walk must see next, within the archive. Returns
  // nothing when the walk is over.
  std::optional<ByteRange> wanted() const;

  // Parses `bytes`, which lie at `offset` in the archive, as far as possible.
  // Appends the files and links found to `files`.
  absl::Status Parse(std::uint64_t offset, absl::Span<const std::uint8_t> bytes,
                     std::vector<TarMember>* files);

  // Tells a walk that was created with kUnknownSize that the archive has `size`
  // bytes. The errors are those of Parse.
  absl::Status EndAt(std::uint64_t size);

 private:
  // Attributes of the next member, from the extended headers before it. If
  // several headers set a name or a size, the first one counts.
  struct Overrides {
    std::optional<std::string> name;
    std::optional<std::uint64_t> size;  // bytes
    bool sparse = false;
    bool any = false;  // whether a member must follow
  };

  TarWalk(std::string object, std::uint64_t size, bool reads_gzip_ends)
      : object_(std::move(object)),
        size_(size),
        reads_gzip_ends_(reads_gzip_ends) {}

  // Parses the header at at_.
  absl::Status ParseHeader(absl::Span<const std::uint8_t> block,
                           std::vector<TarMember>* files);
  // Adds a member to `files`. If the end of a gzip-compressed file must be read
  // first, remembers the file instead. Then goes on to the next header.
  absl::Status AddMember(TarHeader header, std::vector<TarMember>* files);
  // Parses the data of an extended header, into overrides_.
  absl::Status ParseAttributes(TarKind kind,
                               absl::Span<const std::uint8_t> data);
  // Goes on to the next header, behind the data of the present header.
  absl::Status Skip(std::uint64_t data_bytes);
  // Adds the archive's name and the offset to an error.
  absl::Status Annotated(const absl::Status& status) const;

  std::string object_;
  std::uint64_t size_ = 0;
  bool reads_gzip_ends_ = false;
  // The offset of the header that is parsed next, or was parsed last.
  std::uint64_t at_ = 0;
  // The header at at_, while the walk waits for that header's data.
  std::optional<TarHeader> open_;
  Overrides overrides_;
  // The file before at_, while the walk waits for that file's last bytes.
  std::optional<TarMember> gzipped_;
  bool over_ = false;
};

}  // namespace forebay::dataset::shards

#endif  // FOREBAY_SERVER_DATASET_SHARDS_TAR_WALK_H_
