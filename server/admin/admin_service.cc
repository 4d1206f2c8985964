#include "server/admin/admin_service.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "proto/admin.grpc.pb.h"
#include "proto/shm_layout.h"
#include "server/admin/cache_status.h"
#include "server/admin/job_list.h"
#include "server/admin/slot_reader.h"
#include "server/admin/valid_utf8.h"

namespace forebay::admin {
namespace {

// The bytes of a batch in one message, well below gRPC's limit of 4 MiB.
constexpr std::uint64_t kChunkBytes = 1 << 20;
// The longest name of a job or loader.
constexpr std::size_t kMaxNameBytes = 256;
// The most batches copied out at once. Each takes memory of the budget.
constexpr int kMaxPeeks = 2;

grpc::Status ToGrpc(const absl::Status& status) {
  // The codes of gRPC have the same values as those of Abseil.
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                      ValidUtf8(std::string(status.message())));
}

// Adds the names of classes to `chunk`, unless they are too long for the first
// message.
void AddClasses(const std::vector<std::string>& classes,
                proto::PeekChunk* chunk) {
  std::uint64_t bytes = 0;
  for (const std::string& name : classes) bytes += name.size();
  if (bytes > kChunkBytes) return;
  for (const std::string& name : classes) chunk->add_classes(name);
}

// Admits a copy of a batch, unless too many are being made at once.
class PeekAdmission {
 public:
  explicit PeekAdmission(std::atomic<int>* peeks)
      : peeks_(peeks), admitted_(peeks->fetch_add(1) < kMaxPeeks) {}
  ~PeekAdmission() { peeks_->fetch_sub(1); }
  bool admitted() const { return admitted_; }

 private:
  std::atomic<int>* const peeks_;
  const bool admitted_;
};

// The service. gRPC calls its methods on several threads at once. Each method
// takes its snapshots one after another, so numbers of different rooms may be a
// moment apart.
class AdminService final : public proto::Admin::Service {
 public:
  explicit AdminService(Subjects subjects) : subjects_(std::move(subjects)) {}

  grpc::Status GetStatus(grpc::ServerContext*, const proto::GetStatusRequest*,
                         proto::DaemonStatus* response) override {
    *response = ToProto(subjects_.daemon(), subjects_.jobs->Snapshot(),
                        subjects_.clock->NowNanos());
    return grpc::Status::OK;
  }

  grpc::Status ListJobs(grpc::ServerContext*, const proto::ListJobsRequest*,
                        proto::JobList* response) override {
    const std::int64_t now = subjects_.clock->NowNanos();
    *response = ToProto(subjects_.jobs->Snapshot(), subjects_.cache(),
                        subjects_.daemon().remote_requests, now);
    response->set_taken_at_nanos(now);
    return grpc::Status::OK;
  }

  grpc::Status GetCache(grpc::ServerContext*, const proto::GetCacheRequest*,
                        proto::CacheStatus* response) override {
    const std::int64_t now = subjects_.clock->NowNanos();
    *response = ToProto(subjects_.cache(), subjects_.jobs->Snapshot());
    if (const auto tier = subjects_.disk_tier()) {
      *response->mutable_disk() = ToProto(*tier);
    }
    response->set_taken_at_nanos(now);
    return grpc::Status::OK;
  }

  grpc::Status Peek(grpc::ServerContext*, const proto::PeekRequest* request,
                    grpc::ServerWriter<proto::PeekChunk>* writer) override {
    if (request->job().size() > kMaxNameBytes ||
        request->loader().size() > kMaxNameBytes) {
      return NameTooLong();
    }
    const PeekAdmission admission(&peeks_);
    if (!admission.admitted()) {
      return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                          "two batches are being copied out already");
    }
    const auto batch = subjects_.jobs->Peek(request->job(), request->loader());
    if (!batch.ok()) return ToGrpc(batch.status());
    return Send(*batch, writer);
  }

  grpc::Status SetJob(grpc::ServerContext*, const proto::SetJobRequest* request,
                      proto::SetJobResponse*) override {
    if (request->job().size() > kMaxNameBytes) return NameTooLong();
    return ToGrpc(
        subjects_.control->Change(request->job(), FromProto(*request)));
  }

 private:
  static grpc::Status NameTooLong() {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT,
                        "a job's or loader's name has at most 256 bytes");
  }

  // Sends a batch: first its layout, then its data in pieces. The daemon itself
  // has filled the slot's header, but the copy may be torn, so the header is
  // checked.
  static grpc::Status Send(const job::PeekedBatch& batch,
                           grpc::ServerWriter<proto::PeekChunk>* writer) {
    proto::PeekChunk chunk;
    const absl::Status described =
        DescribeSlot(absl::MakeConstSpan(batch.slot), &chunk);
    if (!described.ok()) return ToGrpc(described);
    const std::uint64_t total = chunk.total_bytes();
    *chunk.mutable_pipeline() = batch.pipeline;
    AddClasses(batch.classes, &chunk);
    bool open = writer->Write(chunk);
    chunk.Clear();
    const std::uint8_t* data = batch.slot.data() + proto::kSlotHeaderBytes;
    for (std::uint64_t sent = 0; open && sent < total;) {
      const std::uint64_t bytes = std::min(kChunkBytes, total - sent);
      chunk.set_data(data + sent, bytes);
      open = writer->Write(chunk);
      sent += bytes;
    }
    return open ? grpc::Status::OK
                : grpc::Status(grpc::StatusCode::CANCELLED,
                               "the client left while a batch was sent");
  }

  const Subjects subjects_;
  std::atomic<int> peeks_ = 0;
};

}  // namespace

std::unique_ptr<grpc::Service> NewAdminService(Subjects subjects) {
  return std::make_unique<AdminService>(std::move(subjects));
}

}  // namespace forebay::admin
