#ifndef FOREBAY_SERVER_STREAM_ASIDE_H_
#define FOREBAY_SERVER_STREAM_ASIDE_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace forebay::stream {

// Destroys objects on another thread, because their destruction may block.
// Freeing memory on a GPU, or memory that a GPU pinned, takes a call of the
// driver, which may hang. Unmapping large memory takes milliseconds. The last
// owner of such memory may be a thread that all jobs share.
//
// Thread-safe, and may be copied. Owns only its function and key. Does not
// block, unless `run` is null. No errors.
class Aside {
 public:
  // Runs `work` on a thread that is allowed to hang. If `work` hangs, only
  // later work of the same `key` waits for it.
  using Run =
      std::function<void(const std::string& key, std::function<void()> work)>;

  // If `run` is null, objects are destroyed at once, on the calling thread.
  Aside(Run run, std::string key)
      : run_(std::move(run)), key_(std::move(key)) {}

  // Hands the object to `run`, which destroys it.
  template <typename Object>
  void End(Object object) const {
    if (run_ == nullptr) return;
    // A std::function must be copyable, and the object may not be.
    run_(key_, [ended = std::make_shared<Object>(std::move(object))] {
      // A queue may keep this function after it was called. The object is moved
      // out, so that the call destroys it.
      [[maybe_unused]] const Object end = std::move(*ended);
    });
  }
  // Returns a pointer to the same object. When the last owner drops the
  // pointer, End destroys the object.
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
