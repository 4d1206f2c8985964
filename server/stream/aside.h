#ifndef FOREBAY_SERVER_STREAM_ASIDE_H_
#define FOREBAY_SERVER_STREAM_ASIDE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace forebay::stream {

// Ends objects on a thread that may hang: the end of memory on a GPU, or pinned
// by one, waits for the driver, and that of a large mapping takes milliseconds.
// The last owner may be a thread that all jobs share.
//
// Thread-safe; copies do the same. Does not block. No errors.
class Aside {
 public:
  // Runs work on such a thread; work that hangs holds up that of its key alone.
  using Run =
      std::function<void(const std::string& key, std::function<void()> work)>;

  // `run`: null to end objects at once.
  Aside(Run run, std::string key)
      : run_(std::move(run)), key_(std::move(key)) {}

  // Ends the object.
  template <typename Object>
  void End(Object object) const {
    if (run_ == nullptr) return;
    // A function must be copyable.
    run_(key_, [ended = std::make_shared<Object>(std::move(object))] {
      // A queue may keep the function for longer than the call.
      [[maybe_unused]] const Object end = std::move(*ended);
    });
  }
  // Shares the object, which ends aside.
  template <typename Object>
  std::shared_ptr<Object> Keep(std::shared_ptr<Object> object) const {
    if (run_ == nullptr || object == nullptr) return object;
    Object* const address = object.get();
    return std::shared_ptr<Object>(
        address, [aside = *this, object = std::move(object)](Object*) mutable {
          aside.End(std::move(object));
        });
  }

 private:
  Run run_;
  std::string key_;
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_ASIDE_H_
