#ifndef FOREBAY_SERVER_STORAGE_GATHERED_PIECES_H_
#define FOREBAY_SERVER_STORAGE_GATHERED_PIECES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace forebay::storage::gathered {

// Some bytes of a file.
struct Piece {
  std::uint64_t offset = 0;  // into the file; bytes
  std::uint64_t length = 0;  // bytes; not 0

  bool operator==(const Piece&) const = default;
};

// Knows which files are longer below a GatheredRoot, and which pieces of their
// own bytes follow these there. Thread-safe and immutable; its readers share
// it. Never blocks.
class Pieces {
 public:
  virtual ~Pieces() = default;

  // Bytes that a file has itself, of `size` that it has below such a root.
  virtual std::uint64_t OwnSize(const std::string& object,
                                std::uint64_t size) const = 0;
  // Returns the pieces that `length` bytes from `offset` on are, in their
  // order. The range lies behind the file's own bytes. The error gives the
  // reason alone: DATA_LOSS: there are no such pieces.
  virtual absl::StatusOr<std::vector<Piece>> Find(
      const std::string& object, std::uint64_t offset,
      std::uint64_t length) const = 0;
};

}  // namespace forebay::storage::gathered

#endif  // FOREBAY_SERVER_STORAGE_GATHERED_PIECES_H_
