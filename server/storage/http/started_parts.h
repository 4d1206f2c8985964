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

// Knows which of the parts of reads that a source has begun have a place among
// those in flight. A part gives its place back while it pauses between two
// attempts. It also does so once its attempt has brought nothing for long: then
// it is stalled. It takes a place again when bytes come, whether there is room
// or not, since nothing holds them up. For its next attempt it waits until
// there is room, before all parts that have not begun: so attempts never add to
// what is in flight, and what has waited longest goes on first.
//
// Pure: time is an argument, nanoseconds that never run backwards. Not
// thread-safe; never blocks. No errors. `places` must not call it.
class StartedParts {
 public:
  using Id = std::uint64_t;
  // Told whenever a part gives its place back, or takes one again.
  struct Places {
    std::function<void(Id)> give_back;
    std::function<void(Id)> take;
  };

  explicit StartedParts(Places places) : places_(std::move(places)) {}

  // A part of so many bytes begins; it has a place.
  void Begin(Id id, std::uint64_t bytes, std::int64_t now_nanos);
  // A part is over, whatever its state. Ignores one that is not known.
  void End(Id id);

  // The part has no attempt under way.
  void Pause(Id id);
  // The pause is over: the part waits for a place.
  void MakeReady(Id id);
  // Gives a place to the part that has waited longest for one. Returns nullopt
  // if none waits.
  std::optional<Id> TakeNext(std::int64_t now_nanos);

  // Finds the attempts that have brought nothing for `stall_nanos`, and those
  // that go on. `heard` returns when a byte came to a part last, or less than
  // its begin if none did. An attempt is stalled once two calls in a row find
  // it so: bytes may wait for a thread that had no CPU before the first of
  // them.
  void Look(std::int64_t now_nanos, std::int64_t stall_nanos,
            const std::function<std::int64_t(Id)>& heard);

  bool empty() const { return parts_.empty(); }
  // Returns the bytes of the parts that have a place.
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
    std::int64_t begun_nanos;  // of its attempt
    // Since when it was silent at the last look, if for too long.
    std::int64_t late_since_nanos = INT64_MIN;
  };

  void GiveBack(Id id, Part* part, State state);
  void Take(Id id, Part* part);

  const Places places_;
  std::unordered_map<Id, Part> parts_;
  std::deque<Id> ready_;  // and some that are so no longer
  std::uint64_t bytes_ = 0;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_STARTED_PARTS_H_
