#ifndef FOREBAY_SERVER_STORAGE_HTTP_STARTED_PARTS_H_
#define FOREBAY_SERVER_STORAGE_HTTP_STARTED_PARTS_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>

namespace forebay::storage::http {

// Knows the parts of reads that a source has begun, and which of them have a
// place among the parts in flight.
//
// A part gives its place back while it pauses between two attempts. A part
// whose attempt has brought nothing for long also gives its place back: the
// part is then stalled. A stalled part takes a place again when bytes come,
// even if there is no room, since nothing can hold the bytes up. For its next
// attempt a part waits until there is room. The part then goes before all parts
// that have not begun, and after parts that have waited longer. Attempts
// therefore never raise the number of parts in flight.
//
// Pure: time is an argument, in nanoseconds that never run backwards. Not
// thread-safe; the user owns it. Never blocks; no errors. The functions of
// `places` must not call this object.
class StartedParts {
 public:
  using Id = std::uint64_t;
  // The callbacks for a part that gives its place back or takes one again.
  struct Places {
    std::function<void(Id)> give_back;
    std::function<void(Id)> take;
  };

  explicit StartedParts(Places places) : places_(std::move(places)) {}

  // Begins a part of `bytes` bytes, which has a place.
  void Begin(Id id, std::uint64_t bytes, std::int64_t now_nanos);
  // Ends a part in any state. Ignores a part that has not begun or has ended.
  void End(Id id);

  // Takes note that the part has no attempt under way.
  void Pause(Id id);
  // Ends the pause: the part waits for a place.
  void MakeReady(Id id);
  // Gives a place to the part that has waited longest for one, and returns it.
  // Returns nullopt if no part waits.
  std::optional<Id> TakeNext(std::int64_t now_nanos);

  // Marks the parts whose attempts have brought nothing for `stall_nanos`
  // nanoseconds as stalled, and ends the stall of parts to which bytes came.
  // `heard` returns when the last byte of a part came; if none came, any time
  // before the part's beginning. A part stalls only if two calls in a row find
  // it silent: before the first call, its bytes may have waited for a thread
  // that had no CPU.
  void Look(std::int64_t now_nanos, std::int64_t stall_nanos,
            const std::function<std::int64_t(Id)>& heard);

  bool empty() const { return parts_.empty(); }
  // Returns the total size in bytes of the parts that have a place.
  std::uint64_t bytes() const { return bytes_; }

 private:
  enum class State {
    kInFlight,
    kStalled,
    kPaused,
    kReady,  // waits for a place
  };
  struct Part {
    std::uint64_t bytes;
    State state;
    // The beginning of the part's attempt.
    std::int64_t begun_nanos;
    // The time since which the part was silent at the last look; INT64_MIN if
    // it was not silent for too long.
    std::int64_t late_since_nanos = INT64_MIN;
  };

  void GiveBack(Id id, Part* part, State state);
  void Take(Id id, Part* part);

  const Places places_;
  std::unordered_map<Id, Part> parts_;
  // The parts that wait for a place, and some that have ended meanwhile.
  std::deque<Id> ready_;
  // The bytes of the parts that have a place.
  std::uint64_t bytes_ = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_STARTED_PARTS_H_
