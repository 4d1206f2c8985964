#ifndef FOREBAY_SERVER_PRODUCER_PRODUCER_SET_H_
#define FOREBAY_SERVER_PRODUCER_PRODUCER_SET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "proto/producer_socket.h"
#include "server/base/fd.h"
#include "server/base/mutex.h"
#include "server/producer/memory_limiter.h"
#include "server/producer/memory_watch.h"
#include "server/producer/task_socket.h"

namespace forebay::producer {

class ProducerSet;

// Memory that producers can write; its end takes it from them.
using SharedSlot = std::shared_ptr<const void>;

// A process that makes samples.
struct Producer {
  TaskSocket socket;
  std::uint32_t number = 0;      // among those of its host
  std::uint64_t generation = 0;  // of the slots that it can write
  // Null if its memory has no limit.
  std::shared_ptr<const LimitedProducer> limited = nullptr;

  // Why it was ended; nullopt if it was not ended for its memory.
  std::optional<Overrun> overrun() const {
    return limited == nullptr ? std::nullopt : limited->overrun();
  }
};

// The producers of one stream, and the host that forks them: as many as there
// is work for, up to a limit. A producer can write the slots that the host had
// mapped when it forked it; where slots have come or gone since, another takes
// its place.
//
// Thread-safe. Owns the sockets; the processes belong to the user's client, and
// end when their sockets do. Start does not block; Share, the end of what it
// returns, and Take do, until the host answers, and not for long. Errors:
// UNAVAILABLE: the host is gone, or does not answer, for good;
// FAILED_PRECONDITION: there is none.
class ProducerSet {
 public:
  // `offsets`: of the fields that producers write, in a slot. `name`: the
  // dataset's, for people. `memory` limits the producers' memory, unless null.
  explicit ProducerSet(std::vector<std::uint64_t> offsets,
                       std::string name = {}, MemoryWatch* memory = nullptr)
      : offsets_(std::move(offsets)),
        memory_(memory),
        group_(std::make_shared<MemoryGroup>(std::move(name))) {}
  ~ProducerSet() { End(); }

  // Returns the socket of a host, which is to fork at most `most` producers.
  // FAILED_PRECONDITION: there is a host already.
  absl::StatusOr<base::Fd> Start(std::uint32_t most);
  // The most producers at once; 0 before there is a host. Fewer than the host
  // may fork, while there is no memory for more.
  std::uint32_t most() const;

  // Lets producers write the memory at `data`, `bytes` long, of which `fd` is
  // the memfd, while the result lives. It must not be sealed against writing
  // yet.
  static absl::StatusOr<SharedSlot> Share(
      const std::shared_ptr<ProducerSet>& producers, int fd,
      const std::uint8_t* data, std::uint64_t bytes);
  // The number by which tasks name that memory. Returns nullopt if it is not
  // shared.
  std::optional<std::uint32_t> SlotAt(const std::uint8_t* data) const;

  // Takes an idle producer, or has one forked; with `number`, the one of that
  // number, which must not be taken. The caller takes no more than most() at
  // once.
  absl::StatusOr<std::shared_ptr<Producer>> Take(
      std::optional<std::uint32_t> number = std::nullopt);
  // Gives a producer back: `alive` if it can go on.
  void GiveBack(std::shared_ptr<Producer> producer, bool alive);

  // Whether there was a host, and it is gone for good.
  bool ended() const;

  // Ends the host and all producers, also those that were taken. Final.
  void End();

 private:
  absl::Status Map(int fd, const std::uint8_t* data, std::uint64_t bytes);
  void Unmap(const std::uint8_t* data);
  // Asks the host, and awaits its answer.
  absl::StatusOr<Answer> Command(const proto::ProducerTask& task,
                                 absl::Span<const std::uint8_t> behind, int fd)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<Producer>> Fork(std::uint32_t number,
                                                 std::uint64_t generation);
  // Limits the memory of a producer that the host has forked, if it says which
  // process that is.
  std::shared_ptr<const LimitedProducer> Limit(Answer forked) const;
  // Takes the idle producers that cannot write all slots, have ones mapped that
  // are gone, or were ended for their memory. The caller drops them without the
  // mutex.
  std::vector<std::shared_ptr<Producer>> TakeOutdatedLocked()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Takes an idle producer; null if there is none.
  std::shared_ptr<Producer> TakeIdleLocked(std::optional<std::uint32_t> number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::uint32_t FreeNumberLocked() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::vector<std::uint64_t> offsets_;
  MemoryWatch* const memory_;
  const std::shared_ptr<MemoryGroup> group_;
  // Held while the host is asked, which may stand still; taken before mutex_.
  base::Mutex commands_;
  mutable base::Mutex mutex_;
  std::uint32_t most_ ABSL_GUARDED_BY(mutex_) = 0;
  std::shared_ptr<TaskSocket> host_ ABSL_GUARDED_BY(mutex_);
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  std::uint64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  std::uint32_t last_slot_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<const std::uint8_t*, std::uint32_t> slots_ ABSL_GUARDED_BY(mutex_);
  std::set<std::uint32_t> numbers_ ABSL_GUARDED_BY(mutex_);  // in use
  std::vector<std::shared_ptr<Producer>> idle_ ABSL_GUARDED_BY(mutex_);
  // A caller that ends may drop one without giving it back.
  std::map<Producer*, std::weak_ptr<Producer>> taken_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::producer

#endif  // FOREBAY_SERVER_PRODUCER_PRODUCER_SET_H_
