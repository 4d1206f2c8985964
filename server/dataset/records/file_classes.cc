#include "server/dataset/records/file_classes.h"

#include <algorithm>
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/path_order.h"

namespace forebay::dataset::records {

absl::StatusOr<FileClasses> FileClasses::Create(const RecordIndex& index,
                                                base::MemoryBudget* budget) {
  base::WorkingMemory memory(budget, "the names of classes");
  std::vector<std::string> names;
  std::uint64_t bytes = 0;  // bytes of heap that the names take
  for (std::size_t i = 0; i < index.parts().files.size(); ++i) {
    const std::string path = index.FileAt(i).name;
    const std::size_t end = path.find('/');
    if (end == path.npos || end == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          path,
          ": lies in no class folder; labels=False reads it without one"));
    }
    const std::string name = path.substr(0, end);
    // Files of one class mostly follow one another, so the class is often the
    // one that was added last.
    if (!names.empty() && names.back() == name) continue;
    const auto at =
        std::lower_bound(names.begin(), names.end(), name, PathLess);
    if (at != names.end() && *at == name) continue;
    FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(names, 1));
    FOREBAY_RETURN_IF_ERROR(memory.Grow(base::HeapBytes(name.size())));
    bytes += base::HeapBytes(name.size());
    names.insert(std::lower_bound(names.begin(), names.end(), name, PathLess),
                 name);
  }
  FOREBAY_ASSIGN_OR_RETURN(
      base::MemoryReservation reservation,
      memory.Keep(bytes + names.capacity() * sizeof(std::string)));
  return FileClasses(std::move(names), std::move(reservation));
}

std::int64_t FileClasses::LabelOf(std::string_view path) const {
  const std::string_view name = path.substr(0, path.find('/'));
  const auto found =
      std::lower_bound(names_.begin(), names_.end(), name, PathLess);
  FOREBAY_CHECK(found != names_.end() && *found == name);
  return found - names_.begin();
}

}  // namespace forebay::dataset::records
