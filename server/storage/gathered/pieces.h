#ifndef FOREBAY_SERVER_STORAGE_GATHERED_PIECES_H_
#define FOREBAY_SERVER_STORAGE_GATHERED_PIECES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace forebay::storage::gathered {

// A range of a file's own bytes.
struct Piece {
  // The place in the file, in bytes.
  std::uint64_t offset = 0;
  std::uint64_t length = 0;  // bytes; not 0

  bool operator==(const Piece&) const = default;
};

// Knows which files are longer below a GatheredRoot, and which pieces of a file
// make up the further bytes.
//
// Thread-safe and immutable; its readers share it. Never blocks. Errors are
// those of Find.
class Pieces {
 public:
  virtual ~Pieces() = default;

  // Returns the number of bytes that a file itself has. `size` is the size that
  // it has below the GatheredRoot.
  virtual std::uint64_t OwnSize(const std::string& object,
                                std::uint64_t size) const = 0;
  // Returns the pieces, in their order, that make up the `length` bytes from
  // `offset` on. The range lies after the file's own bytes. DATA_LOSS: no
  // pieces make up this range; the message is only the reason.
  virtual absl::StatusOr<std::vector<Piece>> Find(
      const std::string& object, std::uint64_t offset,
      std::uint64_t length) const = 0;
};

}  // namespace forebay::storage::gathered

#endif  // FOREBAY_SERVER_STORAGE_GATHERED_PIECES_H_
