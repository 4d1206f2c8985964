#ifndef FOREBAY_SERVER_PRODUCER_PRODUCER_SET_H_
#define FOREBAY_SERVER_PRODUCER_PRODUCER_SET_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/producer/answer_waiter.h"
#include "server/producer/host.h"
#include "server/producer/memory_limiter.h"
#include "server/producer/memory_watch.h"
#include "server/producer/producer.h"
#include "server/producer/stall_policy.h"
#include "server/producer/take_queue.h"
#include "server/producer/task_socket.h"

namespace forebay::producer {

// Memory that producers can write; its end takes it from them.
using SharedSlot = std::shared_ptr<const void>;

// The producers of one stream, and the host that forks them: as many as there
// is work for, up to a limit. A producer can write the slots that the host had
// mapped when it forked it; where slots have come or gone since, another takes
// its place.
//
// A host or a producer may be stopped for hours, or hang. What needs it waits
// as a callback, and holds no thread and no lock.
//
// Thread-safe. Owns the sockets; the processes belong to the user's client, and
// end when their sockets do. The waiter, the clock and the memory watch outlive
// it. Never blocks. Callbacks run on the waiter's thread, or on that of a call
// of GiveBack or Look. Errors: UNAVAILABLE: the host is gone for good;
// FAILED_PRECONDITION: there is none; RESOURCE_EXHAUSTED: the host cannot do
// that.
class ProducerSet : public std::enable_shared_from_this<ProducerSet> {
 public:
  struct Deps {
    AnswerWaiter* waiter = nullptr;
    const base::Clock* clock = nullptr;
    MemoryWatch* memory = nullptr;  // null: producers' memory has no limit
    // Whether several tasks make one batch, which is then complete no sooner
    // than the last of them.
    bool makes_parts = false;
  };
  using Shared = std::function<void(absl::StatusOr<SharedSlot> slot)>;
  using Taken = producer::Taken;

  // `offsets`: of the fields that producers write, in a slot. `name`: the
  // dataset's, for people.
  static std::shared_ptr<ProducerSet> Create(std::vector<std::uint64_t> offsets,
                                             std::string name,
                                             const Deps& deps);
  ~ProducerSet() { End(); }

  // Returns the socket of a host, which is to fork at most `most` producers.
  // `owner`: the job that starts it, for people. FAILED_PRECONDITION: there is
  // a host already; the message names its owner.
  absl::StatusOr<base::Fd> Start(std::uint32_t most, const std::string& owner);
  // The most producers at once; 0 before there is a host. Fewer than the host
  // may fork, while there is no memory for more.
  std::uint32_t most() const;
  // An error if there is no host, or it is gone for good.
  absl::Status CheckHost() const;

  // Memory that producers are to write.
  struct Region {
    int fd = -1;  // a memfd, not sealed against writing yet
    const std::uint8_t* data = nullptr;
    std::uint64_t bytes = 0;
    // Is released once no process has the memory mapped any more, or none will.
    std::shared_ptr<const void> kept;
  };
  // Lets producers write the memory while what `done` gets lives. `done` keeps
  // the descriptor and the memory.
  void Share(Region region, Shared done);
  // The number by which tasks name that memory. Returns nullopt if it is not
  // shared.
  std::optional<std::uint32_t> SlotAt(const std::uint8_t* data) const;

  // Takes an idle producer; with `number`, the one of that number, which must
  // not be taken. Returns null if there is none: then `later` is called once,
  // when one was forked or given back. The caller takes no more than most() at
  // once.
  absl::StatusOr<ProducerPtr> Take(std::optional<std::uint32_t> number,
                                   Taken later);
  // Gives a producer back: `alive` if it can go on. Else its process is gone.
  void GiveBack(const ProducerPtr& producer, bool alive);

  // The state of the stream, for Look.
  struct Need {
    // Whether a trainer that runs waits for a batch.
    bool is_awaited = false;
    // Whether another producer may do a task.
    bool may_retry = true;
    // The time that a task takes on average.
    std::int64_t task_nanos = 0;
  };
  // Looks after producers that have not answered for long, and kills those
  // whose tasks are to go to others. Asks whether the host answers; gives idle
  // producers to those who wait for forks of one that does not. To be
  // called every second or so; a call that comes sooner does nothing.
  void Look(const Need& need);
  // How long the host has let an order wait without working on it, as Look has
  // seen it.
  std::int64_t SilentNanos() const;

