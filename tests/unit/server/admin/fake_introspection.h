#ifndef FOREBAY_TESTS_UNIT_SERVER_ADMIN_FAKE_INTROSPECTION_H_
#define FOREBAY_TESTS_UNIT_SERVER_ADMIN_FAKE_INTROSPECTION_H_

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "proto/shm_layout.h"
#include "server/base/mutex.h"
#include "server/cache/cache_snapshot.h"
#include "server/cache/disk/disk_snapshot.h"
#include "server/job/job_snapshot.h"

namespace forebay::admin {

// A job::Introspection of jobs that a test makes up. Thread-safe.
class FakeIntrospection final : public job::Introspection {
 public:
  void SetJobs(std::vector<job::JobSnapshot> jobs) {
    const base::MutexLock lock(&mutex_);
    jobs_ = std::move(jobs);
  }
  void SetBatch(const job::PeekedBatch& batch) {
    const base::MutexLock lock(&mutex_);
    batch_ = Copy(batch);
  }

  std::vector<job::JobSnapshot> Snapshot() const override {
    const base::MutexLock lock(&mutex_);
    return jobs_;
  }

  absl::StatusOr<job::PeekedBatch> Peek(
      const std::string& job, const std::string& loader) const override {
    const base::MutexLock lock(&mutex_);
    for (const job::JobSnapshot& snapshot : jobs_) {
      if (snapshot.name != job && snapshot.key != job) continue;
      if (!loader.empty() && loader != "train") break;
      return Copy(batch_);
    }
    return absl::NotFoundError("there is no such job; there is: resnet");
  }

 private:
  // Copies everything except the reservation, which only the original owns.
  static job::PeekedBatch Copy(const job::PeekedBatch& batch) {
    job::PeekedBatch copy;
    copy.slot = batch.slot;
    copy.pipeline = batch.pipeline;
    copy.classes = batch.classes;
    return copy;
  }

