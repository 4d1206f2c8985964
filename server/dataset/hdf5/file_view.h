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
#include "server/dataset/hdf5/cursor.h"
#include "server/dataset/object_parser.h"

namespace forebay::dataset::hdf5 {

class LinkWalk;  // see links.h

// The parts of a file that are at hand. Code that walks through the file asks
// for bytes by their address. If they are not at hand, it is told so, ends, and
// is called again when they are: what it has seen stays at hand until then, and
// so do the walks through groups, which are kept here for that.
//
// Used by one thread. Owns the bytes and counts them in the memory, which
// outlives it. Never blocks. Errors give the reason alone.
class FileView {
 public:
  FileView(std::uint64_t size, const ReadSizes& read_sizes,
           base::WorkingMemory* memory)
      : size_(size), read_length_(read_sizes), memory_(memory) {}
  ~FileView() { Forget(); }
  FileView(const FileView&) = delete;
  FileView& operator=(const FileView&) = delete;

  std::uint64_t size() const { return size_; }  // bytes of the file
  const Widths& widths() const { return widths_; }
  base::WorkingMemory& memory() { return *memory_; }
  // Addresses count from `base` on, and have that width.
  void SetAddresses(std::uint64_t base, const Widths& widths) {
    base_ = base;
    widths_ = widths;
  }

  // Returns where the bytes at an address lie in the file. DATA_LOSS: they do
  // not lie in it.
  absl::StatusOr<std::uint64_t> Locate(std::uint64_t address,
                                       std::uint64_t length) const;
  // Returns bytes, which stay until Forget. UNAVAILABLE: they are to be read
  // first; other errors are Locate's, or DATA_LOSS: they are more than any
  // metadata.
  absl::StatusOr<Bytes> At(std::uint64_t address, std::uint64_t length);
  // As At, by the offset in the file.
  absl::StatusOr<Bytes> AtOffset(std::uint64_t offset, std::uint64_t length);
  // As At, of a piece of metadata that ends with its checksum, which is not
  // returned. DATA_LOSS also if it has another signature or checksum.
  absl::StatusOr<Cursor> Checked(std::uint64_t address, std::uint64_t length,
                                 std::string_view signature);

  // The bytes that At lacked last, within the file; nothing if it lacked
  // nothing.
  std::optional<ByteRange> wanted() const { return wanted_; }
  // Takes the bytes of wanted(). RESOURCE_EXHAUSTED: that of the memory.
  absl::Status Take(Bytes bytes);
  // The walk through the group at that address; null if it has not begun.
  std::shared_ptr<LinkWalk>& WalkOf(std::uint64_t group) {
    return walks_[group];
  }
  // Drops all bytes that are at hand, and all walks.
  void Forget();
  // Drops them if one or the other are many. To be called between steps.
  void ForgetIfMany();

 private:
  const std::uint64_t size_;
  ReadLength read_length_;
  base::WorkingMemory* const memory_;
  std::uint64_t base_ = 0;
  Widths widths_;
  std::map<std::uint64_t, std::vector<std::uint8_t>> parts_;  // by offset
  std::uint64_t held_ = 0;                                    // bytes of these
  std::map<std::uint64_t, std::shared_ptr<LinkWalk>> walks_;  // by address
  std::optional<ByteRange> wanted_;
  std::optional<ByteRange> last_read_;
};

}  // namespace forebay::dataset::hdf5

#endif  // FOREBAY_SERVER_DATASET_HDF5_FILE_VIEW_H_
