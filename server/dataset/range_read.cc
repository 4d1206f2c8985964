#include "server/dataset/range_read.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/read_now.h"

namespace forebay::dataset {

absl::StatusOr<base::Bytes> ReadRange(const RangeRead& read,
                                      base::WorkingMemory* memory,
                                      const std::stop_token& stop) {
  if (memory != nullptr) {
    FOREBAY_RETURN_IF_ERROR(
        memory->Grow(storage::HeldBytes(read.range.length)));
  }
  storage::ReadRequest request;
  request.root = read.root;
  request.object = read.file.name;
  request.version = read.file.version;
  request.offset = read.range.offset;
  request.length = read.range.length;
  request.uncached = read.uncached;
  FOREBAY_ASSIGN_OR_RETURN(
      storage::ReadResult result,
      storage::ReadNow(read.source, std::move(request), stop));
  if (result.bytes.size() == read.range.length) return std::move(result.bytes);
  return absl::DataLossError(
      absl::StrCat(read.file.name, ": a read gave ", result.bytes.size(),
                   " bytes instead of ", read.range.length));
}

}  // namespace forebay::dataset
