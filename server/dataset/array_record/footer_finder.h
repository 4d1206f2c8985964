#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_FOOTER_FINDER_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_FOOTER_FINDER_H_

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/working_memory.h"
#include "server/dataset/array_record/footer.h"
#include "server/dataset/object_parser.h"

namespace forebay::dataset::array_record {

// Finds the footer of a file. The finder reads nothing itself: it tells the
// caller which bytes it needs next. Used by one thread; owns the footer until
// the caller moves it; never blocks. Errors do not name the file, and end the
// search.
class FooterFinder {
 public:
  // Begins the search in a file of `size` bytes. The first read covers the last
  // `read_bytes` bytes of the file, rounded down to whole blocks, but at least
  // one block. A long first read often contains the footer, which saves a
  // second read. `memory` outlives the finder and the footer. DATA_LOSS: no
  // ArrayRecord file has that size.
  static absl::StatusOr<FooterFinder> Create(std::uint64_t size,
                                             std::uint64_t read_bytes,
                                             base::WorkingMemory* memory);

  // Returns the range to read next, or nothing if the search is over.
  std::optional<ByteRange> wanted() const { return wanted_; }
  // Takes the bytes of wanted(). Fails with DATA_LOSS if the file is not an
  // ArrayRecord file or is damaged; the other errors are those of Footer.
  absl::Status Parse(absl::Span<const std::uint8_t> bytes);
  // The footer, or nothing until it is found.
  std::optional<Footer>& footer() { return footer_; }

 private:
  FooterFinder(std::uint64_t size, std::uint64_t read_bytes,
               base::WorkingMemory* memory);

  absl::Status ParseFooter(absl::Span<const std::uint8_t> bytes);

  std::uint64_t size_;
  base::WorkingMemory* memory_;
  std::optional<ByteRange> wanted_;
  std::uint64_t footer_offset_ = 0;  // in bytes; 0 while unknown
  std::optional<Footer> footer_;
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_FOOTER_FINDER_H_
