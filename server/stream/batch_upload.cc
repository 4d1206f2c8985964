#include "server/stream/batch_upload.h"

#include <algorithm>

#include "absl/status/status.h"

namespace forebay::stream {

bool StartCopies(Batch& batch, std::uint64_t urgency, const SlotMemory& memory,
                 const std::function<void(const CopyEnd&)>& done) {
  bool started = false;
  for (const DevicePtr& device : memory.attached()) {
    const auto has = [&](const BatchCopy& copy) {
      return copy.device == device.get();
    };
    if (std::any_of(batch.copies.begin(), batch.copies.end(), has)) continue;
    if (batch.staging.memory() == nullptr) {
      batch.copies.push_back(
          {.device = device.get(),
           .status = absl::InternalError(
               "another GPU was lost while a batch was copied to it")});
      continue;
    }
    const std::size_t number = batch.copies.size();
    const absl::Status status = device->copier().Start(
        {.payers = batch.charged,
         .urgency = urgency,
         .to = memory.part(device.get(), batch.slot),
         .from = batch.staging.memory(),
         .bytes = memory.size().device,
         .done = [done, number, device](const absl::Status& ended) {
           done({.number = number,
                 .status = device->ForJobs(ended),
                 .given_up =
                     absl::IsDataLoss(ended) || absl::IsCancelled(ended)});
         }});
    started |= status.ok();
    batch.copying += status.ok();
    batch.copies.push_back(
        {.device = device.get(), .status = device->ForJobs(status)});
  }
  return started;
}

}  // namespace forebay::stream
