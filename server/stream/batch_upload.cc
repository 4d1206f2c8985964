#include "server/stream/batch_upload.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::stream {

bool StartCopies(
    Batch& batch, std::uint64_t urgency, const SlotMemory& memory,
    const std::function<void(std::size_t, const absl::Status&)>& done) {
  bool started = false;
  for (const DevicePtr& device : memory.attached()) {
    const auto has = [&](const BatchCopy& copy) {
      return copy.device == device.get();
    };
    if (std::any_of(batch.copies.begin(), batch.copies.end(), has)) continue;
    const std::size_t number = batch.copies.size();
    const int ordinal = device->info().ordinal;
    if (batch.staging.memory() == nullptr) {
      batch.copies.push_back(
          {.device = device.get(),
           .status = absl::InternalError(
               "the copy to another GPU failed, and took the batch along")});
      continue;
    }
    absl::Status status = device->copier().Start(
        {.payers = batch.charged,
         .urgency = urgency,
         .to = memory.part(device.get(), batch.slot),
         .from = batch.staging.memory(),
         .bytes = memory.size().device,
         .done = [done, number, ordinal](const absl::Status& ended) {
           done(number, base::Annotate(ended, absl::StrCat("GPU ", ordinal)));
         }});
    started |= status.ok();
    batch.copying += status.ok();
    batch.copies.push_back(
        {.device = device.get(),
         .status = base::Annotate(status, absl::StrCat("GPU ", ordinal))});
  }
  return started;
}

}  // namespace forebay::stream