  // Whether there was a host, and it is gone for good.
  bool ended() const;
  // Whether the host failed to map memory or to fork, the last time it was
  // asked to: see host_lack.h.
  bool host_lacks() const {
    base::MutexLock lock(&mutex_);
    return host_ != nullptr && host_->lacks();
  }

  // Ends the host and all producers, also those that were taken. Final. Calls
  // back later.
  void End();

 private:
  using Calls = TakeQueue::Calls;

  ProducerSet(std::vector<std::uint64_t> offsets, std::string name,
              const Deps& deps);

  void OnMapped(const std::uint8_t* data, std::uint32_t slot,
                const std::shared_ptr<Mapping>& mapping);
  void Unmap(const std::uint8_t* data);
  // Has the host fork a producer of that number.
  absl::Status ForkLocked(std::uint32_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnForked(std::uint32_t number, TaskSocket socket,
                absl::StatusOr<Host::Done> done);
  // Limits the memory of a producer that the host has forked, if it says which
  // process that is.
  std::shared_ptr<const LimitedProducer> Limit(Answer forked) const;
  // Lets the idle producers go that cannot write all slots, have ones mapped
  // that are gone, or were ended for their memory.
  void DismissOutdatedLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes the producer that has been idle for longest, and dismisses those that
  // have left; null if there is none.
  ProducerPtr TakeIdleLocked(std::optional<std::uint32_t> number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Whether each of those who wait has a fork on its way, which comes soon:
  // then idle producers are for others. Otherwise one quick producer would make
  // what several are wanted for. Not so for parts of batches: a trainer would
  // wait for the forks.
  bool AwaitsForksLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives idle producers to those who wait in vain for forks.
  void GiveIdleLocked(Calls* calls) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Gives a producer to who waits for it; to nobody, if nobody does.
  void GiveLocked(ProducerPtr producer, Calls* calls)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has another producer forked where one went that somebody waits for.
  void ReplaceLocked(Calls* calls) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Calls back, without the mutex.
  static void Call(Calls* calls);
  void LookLocked(const Need& need, Calls* calls)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Has producers forked for those who wait, and none is on its way for.
  absl::Status ForkForWaitingLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::uint32_t FreeNumberLocked() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether any producer has had a task for long.
  bool LookAtProducersLocked(const Need& need, const StallContext& context)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Log(const Producer& producer, Stall stall) const;

  const std::vector<std::uint64_t> offsets_;
  const Deps deps_;
  const std::shared_ptr<MemoryGroup> group_;
  mutable base::Mutex mutex_;
  std::uint32_t most_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<Host> host_ ABSL_GUARDED_BY(mutex_);
  // Why another host is refused.
  std::string refusal_ ABSL_GUARDED_BY(mutex_) = "the stream has ended";
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  // Counts how often slots came or went.
  std::uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 1;
  std::uint32_t last_slot_ ABSL_GUARDED_BY(mutex_) = 0;
  struct Slot {
    std::uint32_t number = 0;
    std::shared_ptr<Mapping> mapping;
  };
  std::map<const std::uint8_t*, Slot> slots_ ABSL_GUARDED_BY(mutex_);
  // Numbers of producers that there are, or that the host is to fork.
  std::set<std::uint32_t> numbers_ ABSL_GUARDED_BY(mutex_);
  std::set<std::uint32_t> forking_ ABSL_GUARDED_BY(mutex_);
  std::vector<ProducerPtr> idle_ ABSL_GUARDED_BY(mutex_);
  TakeQueue waiting_ ABSL_GUARDED_BY(mutex_);
  // A caller that ends may drop one without giving it back.
  std::map<Producer*, std::weak_ptr<Producer>> taken_ ABSL_GUARDED_BY(mutex_);
  std::int64_t answered_at_nanos_ ABSL_GUARDED_BY(mutex_) = INT64_MIN;
  std::optional<std::int64_t> looked_at_nanos_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_PRODUCER_SET_H_