  mutable base::Mutex mutex_;
  std::vector<job::JobSnapshot> jobs_ ABSL_GUARDED_BY(mutex_);
  job::PeekedBatch batch_ ABSL_GUARDED_BY(mutex_);
};

// Returns one job "resnet" with a running loader "train" and an idle one "val".
inline job::JobSnapshot ResnetJob() {
  job::LoaderSnapshot train;
  train.name = "train";
  train.uri = "/data/train";
  train.dataset_size = 1000;
  train.batch_size = 4;
  train.samples_per_epoch = 1000;
  train.stream.epoch = 2;
  train.stream.running = true;
  train.stream.counters.set_samples_delivered(2500);
  train.stream.counters.set_batches_delivered(625);
  train.stream.counters.set_bytes_delivered(5'000'000'000);
  train.stream.counters.set_bytes_read(117'500'000);
  train.stream.counters.set_samples_decoded(1250);
  train.stream.counters.set_cpu_nanos(3'000'000'000);
  train.stream.position = 500;
  train.stream.untaken = 2;
  train.stream.slots = 9;
  train.stream.slot_counts = {.filling = 1, .kept = 5};
  train.stream.leases = 3;
  train.stream.depth = 3;
  train.stream.prefetch = {
      .window = 16 << 20, .reads_in_flight = 3, .bytes_in_flight = 188'000};
  train.stream.samples_to_decode = 1;
  train.stream.members = 3;
  train.stream.sharing = {.behind = 1234,
                          .state = stream::SharingState::kTrailing};
  train.client.wait_nanos = 250'000'000;
  job::LoaderSnapshot val;
  val.name = "val";
  val.uri = "/data/val\xff";  // not UTF-8
  val.dataset_size = 50;
  val.batch_size = 8;
  val.samples_per_epoch = 50;
  job::JobSnapshot job;
  job.id = 7;
  job.key = "slurm-17";
  job.name = "resnet";
  job.weight = 2;
  job.uid = 1000;
  job.pids = {4711, 4712};
  job.loaders = {train, val};
  return job;
}

// Returns the cache's snapshot with "resnet", and with a job that has ended.
inline cache::CacheSnapshot ResnetCache() {
  cache::CacheSnapshot snapshot;
  snapshot.capacity = std::uint64_t{1} << 30;
  snapshot.used = std::uint64_t{1} << 28;
  snapshot.entries = 4000;
  snapshot.decoded = {.entries = 300,
                      .entry_bytes = 100'000'000,
                      .made = 800,
                      .hits = 500,
                      .saved_nanos = 2'500'000'000};
  snapshot.entry_bytes = 250'000'000;
  snapshot.reads_in_flight = 3;
  snapshot.total.memory = {9000, 450'000'000};
  snapshot.total.shared = {1000, 50'000'000};
  snapshot.total.disk = {3000, 150'000'000};
  snapshot.total.source = {1200, 60'000'000};
  snapshot.jobs[7].memory = {6000, 300'000'000};
  snapshot.jobs[7].shared = {1000, 50'000'000};
  snapshot.jobs[7].disk = {1500, 75'000'000};
  snapshot.jobs[7].source = {500, 25'000'000};
  snapshot.evicted = {100, 5'000'000};
  snapshot.bypassed = {200, 10'000'000};
  snapshot.failures = 2;
  return snapshot;
}

// Returns the snapshot of a disk tier that has failed.
inline std::optional<cache::disk::DiskSnapshot> ResnetDiskTier() {
  cache::disk::DiskSnapshot snapshot;
  snapshot.off = true;
  snapshot.capacity = std::uint64_t{1} << 40;
  snapshot.used = std::uint64_t{1} << 39;
  snapshot.entries = 5'000'000;
  snapshot.entry_bytes = 500'000'000'000;
  snapshot.waiting = 1 << 20;
  snapshot.hits = {3000, 150'000'000};
  snapshot.misses = {1000, 50'000'000};
  snapshot.written = {2000, 100'000'000};
  snapshot.evicted = {10, 500'000};
  snapshot.carried = {4, 200'000};
  snapshot.refused = {20, 1'000'000};
  snapshot.damaged = 3;
  snapshot.failures = 4;
  return snapshot;
}

// Adds a field of `bytes` zeros after the fields that `slot` has.
inline void AddField(const char* name, proto::FieldKind kind,
                     proto::DType dtype,
                     const std::vector<std::uint64_t>& shape,
                     std::vector<std::uint8_t>* slot) {
  slot->resize(std::max<std::size_t>(slot->size(), proto::kSlotHeaderBytes));
  proto::BatchHeader header;
  std::memcpy(&header, slot->data(), sizeof(header));
  header.magic = proto::kBatchMagic;
  header.version = proto::kLayoutVersion;
  header.sample_count = shape[0];
  proto::FieldLayout& field = header.fields[header.field_count++];
  std::strncpy(field.name, name, proto::kMaxFieldName - 1);
  field.kind = kind;
  field.dtype = dtype;
  field.rank = static_cast<std::uint32_t>(shape.size());
  field.bytes = proto::SizeOf(dtype);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    field.shape[i] = shape[i];
    field.bytes *= shape[i];
  }
  field.offset = (slot->size() + proto::kFieldAlignment - 1) /
                 proto::kFieldAlignment * proto::kFieldAlignment;
  slot->resize(field.offset + field.bytes);
  std::memcpy(slot->data(), &header, sizeof(header));
}

// Returns the data of field number `index` in `slot`.
inline std::uint8_t* FieldData(std::vector<std::uint8_t>* slot, int index) {
  proto::BatchHeader header;
  std::memcpy(&header, slot->data(), sizeof(header));
  return slot->data() + header.fields[index].offset;
}

}  // namespace forebay::admin

#endif  // FOREBAY_TESTS_UNIT_SERVER_ADMIN_FAKE_INTROSPECTION_H_
