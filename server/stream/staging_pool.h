#ifndef FOREBAY_SERVER_STREAM_STAGING_POOL_H_
#define FOREBAY_SERVER_STREAM_STAGING_POOL_H_

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "cuda/gpu.h"
#include "server/base/memory_budget.h"
#include "server/device/staging_memory.h"

namespace forebay::stream {

// The pinned memory in which a stream's batches are made, before they are
// copied to GPUs. Members pay for as many as for slots: trainers give those
// back at once, so that all may be in the making.
//
// Not thread-safe: the stream guards it, and the leases. The budget outlives
// it; it outlives the leases. Never blocks, but where the caller destroys what
// Trim returns. Errors: Pay.
class StagingPool {
 public:
  using Memory = std::shared_ptr<device::StagingMemory>;

  // The memory of one batch, which goes back when the lease ends.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)),
          memory_(std::move(other.memory_)) {}
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { End(); }

    // Null if this is no lease.
    const Memory& memory() const { return memory_; }
    std::uint8_t* data() const {
      return memory_ == nullptr ? nullptr : memory_->data();
    }
    // Ends the lease, but keeps the memory from the pool: a copy that failed
    // may still read it.
    void Discard();

   private:
    friend class StagingPool;
    Lease(StagingPool* pool, Memory memory)
        : pool_(pool), memory_(std::move(memory)) {}
    void End();

    StagingPool* pool_ = nullptr;
    Memory memory_;
  };

  // `lingers`: whether other processes have memory mapped for a while after it
  // was removed. Then its reservations are lent while it is mapped.
  StagingPool(base::MemoryBudget* budget, std::uint64_t bytes,
              bool lingers = false)
      : budget_(budget), bytes_(bytes), lingers_(lingers) {}

  // The bytes of one batch; 0: the stream's batches lie on no GPU.
  std::uint64_t bytes() const { return bytes_; }

  // Reserves memory for so many batches of a member, or ends that.
  // RESOURCE_EXHAUSTED.
  absl::Status Pay(std::uint32_t batches);
  void EndPay(std::uint32_t batches);
  // How many are reserved and neither there nor in the making.
  std::uint32_t missing() const;
  // Whether there is none, and none is in the making.
  bool IsEmpty() const { return there() == 0; }

  // Counts what is missing as in the making, until EndMaking. Returns how many.
  std::uint32_t BeginMaking();
  // Takes the reservations of so many that are in the making, if they are lent;
  // TakeBack returns each once no other process has the memory mapped.
  std::vector<base::MemoryReservation> TakeLent(std::uint32_t batches);
  void TakeBack(base::MemoryReservation room);
  // Takes what was made, as far as it is missing.
  void EndMaking(std::uint32_t batches, std::vector<Memory>* memory);
  // Takes as much of `memory` as is missing.
  void Add(std::vector<Memory>* memory);
  // Begins to make what is missing, because some was discarded, or was away.
  // Returns how many. The caller answers each that is not 0 with Grown, which
  // gets none if that failed.
  std::uint32_t Grow();
  void Grown(std::uint32_t batches, std::vector<Memory>* memory);
  // Allows new tries after that.
  void TryAgain() { stunted_ = false; }
  bool HasFree() const { return !free_.empty(); }
  // HasFree() is true.
  Lease Take();
  // Removes what is free and not reserved by members; with `all`, all that is
  // free.
  std::vector<Memory> Trim(bool all);
  // Removes what is free and was pinned by that GPU.
  std::vector<Memory> RemovePinnedBy(const cuda::Gpu* gpu);

 private:
  std::uint32_t there() const {
    return static_cast<std::uint32_t>(free_.size()) + leased_ + making_;
  }
  // Memory that is gone, but that other processes have mapped.
  std::uint32_t away() const { return lingers_ ? lent_ - there() : 0; }
  // Takes of `memory` what is missing beside that which is away.
  void Fill(std::uint32_t away, std::vector<Memory>* memory);
  // Gives back reserved memory that is not needed.
  void Settle();

  base::MemoryBudget* const budget_;
  const std::uint64_t bytes_;
  const bool lingers_;
  std::uint32_t paid_ = 0;
  std::uint32_t leased_ = 0;
  std::uint32_t making_ = 0;
  std::uint32_t lent_ = 0;
  bool growing_ = false;
  bool stunted_ = false;  // the last could not be made
  std::vector<Memory> free_;
  base::MemoryReservation room_;                  // without what is lent
  std::vector<base::MemoryReservation> to_lend_;  // for TakeLent
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STAGING_POOL_H_
