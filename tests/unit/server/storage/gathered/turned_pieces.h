#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_GATHERED_TURNED_PIECES_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_GATHERED_TURNED_PIECES_H_

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/storage/gathered/pieces.h"

namespace forebay::storage::gathered {

// Files whose own bytes are followed by the same bytes in another order: in
// pieces of `piece` bytes, the last piece first. Thread-safe.
class TurnedPieces final : public Pieces {
 public:
  explicit TurnedPieces(std::uint64_t piece) : piece_(piece) {}

  // Adds a file whose own bytes are followed by `turned`. Returns the own
  // bytes.
  std::string Add(const std::string& object, const std::string& turned) {
    base::MutexLock lock(&mutex_);
    sizes_[object] = turned.size();
    std::string content = turned;
    std::uint64_t at = 0;
    for (const Piece& piece : AllOf(turned.size())) {
      content.replace(piece.offset, piece.length,
                      turned.substr(at, piece.length));
      at += piece.length;
    }
    return content;
  }

  std::uint64_t OwnSize(const std::string& object,
                        std::uint64_t size) const override {
    base::MutexLock lock(&mutex_);
    const auto known = sizes_.find(object);
    return known == sizes_.end() ? size : size / 2;
  }
  absl::StatusOr<std::vector<Piece>> Find(const std::string& object,
                                          std::uint64_t offset,
                                          std::uint64_t length) const override {
    base::MutexLock lock(&mutex_);
    const auto known = sizes_.find(object);
    if (known == sizes_.end() || known->second * 2 < offset + length)
      return absl::DataLossError("has no such pieces");
    std::vector<Piece> found;
    std::uint64_t skip = offset - known->second;
    for (Piece piece : AllOf(known->second)) {
      const std::uint64_t cut = std::min(skip, piece.length);
      skip -= cut;
      piece.offset += cut;
      piece.length = std::min(piece.length - cut, length);
      length -= piece.length;
      if (piece.length > 0) found.push_back(piece);
    }
    return found;
  }

 private:
  std::vector<Piece> AllOf(std::uint64_t size) const {
    std::vector<Piece> all;
    for (std::uint64_t at = 0; at < size; at += piece_)
      all.push_back({at, std::min(piece_, size - at)});
    std::reverse(all.begin(), all.end());
    return all;
  }

  const std::uint64_t piece_;
  mutable base::Mutex mutex_;
  std::map<std::string, std::uint64_t> sizes_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::storage::gathered

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_GATHERED_TURNED_PIECES_H_
