#ifndef FOREBAY_SERVER_DATASET_HDF5_FILE_VIEW_H_
#define FOREBAY_SERVER_DATASET_HDF5_FILE_VIEW_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/working_memory.h"
#include "server/dataset/hdf5/byte_cursor.h"
#include "server/dataset/object_parser.h"

namespace forebay::dataset::hdf5 {

class LinkWalk;  // see links.h

// Estimated bytes that each entry takes in a walk's set of visited nodes or
// blocks.
inline constexpr std::uint64_t kAddressSetBytes = 64;

// The parts of a file that are in memory. Parsing code asks for bytes by their
// address. If the bytes are missing, the code gets UNAVAILABLE and returns it.
// The code's caller then reads wanted() from the file, calls Take, and runs the
// code again. Bytes that were read stay in memory until Forget, so that the
// second run gets further. The view also stores walks through groups, so that
// each resumes where it ended.
//
// Used by one thread. Owns the bytes and the walks. Counts the bytes in
// `memory`, which outlives the view. Never blocks. Errors give the reason
// alone.
class FileView {
 public:
  // Makes an empty view of a file of `size` bytes.
  FileView(std::uint64_t size, const ReadSizes& read_sizes,
           base::WorkingMemory* memory)
      : size_(size), read_length_(read_sizes), memory_(memory) {}
  ~FileView() { Forget(); }
  FileView(const FileView&) = delete;
  FileView& operator=(const FileView&) = delete;

  std::uint64_t size() const { return size_; }  // bytes of the file
  const Widths& widths() const { return widths_; }
  base::WorkingMemory& memory() { return *memory_; }
  // Sets where address 0 lies, in bytes from the start of the file, and how
  // wide addresses and lengths are. The superblock says both.
  void SetAddresses(std::uint64_t base, const Widths& widths) {
    base_ = base;
    widths_ = widths;
  }

  // Returns the offset of an address in the file. DATA_LOSS: the `length` bytes
  // from that offset on do not all lie within the file.
  absl::StatusOr<std::uint64_t> Locate(std::uint64_t address,
                                       std::uint64_t length) const;
  // Returns the bytes at an address, which stay valid until Take or Forget.
  // UNAVAILABLE: the bytes must be read first. DATA_LOSS: as in Locate, or
  // `length` is more than may be read at once.
  absl::StatusOr<Bytes> At(std::uint64_t address, std::uint64_t length);
  // Returns the bytes at an offset in the file, as At does for an address.
  absl::StatusOr<Bytes> AtOffset(std::uint64_t offset, std::uint64_t length);
  // Checks the signature at the start and the checksum at the end of a piece of
  // metadata. Returns a cursor over the bytes between the two. Errors: those of
  // At; DATA_LOSS: the signature or the checksum is wrong.
  absl::StatusOr<ByteCursor> Checked(std::uint64_t address,
                                     std::uint64_t length,
                                     std::string_view signature);

  // Returns the range of the file that the last UNAVAILABLE asked for. Returns
  // nothing once Take has added these bytes.
  std::optional<ByteRange> wanted() const { return wanted_; }
  // Adds the bytes of wanted(). Spans that At returned may become invalid.
  // RESOURCE_EXHAUSTED: the memory has no room.
  absl::Status Take(Bytes bytes);
  // Returns the walk through the group whose header is at the address `group`;
  // null until a caller stores one.
  std::shared_ptr<LinkWalk>& WalkOf(std::uint64_t group) {
    return walks_[group];
  }
  // Frees all bytes and all walks. Spans that At returned become invalid.
  void Forget();
  // Calls Forget if the view has many bytes or walks. Must be called between
  // steps, when no span that At returned is in use.
  void ForgetIfMany();

 private:
  const std::uint64_t size_;
  ReadLength read_length_;
  base::WorkingMemory* const memory_;
  // Offset in bytes of address 0 in the file.
  std::uint64_t base_ = 0;
  Widths widths_;
  // Parts of the file that were read, by their offset. No part lies within
  // another, so the ends of the parts are in the same order as their offsets.
  std::map<std::uint64_t, std::vector<std::uint8_t>> parts_;
  // Bytes of all parts together.
  std::uint64_t held_ = 0;
  // Walks through groups, by the address of the group's header.
  std::map<std::uint64_t, std::shared_ptr<LinkWalk>> walks_;
  std::optional<ByteRange> wanted_;
  // The range of the last Take. The length of the next read is adapted to it.
  std::optional<ByteRange> last_read_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_FILE_VIEW_H_
