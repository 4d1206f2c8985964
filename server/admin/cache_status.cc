#include "server/admin/cache_status.h"

#include "server/admin/valid_utf8.h"

namespace forebay::admin {
namespace {

// The functions Fill copy a struct into its message, field by field.
void Fill(const cache::Tally& in, proto::ReadTally* out) {
  out->set_reads(in.reads);
  out->set_bytes(in.bytes);
}

void Fill(const cache::Traffic& in, proto::ReadTraffic* out) {
  Fill(in.memory, out->mutable_memory());
  Fill(in.shared, out->mutable_shared());
  Fill(in.disk, out->mutable_disk());
  Fill(in.source, out->mutable_source());
}

// Returns the traffic of a job; all zeros if the snapshot does not contain the
// job.
const cache::Traffic& Counted(const cache::CacheSnapshot& snapshot,
                              const job::JobSnapshot& job) {
  static const cache::Traffic nothing;
  const auto found = snapshot.jobs.find(job.id);
  return found == snapshot.jobs.end() ? nothing : found->second;
}

}  // namespace

proto::ReadTraffic TrafficOf(const cache::CacheSnapshot& snapshot,
                             const job::JobSnapshot& job) {
  proto::ReadTraffic traffic;
  Fill(Counted(snapshot, job), &traffic);
  return traffic;
}

proto::CacheStatus ToProto(const cache::CacheSnapshot& snapshot,
                           const std::vector<job::JobSnapshot>& jobs) {
  proto::CacheStatus status;
  status.set_capacity(snapshot.capacity);
  status.set_used(snapshot.used);
  status.set_entries(snapshot.entries);
  status.set_entry_bytes(snapshot.entry_bytes);
  status.set_reads_in_flight(snapshot.reads_in_flight);
  Fill(snapshot.total, status.mutable_total());
  status.set_bytes_saved(snapshot.total.bytes_saved());
  Fill(snapshot.evicted, status.mutable_evicted());
  Fill(snapshot.bypassed, status.mutable_bypassed());
  status.set_failures(snapshot.failures);
  proto::DecodedStatus* const decoded = status.mutable_decoded();
  decoded->set_entries(snapshot.decoded.entries);
  decoded->set_entry_bytes(snapshot.decoded.entry_bytes);
  decoded->set_made(snapshot.decoded.made);
  decoded->set_hits(snapshot.decoded.hits);
  decoded->set_saved_nanos(snapshot.decoded.saved_nanos);
  for (const job::JobSnapshot& in : jobs) {
    proto::JobTraffic* out = status.add_jobs();
    out->set_key(ValidUtf8(in.key));
    out->set_name(ValidUtf8(in.name));
    out->set_uid(in.uid);
    const cache::Traffic& traffic = Counted(snapshot, in);
    Fill(traffic, out->mutable_traffic());
    out->set_bytes_saved(traffic.bytes_saved());
  }
  return status;
}

proto::DiskTierStatus ToProto(const cache::disk::DiskSnapshot& snapshot) {
  proto::DiskTierStatus status;
  status.set_off(snapshot.off);
  status.set_capacity(snapshot.capacity);
  status.set_used(snapshot.used);
  status.set_entries(snapshot.entries);
  status.set_entry_bytes(snapshot.entry_bytes);
  status.set_waiting(snapshot.waiting);
  Fill(snapshot.hits, status.mutable_hits());
  Fill(snapshot.misses, status.mutable_misses());
  Fill(snapshot.written, status.mutable_written());
  Fill(snapshot.evicted, status.mutable_evicted());
  Fill(snapshot.carried, status.mutable_carried());
  Fill(snapshot.refused, status.mutable_refused());
  status.set_damaged(snapshot.damaged);
  status.set_failures(snapshot.failures);
  return status;
}

}  // namespace forebay::admin
