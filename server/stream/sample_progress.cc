#include "server/stream/sample_progress.h"

#include <algorithm>
#include <utility>

namespace forebay::stream {

void SampleProgress::EndRead(PendingSample* pending,
                             absl::StatusOr<storage::ReadResult>* result) {
  prefetcher_->Arrived(*pending);
  ++samples_to_decode_;
  ++pending->batch->to_decode;
  if (!result->ok()) return;
  pending->variant = (*result)->variant;
  pending->revision = (*result)->revision;
  proto::LoaderCounters& counters = members_->CountersOf(*pending);
  counters.set_bytes_read(counters.bytes_read() + pending->length);
  tasks_->Add(
      {.pending = pending, .bytes = std::move((*result)->bytes), .status = {}});
}

void SampleProgress::Made(absl::Span<const ReadSample> samples,
                          std::int64_t cpu_nanos) {
  const std::int64_t made_samples =
      std::count_if(samples.begin(), samples.end(),
                    [](const ReadSample& sample) { return sample.is_made; });
  if (made_samples == 0) return;
  tasks_->cost().Measured(cpu_nanos / made_samples);
  for (const ReadSample& sample : samples) {
    if (!sample.is_made) continue;
    proto::LoaderCounters& counters = members_->CountersOf(*sample.pending);
    if (sample.pending->variant == storage::kEncoded)
      counters.set_samples_decoded(counters.samples_decoded() + 1);
    counters.set_cpu_nanos(
        counters.cpu_nanos() +
        static_cast<std::uint64_t>(cpu_nanos / made_samples));
  }
}

Batch* SampleProgress::Finish(const ReadSample& sample,
                              std::int64_t now_nanos) {
  sample.pending->batch->moved_at_nanos = now_nanos;
  DropBytes(sample.pending);
  if (!sample.status.ok() && !sample.refused &&
      in_flight_->Substitute(*sample.pending, sample.status)) {
    proto::LoaderCounters& counters = members_->CountersOf(*sample.pending);
    counters.set_samples_substituted(counters.samples_substituted() + 1);
    return nullptr;
  }
  return in_flight_->Finish(*sample.pending, sample.status,
                            batch_cache_->pool());
}

void SampleProgress::MakeAgain(ReadSample sample) {
  sample.lost = false;
  // The user's code may have changed the buffer, so the sample is read again.
  if (sample.laid && in_flight_->ReadAgain(*sample.pending)) {
    DropBytes(sample.pending);
    return;
  }
  tasks_->AddAgain(std::move(sample));
}

void SampleProgress::DropBytes(PendingSample* pending) {
  --samples_to_decode_;
  --pending->batch->to_decode;
  prefetcher_->Leave(*pending);
}

}  // namespace forebay::stream
