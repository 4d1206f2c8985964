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

// The pinned memory in which a stream's batches are made before they are copied
// to GPUs. Members pay for as many batches as for slots: trainers on GPUs give
// slots back at once, so all slots may be filled at the same time.
//
// Not thread-safe: the stream guards it, and the leases. The budget outlives
// the pool, and the pool its leases. Owns free memory; a lease owns the memory
// that it holds. Never blocks, but the caller may block when it destroys what
// Trim returns. Errors: Pay.
class StagingPool {
 public:
  using Memory = std::shared_ptr<device::StagingMemory>;

  // The memory of one batch, which goes back to the pool when the lease ends.
  class Lease {
   public:
    Lease() = default;
    Lease(Lease&& other) noexcept
        : pool_(std::exchange(other.pool_, nullptr)),
          memory_(std::move(other.memory_)) {}
    Lease& operator=(Lease&& other) noexcept;
    ~Lease() { End(); }

    // Returns the memory; null if this object holds no lease.
    const Memory& memory() const { return memory_; }
    std::uint8_t* data() const {
      return memory_ == nullptr ? nullptr : memory_->data();
    }
    // Ends the lease, but keeps the memory from the pool: a failed copy may
    // still read it.
    void Discard();

   private:
    friend class StagingPool;
    Lease(StagingPool* pool, Memory memory)
        : pool_(pool), memory_(std::move(memory)) {}
    void End();

    StagingPool* pool_ = nullptr;
    Memory memory_;
  };

  // `bytes` is the memory of one batch. `lingers` says whether other processes
  // keep memory mapped for a while after its removal. If so, the memory takes
  // its reservation along. TakeBack returns the reservation once no process has
  // the memory mapped.
  StagingPool(base::MemoryBudget* budget, std::uint64_t bytes,
              bool lingers = false)
      : budget_(budget), bytes_(bytes), lingers_(lingers) {}

  // Returns the size in bytes of one batch; 0 if the stream's batches lie on no
  // GPU.
  std::uint64_t bytes() const { return bytes_; }

  // Reserves memory for `batches` batches of a member; EndPay gives it back.
  // RESOURCE_EXHAUSTED: the budget has no room.
  absl::Status Pay(std::uint32_t batches);
  void EndPay(std::uint32_t batches);
  // Returns the number of batches whose memory is reserved, but is neither
  // there nor being made.
  std::uint32_t missing() const;
  // Whether there is no memory, and none is being made.
  bool IsEmpty() const { return there() == 0; }

  // Counts the missing() batches as being made, until EndMaking. Returns their
  // number.
  std::uint32_t BeginMaking();
  // Returns the reservations of `batches` batches that are being made; none
  // unless `lingers` is true. The caller gives each to TakeBack once no other
  // process has the memory mapped.
  std::vector<base::MemoryReservation> TakeLent(std::uint32_t batches);
  void TakeBack(base::MemoryReservation room);
  // Ends the making of `batches` batches. Adds as much of `memory` as is
  // missing.
  void EndMaking(std::uint32_t batches, std::vector<Memory>* memory);
  // Adds as much of `memory` as is missing.
  void Add(std::vector<Memory>* memory);
  // Does what BeginMaking does, for memory that was discarded or that other
  // processes still had mapped. Returns 0 if nothing is to be made now. After
  // any other result, the caller makes the memory and calls Grown; if making it
  // failed, with no memory.
  std::uint32_t Grow();
  void Grown(std::uint32_t batches, std::vector<Memory>* memory);
  // Allows Grow to try again after a failure.
  void TryAgain() { stunted_ = false; }
  // Whether Take may be called.
  bool HasFree() const { return !free_.empty(); }
  // Leases the memory of one batch. HasFree() must be true.
  Lease Take();
  // Removes and returns free memory that members have not reserved; if `all`,
  // all free memory.
  std::vector<Memory> Trim(bool all);
  // Removes and returns free memory that was pinned by that GPU.
  std::vector<Memory> RemovePinnedBy(const cuda::Gpu* gpu);

 private:
  // Returns the number of batches whose memory is there or being made.
  std::uint32_t there() const {
    return static_cast<std::uint32_t>(free_.size()) + leased_ + making_;
  }
  // Returns the number of batches whose memory was removed, but is mapped by
  // other processes.
  std::uint32_t away() const { return lingers_ ? lent_ - there() : 0; }
  // Adds as much of `memory` as is missing beside the `away` batches.
  void Fill(std::uint32_t away, std::vector<Memory>* memory);
  // Gives back reservations that are not needed.
  void Settle();

  base::MemoryBudget* const budget_;
  const std::uint64_t bytes_;
  const bool lingers_;
  std::uint32_t paid_ = 0;
  std::uint32_t leased_ = 0;
  std::uint32_t making_ = 0;
  std::uint32_t lent_ = 0;
  bool growing_ = false;
  // Whether the last try to make memory failed.
  bool stunted_ = false;
  std::vector<Memory> free_;
  // The reservation, without what is lent.
  base::MemoryReservation room_;
  // Reservations that TakeLent is to return.
  std::vector<base::MemoryReservation> to_lend_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_STAGING_POOL_H_
