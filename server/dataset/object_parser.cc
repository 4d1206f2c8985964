#include "server/dataset/object_parser.h"

#include <algorithm>

namespace forebay::dataset {

absl::Status ObjectParser::EndAt(std::uint64_t) {
  return absl::InternalError("its size was known");
}

ByteRange ReadLength::For(const ByteRange& wanted, std::uint64_t size) const {
  return {wanted.offset,
          std::min(std::max(wanted.length, length_), size - wanted.offset)};
}

void ReadLength::Adapt(const ByteRange& last, const ByteRange& wanted) {
  // Whether the wanted byte is at most last.length bytes behind the end of the
  // last read.
  const bool near = wanted.offset >= last.offset &&
                    wanted.offset - last.offset <= 2 * last.length;
  length_ = near ? std::min(2 * length_, sizes_.max)
                 : std::max(length_ / 2, sizes_.min);
}

}  // namespace forebay::dataset
