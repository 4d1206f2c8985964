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

// Finds the footer of a file. It reads nothing itself: it says what to read,
// and is given the bytes. Used by one thread; never blocks. Errors give the
// reason alone and end it.
class FooterFinder {
 public:
  // Of a file of `size` bytes. Reads at least so many of them from its end, if
  // it has them. The memory outlives it, and what it finds. DATA_LOSS: no
  // ArrayRecord file has that size.
  static absl::StatusOr<FooterFinder> Create(std::uint64_t size,
                                             std::uint64_t read_bytes,
                                             base::WorkingMemory* memory);

  // Returns what to read next; nothing if the footer was found.
  std::optional<ByteRange> wanted() const { return wanted_; }
  // Takes the bytes of wanted(). DATA_LOSS: it is no ArrayRecord file, or
  // damaged; others: those of Footer.
  absl::Status See(absl::Span<const std::uint8_t> bytes);
  // The footer, if it was found.
  std::optional<Footer>& found() { return found_; }

 private:
  FooterFinder(std::uint64_t size, std::uint64_t read_bytes,
               base::WorkingMemory* memory);

  absl::Status SeeFooter(absl::Span<const std::uint8_t> bytes);

  std::uint64_t size_;
  base::WorkingMemory* memory_;
  std::optional<ByteRange> wanted_;
  std::uint64_t footer_offset_ = 0;  // 0: unknown; bytes
  std::optional<Footer> found_;
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_FOOTER_FINDER_H_
